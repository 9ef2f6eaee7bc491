"""Translations that ask what training said in like places."""

import shutil

import pytest
import torch

from landmark.core.errors import UserError
from landmark.data.embedded import corpus
from landmark.decoding.neighbour import NeighbourConfig
from landmark.layers.packing import Packing
from landmark.pipelines.loading import load
from landmark.pipelines.translation import neighbour
from landmark.pipelines.translation.neighbour import read_training_pairs
from landmark.pipelines.translation.scoring import score_pairs
from landmark.recipes.training import train

TAUGHT = [(pair.source, pair.target) for pair in corpus.draw("train", 300)]
SOURCES = [pair.source for pair in corpus.draw("test", 6)]
ALMOST_ALONE = NeighbourConfig(count=1, share=0.999, temperature=0.1)


def test_every_token_of_the_training_pairs_is_remembered(tiny_run):
    pipeline = load(tiny_run)
    told = []
    store = read_training_pairs(pipeline, told.append)
    assert sum(told) == 300
    tokens = pipeline.tokenizer.encode_targets([target for _, target in TAUGHT])
    assert store.size == sum(len(row) + 1 for row in tokens)
    remembered = sorted(store.tokens[: store.size].tolist())
    assert remembered == sorted(t for row in tokens for t in [*row, pipeline.tokenizer.end])


def test_states_are_those_of_a_search(tiny_run):
    """A first step after a taught source finds its state, and so the first word taught."""
    pipeline = load(tiny_run, neighbours=ALMOST_ALONE)
    (speaker,) = pipeline.engine.models
    for source, target in TAUGHT[:5]:
        (tokens,) = pipeline.encode_sources([source], pipeline.target_form(), str)
        first = pipeline.tokenizer.encode_targets([target])[0][0]
        packed = torch.tensor([*tokens, pipeline.tokenizer.end])
        with torch.inference_mode():
            state = speaker.start(packed, Packing(torch.tensor([len(packed)])), 1, 10)
            hidden = speaker.model.advance(torch.tensor([pipeline.tokenizer.begin]), state)
        distances, words = speaker.store.nearest(hidden, 1)
        assert distances[0, 0] < 1e-3
        assert words[0, 0] == first


def test_a_run_with_neighbours_says_what_it_was_taught(tiny_run):
    """Barely trained, it cannot by itself."""
    sources, targets = [source for source, _ in TAUGHT[:6]], [target for _, target in TAUGHT[:6]]
    alone = [result.text for result in load(tiny_run).translate(sources)]
    remembering = load(tiny_run, neighbours=ALMOST_ALONE)
    assert [result.text for result in remembering.translate(sources, beam=1)] == targets
    assert alone != targets


def test_neighbours_that_hardly_count_change_hardly_anything(tiny_run):
    alone = load(tiny_run).translate(SOURCES, beam=1)
    asked = NeighbourConfig(count=8, share=1e-6)
    beside = load(tiny_run, neighbours=asked).translate(SOURCES, beam=1)
    assert [its.tokens for its in beside] == [its.tokens for its in alone]
    assert [its.score for its in beside] == pytest.approx([its.score for its in alone], rel=1e-3)


def test_an_ensemble_remembers_what_each_was_taught(tiny_run):
    asked = NeighbourConfig(count=4)
    alone = load(tiny_run, neighbours=asked).translate(SOURCES)
    twice = load(tiny_run, ensemble=[tiny_run], neighbours=asked).translate(SOURCES)
    assert [its.score for its in twice] == pytest.approx([its.score for its in alone], rel=1e-4)


def test_a_recurrent_network_has_neighbours_too(tmp_path, tiny):
    settings = [word for word in tiny if not word.startswith("model.")]
    small = ["model.hidden_size=16", "model.embedding_size=16"]
    run = train("seq2seq-embedded", tmp_path / "run", [*settings, *small])
    pipeline = load(run.folder, neighbours=ALMOST_ALONE)
    sources = [source for source, _ in TAUGHT[:3]]
    said = [result.text for result in pipeline.translate(sources, beam=1)]
    assert said == [target for _, target in TAUGHT[:3]]


def test_what_cannot_be_remembered_is_refused_in_one_line(tiny_run, tmp_path, monkeypatch):
    asked = NeighbourConfig()
    bare = shutil.copytree(tiny_run, tmp_path / "bare")
    shutil.rmtree(bare / "data")
    with pytest.raises(UserError, match="the training pairs are not here"):
        load(bare, neighbours=asked)
    with pytest.raises(UserError, match="asked by torch: leave out --engine"):
        load(tiny_run, neighbours=asked, engine="onnx")
    monkeypatch.setattr(neighbour, "MOST_BYTES", 1000)
    with pytest.raises(UserError, match="GB of memory: neighbours are for small corpora"):
        load(tiny_run, neighbours=asked)


def test_likelihoods_are_the_models_own(tiny_run):
    """`landmark score` does not ask neighbours."""
    plain, beside = load(tiny_run), load(tiny_run, neighbours=ALMOST_ALONE)
    scores = [next(score_pairs(its, TAUGHT[:2])).log_probability for its in (plain, beside)]
    assert scores[0] == scores[1]
