import shutil

import pytest
import torch

import landmark
from landmark.core.errors import UserError
from landmark.data.embedded import corpus
from landmark.data.tokenizer import SubwordTokenizer, TokenizerConfig
from landmark.engine.checkpoint import load_tensors
from landmark.engine.run import Run
from landmark.tasks.language_model.pipeline import GenerationPipeline
from landmark.tasks.training import train
from landmark.tasks.translation.pipeline import TranslationPipeline


@pytest.fixture
def copied(tiny_run, tmp_path):
    return shutil.copytree(tiny_run, tmp_path / "run")


@pytest.mark.parametrize("as_given", [str, lambda path: path], ids=["text", "path"])
def test_a_run_is_loaded_and_translates(tiny_run, as_given):
    pipeline = landmark.load(as_given(tiny_run))
    assert isinstance(pipeline, TranslationPipeline)
    results = pipeline.translate(["The dog sees the man.", "I ate an apple."])
    assert [result.source for result in results] == ["The dog sees the man.", "I ate an apple."]
    assert all(isinstance(result.text, str) and result.text for result in results)


@pytest.fixture(scope="module")
def hello_run(tmp_path_factory):
    """A language model, trained for one step."""
    settings = ["trainer.max_steps=1", "threads=1"]
    return train("hello", tmp_path_factory.mktemp("runs") / "hello", settings).folder


def test_a_run_is_loaded_as_what_it_was_trained_for(tiny_run, hello_run):
    for options in ({}, {"kind": GenerationPipeline}):
        assert isinstance(landmark.load(hello_run, **options), GenerationPipeline)
    assert isinstance(landmark.load(tiny_run, kind=TranslationPipeline), TranslationPipeline)


def test_a_run_of_another_task_than_is_asked_for_is_refused(hello_run):
    said = "'language-model', which is used by GenerationPipeline, not TranslationPipeline"
    with pytest.raises(UserError, match=said):
        landmark.load(hello_run, kind=TranslationPipeline)


@pytest.mark.parametrize("options", [{"ensemble": ["other"]}, {"engine": "onnx"}])
def test_a_language_model_has_no_ensemble_and_no_engine(hello_run, options):
    with pytest.raises(UserError, match=f"unknown key '{next(iter(options))}'"):
        landmark.load(hello_run, **options)


def test_a_run_that_was_moved_still_works(tiny_run, copied):
    text = ["The dog sees the man."]
    assert landmark.load(copied).translate(text) == landmark.load(tiny_run).translate(text)


def test_the_weights_are_the_checkpoints(tiny_run):
    pipeline = landmark.load(tiny_run, "8")
    saved = load_tensors(tiny_run / "checkpoints/step-000008", "model.safetensors")
    own = pipeline.model.state_dict()
    for name, tensor in saved.items():
        assert torch.equal(own[name.removeprefix("model.")], tensor)


def test_the_moving_average_is_used_where_there_is_one(tmp_path, tiny):
    settings = [*tiny, "trainer.ema_decay=0.5", "trainer.max_steps=3"]
    run = train("transformer-embedded", tmp_path / "run", settings)
    folder = run.find_checkpoint()
    average = load_tensors(folder, "average.safetensors")
    plain = load_tensors(folder, "model.safetensors")
    name = "model.target_embedding.weight"
    weight = landmark.load(run.folder).model.target_embedding.weight
    assert torch.equal(weight, average[name])
    assert not torch.equal(weight, plain[name])


def test_the_default_checkpoint_is_averaged_then_best_then_latest(copied):
    assert landmark.load(copied).checkpoint.name == "step-000012"
    run = Run(copied)
    run.point("best", run.checkpoint_folder(10))
    assert landmark.load(copied).checkpoint.name == "step-000010"
    run.point("averaged", run.checkpoint_folder(4))
    assert landmark.load(copied).checkpoint.name == "step-000004"
    assert landmark.load(copied, "latest").checkpoint.name == "step-000012"


def test_the_shortest_member_of_an_ensemble_rules(tiny_run, copied, rewrite_recipe):
    rewrite_recipe(copied, "max_length: 64", "max_length: 30")
    for one, other in ((tiny_run, copied), (copied, tiny_run)):
        ensemble = landmark.load(one, ensemble=[other])
        (result,) = ensemble.translate(["the" + " the" * 28])
        assert len(result.tokens) <= 30
        with pytest.raises(UserError, match="has 30 tokens, but the model takes at most 29"):
            ensemble.translate(["the" + " the" * 29])
        assert not ensemble.fits("the" + " the" * 29)


def test_what_is_no_run_is_refused(tmp_path):
    with pytest.raises(landmark.UserError, match="there is no such run"):
        landmark.load(tmp_path / "no")
    with pytest.raises(landmark.UserError, match="is not a run"):
        landmark.load(tmp_path)


def test_a_wrong_device_is_refused(tiny_run):
    with pytest.raises(UserError, match="device 'quark' is not usable here"):
        landmark.load(tiny_run, device="quark")


@pytest.mark.parametrize("vocab_size", [300, 500])
def test_another_tokenizer_is_refused_whatever_its_size(copied, vocab_size):
    lines = [pair.target for pair in corpus.draw("train", 200, seed=9)]
    other = SubwordTokenizer.train(lines, TokenizerConfig(vocab_size=vocab_size))
    other.save(copied / "tokenizer.json")
    with pytest.raises(UserError, match=r"tokenizer\.json: is not the one"):
        landmark.load(copied)


def test_a_model_of_another_vocabulary_is_refused(copied, rewrite_recipe):
    rewrite_recipe(copied, "  vocab_size: 500", "  vocab_size: 600")
    with pytest.raises(UserError, match="vocabulary does not match: the model has 600 entries"):
        landmark.load(copied)


def test_a_recipe_changed_by_hand_is_refused(copied):
    recipe = copied / "recipe.yaml"
    recipe.write_text(recipe.read_text().replace("hidden_size: 16", "hidden_size: 32"))
    with pytest.raises(UserError, match=r"recipe.yaml: damaged, or changed since it was written"):
        landmark.load(copied)


def test_a_recipe_that_does_not_fit_the_weights_is_refused(copied, rewrite_recipe):
    rewrite_recipe(copied, "hidden_size: 16", "hidden_size: 32")
    with pytest.raises(UserError, match=r"has shape .* but the model wants"):
        landmark.load(copied)


def test_the_package_has_nothing_else_to_offer():
    with pytest.raises(AttributeError, match="has no attribute 'translate'"):
        _ = landmark.translate
