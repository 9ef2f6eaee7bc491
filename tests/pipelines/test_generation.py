import shutil
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

import landmark
from landmark.core.errors import UserError
from landmark.data.running_text.character import RunningSubwords
from landmark.data.tokenizer import TokenizerConfig
from landmark.decoding.stepwise import SamplingConfig
from landmark.pipelines.generation import GenerationPipeline, _Scribe
from landmark.recipes.training import train

TEXT = "".join(f"{n} grüne Flaschen an der Wand,\n" for n in range(99, 9, -1))
SMALL = [
    "model.embedding_size=8", "model.hidden_size=12", "batches.streams=5", "batches.length=16",
    "trainer.max_steps=12", "trainer.validate_every=12", "trainer.checkpoint_every=12",
    "schedule.rate=0.02", "schedule.warmup_steps=1", "threads=1", "data.corpus=files",
]  # fmt: skip
WINDOW = 16  # batches.length


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> dict[str, Path]:
    """A run of each kind of vocabulary, trained for a moment."""
    folder = tmp_path_factory.mktemp("generation")
    (folder / "text.txt").write_text(TEXT, encoding="utf-8")
    settings = [*SMALL, f"data.text=['{folder / 'text.txt'}']"]
    kinds = {"characters": [], "subwords": ["tokenizer.kind=subwords", "tokenizer.vocab_size=280"]}
    return {
        kind: train("language-model", folder / kind, [*settings, *more]).folder
        for kind, more in kinds.items()
    }


@pytest.fixture(scope="module", params=["characters", "subwords"])
def pipeline(runs, request) -> GenerationPipeline:
    return landmark.load(runs[request.param])


@pytest.fixture(scope="module")
def characters(runs) -> GenerationPipeline:
    return landmark.load(runs["characters"])


@torch.no_grad()
def log_probabilities(pipeline: GenerationPipeline, tokens: list[int]) -> torch.Tensor:
    """Of what comes after each of these tokens, read from the beginning at once. (T, V)"""
    model = pipeline.model
    hidden, _ = model(torch.tensor([tokens]), model.begin(1))
    return model.logits(hidden).log_softmax(-1)


@pytest.mark.parametrize("prompt", ["9", "10 grüne ", TEXT[: 5 * WINDOW]])
def test_greedy_takes_the_likeliest_after_all_that_was_read(pipeline, prompt):
    """A prompt longer than the training window is read to its beginning too."""
    said = pipeline.tokenizer.encode(["\n" + prompt])[0]
    (written,) = pipeline.generate(prompt, 12, sampling=None)
    for token in written.tokens:
        assert token == int(log_probabilities(pipeline, said)[-1].argmax())
        said.append(token)
    assert written.prompt == prompt
    assert pipeline.tokenizer.decode([said])[0] == "\n" + prompt + written.text


def test_a_texts_log_probability_is_the_models_own(pipeline):
    sampling = SamplingConfig(temperature=0.5, top_k=4)
    prompt = "10 grüne "
    for written in pipeline.generate(prompt, 20, sampling=sampling, samples=2):
        read = pipeline.tokenizer.encode(["\n" + prompt])[0]
        said = [*read, *written.tokens]
        given = log_probabilities(pipeline, said[:-1])[len(read) - 1 :]
        expected = -F.nll_loss(given, torch.tensor(written.tokens), reduction="sum").item()
        assert written.log_probability == pytest.approx(expected, abs=1e-4)


def test_the_stream_is_the_text_piece_by_piece(pipeline):
    for sampling in (None, SamplingConfig(temperature=1.5)):
        pieces = list(pipeline.stream("9", 80, sampling=sampling, seed=3))
        (written,) = pipeline.generate("9", 80, sampling=sampling, seed=3)
        assert "".join(pieces) == written.text
        assert len(pieces) > 10


def test_a_text_is_written_while_it_is_asked_for(characters):
    stream = characters.stream("9", 10**9)
    assert len(next(stream)) == 1


def test_a_draw_depends_on_seed_and_number_alone(pipeline):
    def tokens(**options):
        return [written.tokens for written in pipeline.generate("9", 30, **options)]

    three = tokens(samples=3)
    assert len(set(three)) == 3
    assert tokens(samples=2) == three[:2]
    assert tokens(samples=1) == three[:1] == tokens(samples=1, seed=1)
    assert tokens(samples=1, seed=2) != three[:1]


def test_draws_follow_the_models_distribution(characters):
    expected = log_probabilities(characters, characters.tokenizer.encode(["\n9"])[0])[-1].exp()
    drawn = [written.tokens[0] for written in characters.generate("9", 1, samples=4000)]
    shares = torch.bincount(torch.tensor(drawn), minlength=len(expected)) / len(drawn)
    torch.testing.assert_close(shares, expected, atol=0.04, rtol=0)


def test_one_candidate_is_no_choice_and_heat_makes_one(characters):
    greedy = characters.generate("9", 30, sampling=None)
    assert characters.generate("9", 30, sampling=SamplingConfig(top_k=1)) == greedy
    assert characters.generate("9", 30, sampling=SamplingConfig(temperature=1e-3)) == greedy
    assert characters.generate("9", 30, sampling=SamplingConfig(temperature=2.0)) != greedy


def test_without_a_prompt_a_new_line_begins(pipeline):
    (written,) = pipeline.generate("", 20, sampling=None)
    said = pipeline.tokenizer.encode(["\n"])[0]
    for token in written.tokens:
        assert token == int(log_probabilities(pipeline, said)[-1].argmax())
        said.append(token)
    assert written.prompt == ""


def test_without_a_prompt_or_new_lines_the_texts_first_character_begins(tmp_path):
    run = train("hello", tmp_path / "run", ["trainer.max_steps=1", "threads=1"])
    loaded = landmark.load(run.folder)
    assert loaded.generate("", 4)[0].tokens == loaded.generate("h", 4)[0].tokens


def test_an_unseen_character_is_named_with_its_place(characters):
    with pytest.raises(UserError, match=r"the prompt, character 4: 'é' \(U\+00E9\) was never seen"):
        characters.generate("10 été")


def test_subwords_take_any_prompt(runs):
    assert landmark.load(runs["subwords"]).generate("été 漢字 👩‍👧", 5)[0].tokens


@pytest.mark.parametrize(
    ("prompt", "options", "said"),
    [
        ("\udcff", {}, "the prompt is not valid UTF-8"),
        ("9", {"length": 0}, "length 0, samples 1: both must be at least 1"),
        ("9", {"samples": 0}, "length 500, samples 0"),
    ],
)
def test_what_cannot_be_written_is_refused(pipeline, prompt, options, said):
    with pytest.raises(UserError, match=said):
        pipeline.generate(prompt, **options)


def test_numbers_that_are_not_finite_are_named_not_drawn_from(runs):
    spoilt = landmark.load(runs["characters"])
    torch.nn.init.constant_(spoilt.model.output.weight, float("nan"))
    with pytest.raises(UserError, match="output is not finite: use another"):
        spoilt.generate("9")


def test_characters_of_several_bytes_are_written_when_they_are_whole():
    text = "Größe 漢字 👩‍👧\n€\ufffd ¾ x"
    words = RunningSubwords.train(["Größe "] * 3, TokenizerConfig(vocab_size=270))
    tokenizer = RunningSubwords(words.backend)
    (tokens,) = tokenizer.encode([text])
    assert len(tokens) > len(text)  # most of its characters are several tokens
    scribe = _Scribe(tokenizer)
    pieces = [scribe.add(token) for token in tokens]
    assert "".join(pieces) == text
    assert "".join(pieces).count("\ufffd") == 1  # the text's own
    cut_off = _Scribe(tokenizer)
    said = "".join(cut_off.add(token) for token in tokenizer.encode(["a漢"])[0][:-1])
    assert said == "a"
    assert cut_off.finish() == "\ufffd"


def test_a_run_with_another_vocabulary_is_refused(runs, tmp_path, rewrite_recipe):
    copied = shutil.copytree(runs["subwords"], tmp_path / "run")
    rewrite_recipe(
        copied, "  vocab_size: 280\n  embedding_size", "  vocab_size: 281\n  embedding_size"
    )
    with pytest.raises(UserError, match=r"the model has 281 entries, tokenizer\.json has 280"):
        landmark.load(copied)
