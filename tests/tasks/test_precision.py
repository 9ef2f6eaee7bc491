"""Runs opened in lower precision: close to single precision on every task that offers it."""

import pytest
import torch

import landmark
from landmark import UserError
from landmark.core.runtime import autocast
from landmark.data.images.corpus import open_split
from landmark.layers.attention import MultiHeadAttention
from landmark.tasks.training import load_config

SENTENCES = ["The dog sees the man.", "I ate an apple.", "Anna sleeps because she is tired."]
LOWER = pytest.mark.parametrize("precision", ["bf16", "fp16"])


@pytest.fixture
def product_types(monkeypatch):
    """The types of what attention layers put out while the test runs."""
    seen = set()
    project = MultiHeadAttention._split

    def split(layer, grid, parts):
        seen.add(grid.dtype)
        return project(layer, grid, parts)

    monkeypatch.setattr(MultiHeadAttention, "_split", split)
    return seen


@LOWER
@pytest.mark.parametrize("options", [{"beam": 1}, {"beam": 3}, {"sample": True}], ids=str)
def test_translations_are_searched_in_lower_precision(tiny_run, product_types, precision, options):
    translator = landmark.load(tiny_run, precision=precision)
    lower = translator.translate(SENTENCES, **options)
    assert product_types == {getattr(torch, {"bf16": "bfloat16", "fp16": "float16"}[precision])}
    usual = landmark.load(tiny_run, precision="fp32").translate(SENTENCES, **options)
    for one, other in zip(usual, lower, strict=True):
        assert one.log_probability != other.log_probability
        a_token = [found.log_probability / (len(found.tokens) + 1) for found in (one, other)]
        assert a_token[0] == pytest.approx(a_token[1], rel=0.08 if options.get("sample") else 0.02)


def test_recurrent_translators_and_ensembles_have_it_too(recurrent_run, tiny_run):
    for options in ({}, {"ensemble": [tiny_run]}):
        run = tiny_run if options else recurrent_run
        translator = landmark.load(run, precision="bf16", **options)
        usual = landmark.load(run, **options).translate(SENTENCES)
        for one, other in zip(translator.translate(SENTENCES), usual, strict=True):
            assert one.log_probability == pytest.approx(other.log_probability, rel=0.05)


@LOWER
@pytest.mark.parametrize("kind", ["gpt", "lstm"])
def test_a_text_goes_on_from_a_cache_as_it_is_read_anew(pretrained_runs, precision, kind):
    usual = landmark.load(pretrained_runs[kind], device="cpu")
    lower = landmark.load(pretrained_runs[kind], device="cpu", precision=precision)
    rows = [usual.encode_prompt(text) for text in ("the old man", "a book . the young woman")]
    more = [[5, 6, 7], [8, 9, 5]]
    with torch.inference_mode():
        wanted, state = usual.read(rows, 8)
        found, other = lower.read(rows, 8)
        for step in range(3):
            assert found.dtype == torch.float32
            assert torch.allclose(found, wanted, atol=0.03)
            assert not torch.equal(found, wanted)
            tokens = torch.tensor([each[step] for each in more])
            wanted, found = usual.read_on(tokens, state), lower.read_on(tokens, other)
        anew, _ = lower.read([row + each for row, each in zip(rows, more, strict=True)], 1)
    assert torch.allclose(found, anew, atol=0.03)
    (text,), (other_text,) = (p.generate("the", 12, sampling=None) for p in (usual, lower))
    assert text.log_probability == pytest.approx(other_text.log_probability, rel=0.02)


def test_a_gpt_keeps_its_matrices_in_half_the_memory(pretrained_runs):
    usual, lower = (
        landmark.load(pretrained_runs["gpt"], device="cpu", precision=p) for p in ("fp32", "bf16")
    )
    sizes = [
        sum(p.numel() * p.element_size() for p in pipeline.model.parameters())
        for pipeline in (usual, lower)
    ]
    assert sizes[1] < 0.65 * sizes[0]
    with pytest.raises(UserError, match="int8 and precision bf16: leave one of them out"):
        lower.quantize()


def test_blanks_are_filled_in_lower_precision(pretrained_runs):
    text = "the old [MASK] reads a [MASK] book ."
    usual = landmark.load(pretrained_runs["bert"]).fill(text)
    lower = landmark.load(pretrained_runs["bert"], precision="bf16").fill(text)
    for one, other in zip(usual.blanks[0], lower.blanks[0], strict=True):
        assert one.probability == pytest.approx(other.probability, rel=0.05)
    assert usual.blanks != lower.blanks


@LOWER
def test_images_are_classified_in_lower_precision(digits_run, precision):
    usual = landmark.load(digits_run, device="cpu")
    lower = landmark.load(digits_run, device="cpu", precision=precision)
    images = open_split(load_config(usual.run).data, digits_run, "test", lambda record: None)
    pixels = [images[number] for number in range(20)]
    one, other = usual.probabilities(pixels), lower.probabilities(pixels)
    assert torch.allclose(one, other, atol=0.02)
    assert not torch.equal(one, other)
    assert abs(usual.features(pixels) - lower.features(pixels)).max() < 0.1


def test_without_one_a_language_model_is_measured_as_it_was_trained(pretrained_runs):
    assert landmark.load(pretrained_runs["gpt"]).measured == "fp32"
    assert landmark.load(pretrained_runs["gpt"], precision="fp16").measured == "fp16"


@pytest.mark.parametrize("engine", ["onnx", "ctranslate2", "compiled"])
def test_an_export_has_its_own(tiny_run, digits_run, engine):
    run = digits_run if engine == "compiled" else tiny_run
    with pytest.raises(UserError, match="precision bf16"):
        landmark.load(run, engine=engine, precision="bf16")


def test_the_commands_take_it(command, mistake, tiny_run, own_data, pretrained_runs, digits_run):
    words = ["The dog sees the man."]
    plain = command("translate", tiny_run, *words, "--json").out
    lower = command("translate", tiny_run, *words, "--json", "--precision", "bf16").out
    assert plain != lower
    for run in (tiny_run, pretrained_runs["gpt"], pretrained_runs["bert"], digits_run):
        its = ["--split", "valid"]
        if run is tiny_run:
            files = ["--source", own_data.source, "--reference", own_data.target]
            its = [*files, "--beam", "1", "--bootstrap", "0"]
        command("evaluate", run, "--precision", "bf16", *its)
    said = mistake("score", tiny_run, "a", "b", "--precision", "bf16")
    assert "--precision" in said
    assert "fp32" in mistake("translate", tiny_run, "a", "--precision", "fp64")


def test_autocast_and_single_precision_are_apart():
    linear = torch.nn.Linear(3, 2)
    with autocast(torch.device("cpu"), "fp32"):
        assert linear(torch.ones(1, 3)).dtype == torch.float32
