"""The recurrent translator through everything that the Transformer goes through."""

import os
import signal

import pytest
import torch

import landmark
from landmark.core.errors import UserError
from landmark.engine.session import InterruptedTraining, load_player
from landmark.models.recurrent.seq2seq import Seq2seq
from landmark.tasks.training import load_config, train
from landmark.tasks.translation.alignment import align_pairs, default_choice

SENTENCES = ["The old woman reads a good book.", "I ate an apple.", "The dog sleeps."]


@pytest.fixture
def settings(tiny_recurrent):
    return tiny_recurrent


def test_a_run_is_loaded_as_the_network_it_is(recurrent_run):
    pipeline = landmark.load(recurrent_run)
    assert isinstance(pipeline.model, Seq2seq)
    assert pipeline.config.model.architecture == "seq2seq"
    translations = pipeline.translate(SENTENCES, n_best=2)
    assert [translation.source for translation in translations] == SENTENCES
    assert all(len(translation.alternatives) == 2 for translation in translations)


def test_a_prefix_is_kept(recurrent_run):
    pipeline = landmark.load(recurrent_run)
    begun = pipeline.translate(SENTENCES, prefix="Die alte")
    assert all(translation.text.startswith("Die alte") for translation in begun)


def test_draws_depend_on_the_seed(recurrent_run):
    pipeline = landmark.load(recurrent_run)

    def draw(**options):
        drawn = pipeline.translate(SENTENCES, sample=True, seed=seed, **options)
        return [translation.tokens for translation in drawn]

    seed = 1
    first, again, greedy = draw(), draw(), draw(top_k=1)
    seed = 2
    assert first == again
    assert first != draw()
    assert greedy == draw(top_k=1)
    best = pipeline.translate(SENTENCES, beam=1)
    assert greedy == [translation.tokens for translation in best]


def test_words_are_aligned_by_the_only_layer_of_attention(recurrent_run):
    pipeline = landmark.load(recurrent_run)
    choice = default_choice(pipeline)
    assert choice.layer == 1
    pair = (SENTENCES[0], "Die alte Frau liest ein gutes Buch.")
    (aligned,) = align_pairs(pipeline, [pair], choice)
    assert aligned.source == tuple(SENTENCES[0].split())
    torch.testing.assert_close(aligned.weights.sum(-1), torch.ones(len(aligned.target)))


def test_two_kinds_of_networks_can_speak_as_one(recurrent_run, tiny_run):
    both = landmark.load(recurrent_run, ensemble=[tiny_run])
    assert len(both.translate(SENTENCES)) == 3


@pytest.mark.parametrize("score", ["dot", "bilinear", "mlp", "last", "mean"])
def test_every_score_trains(tmp_path, settings, score):
    wanted = [*settings, f"model.score={score}", "trainer.max_steps=3"]
    run = train("seq2seq-embedded", tmp_path / "run", wanted)
    assert load_config(run).model.score == score


def test_scheduled_sampling_and_resuming_give_the_unbroken_run(tmp_path, settings):
    wanted = [*settings, "objective.scheduled_sampling=0.5", "objective.scheduled_sampling_steps=6"]
    whole = train("seq2seq-embedded", tmp_path / "whole", wanted)
    plain = train("seq2seq-embedded", tmp_path / "plain", settings)

    def stop(record):
        if record["kind"] == "step" and record["step"] == 7:
            os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(InterruptedTraining):
        train("seq2seq-embedded", tmp_path / "broken", wanted, report=stop)
    broken = train("seq2seq-embedded", tmp_path / "broken", wanted, resume="auto")
    first, again, other = (
        load_player(run.find_checkpoint("latest"), "model") for run in (whole, broken, plain)
    )
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert any(not torch.equal(first[name], other[name]) for name in first)


def test_fine_tuning_keeps_the_network(tmp_path, settings, recurrent_run):
    run = train(
        "transformer-embedded",
        tmp_path / "run",
        [setting for setting in settings if not setting.startswith("model.")]
        + [f"init_from={recurrent_run}", "model.dropout=0.3", "trainer.max_steps=2"],
    )
    config = load_config(run)
    assert config.model.architecture == "seq2seq"
    assert config.model.dropout == 0.3
    assert config.model.hidden_size == 16


def test_sharding_is_refused(tmp_path, settings):
    with pytest.raises(UserError, match=r"trainer\.sharded"):
        train("seq2seq-embedded", tmp_path / "run", [*settings, "trainer.sharded=true"])
