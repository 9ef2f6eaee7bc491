import shutil
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
import transformers

import landmark
from landmark.core.errors import UserError
from landmark.data.running_text.character import RunningSubwords
from landmark.data.tokenizer import TokenizerConfig
from landmark.decoding.stepwise import SamplingConfig
from landmark.layers.packing import Packing
from landmark.models.transformer.gpt import GPTConfig
from landmark.tasks.language_model.pipeline import GenerationPipeline, _Scribe
from landmark.tasks.training import train

TEXT = "".join(f"{n} grüne Flaschen an der Wand,\n" for n in range(99, 9, -1))
COMMON = [
    "batches.streams=5", "batches.length=16", "trainer.max_steps=12", "trainer.validate_every=12",
    "trainer.checkpoint_every=12", "schedule.rate=0.02", "schedule.warmup_steps=1", "threads=1",
    "data.corpus=files",
]  # fmt: skip
RECURRENT = ["model.embedding_size=8", "model.hidden_size=12"]
CONTEXT = 48
GPT = [
    "model.hidden_size=16", "model.num_heads=2", "model.num_layers=2",
    f"model.max_length={CONTEXT}",
]  # fmt: skip
CHARACTERS = ["tokenizer.kind=characters"]
SUBWORDS = ["tokenizer.kind=subwords", "tokenizer.vocab_size=280"]
KINDS = {
    "characters": ("language-model", [*RECURRENT, *CHARACTERS]),
    "subwords": ("language-model", [*RECURRENT, *SUBWORDS]),
    "gpt-characters": ("gpt", [*GPT, *CHARACTERS, "data.separate_documents=false"]),
    "gpt-subwords": ("gpt", [*GPT, *SUBWORDS]),
}
PROMPTS = ["9", "10 grüne Flaschen ", "", "99 gr"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> dict[str, Path]:
    """A run of each kind of network and vocabulary, trained for a moment."""
    folder = tmp_path_factory.mktemp("generation")
    (folder / "text.txt").write_text(TEXT, encoding="utf-8")
    settings = [*COMMON, f"data.text=['{folder / 'text.txt'}']"]
    return {
        kind: train(recipe, folder / kind, [*settings, *more]).folder
        for kind, (recipe, more) in KINDS.items()
    }


@pytest.fixture(scope="module", params=KINDS)
def pipeline(runs, request) -> GenerationPipeline:
    return landmark.load(runs[request.param])


@pytest.fixture(scope="module")
def characters(runs) -> GenerationPipeline:
    return landmark.load(runs["characters"])


@pytest.fixture(scope="module")
def gpt(runs) -> GenerationPipeline:
    return landmark.load(runs["gpt-subwords"])


def read_before(pipeline: GenerationPipeline, prompt: str) -> list[int]:
    """What a model reads: a GPT the prompt alone, a recurrent one after the end of a line."""
    before = "" if isinstance(pipeline.config.model, GPTConfig) else "\n"
    return pipeline.tokenizer.encode([before + prompt])[0]


@torch.no_grad()
def log_probabilities(pipeline: GenerationPipeline, tokens: list[int]) -> torch.Tensor:
    """Of what comes after each of these tokens, read from the beginning at once. (T, V)"""
    model = pipeline.model
    if isinstance(pipeline.config.model, GPTConfig):
        hidden = model(torch.tensor(tokens), Packing.full(1, len(tokens)))
    else:
        hidden, _ = model(torch.tensor([tokens]), model.begin(1))
    return model.logits(hidden).log_softmax(-1)


def seen(pipeline: GenerationPipeline, tokens: list[int]) -> list[int]:
    """What a model looks back on: a GPT's window, when it is full, slides by half."""
    if not isinstance(pipeline.config.model, GPTConfig):
        return tokens
    window: list[int] = []
    for token in tokens:
        window = [*(window if len(window) < CONTEXT else window[-(CONTEXT // 2) :]), token]
    return window


@pytest.mark.parametrize("prompt", ["9", "10 grüne ", TEXT[:CONTEXT]])
def test_greedy_takes_the_likeliest_after_all_that_was_read(pipeline, prompt):
    """Also after a prompt longer than those of training, and beyond a GPT's context."""
    said = read_before(pipeline, prompt)
    (written,) = pipeline.generate(prompt, 80, sampling=None)
    for token in written.tokens:
        assert token == int(log_probabilities(pipeline, seen(pipeline, said))[-1].argmax())
        said.append(token)
    assert written.prompt == prompt
    assert pipeline.tokenizer.decode([said])[0].removeprefix("\n") == prompt + written.text


def test_a_texts_log_probability_is_the_models_own(pipeline):
    sampling = SamplingConfig(temperature=0.5, top_k=4)
    prompt = "10 grüne "
    for written in pipeline.generate(prompt, 20, sampling=sampling, samples=2):
        read = read_before(pipeline, prompt)
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
    assert characters.generate("9", 30, sampling=SamplingConfig(temperature=0.01)) == greedy
    assert characters.generate("9", 30, sampling=SamplingConfig(temperature=2.0)) != greedy


def test_without_a_prompt_a_new_line_or_a_new_text_begins(pipeline):
    (written,) = pipeline.generate("", 20, sampling=None)
    said = pipeline.tokenizer.encode(["\n"])[0]
    if pipeline.config.data.separate_documents:
        said = [pipeline.tokenizer.end]
    for token in written.tokens:
        assert token == int(log_probabilities(pipeline, said)[-1].argmax())
        said.append(token)
    assert written.prompt == ""


def test_a_batch_of_prompts_writes_what_each_alone_would(pipeline):
    """Unequal prompts, beyond the context too, of which some end early and leave."""
    options = {"sampling": None, "stop": ["an"], "repetition_penalty": 1.2}
    together = pipeline.generate(PROMPTS, 70, **options)
    assert [written.prompt for written in together] == PROMPTS
    for prompt, written in zip(PROMPTS, together, strict=True):
        (alone,) = pipeline.generate(prompt, 70, **options)
        assert (written.text, written.tokens) == (alone.text, alone.tokens)
        assert written.log_probability == pytest.approx(alone.log_probability, abs=1e-3)


def test_draws_do_not_depend_on_the_batch(pipeline):
    whole = pipeline.generate(PROMPTS, 30, samples=3, seed=4)
    assert [written.prompt for written in whole] == [p for p in PROMPTS for _ in range(3)]
    for size in (1, 2, 5):
        again = pipeline.generate(PROMPTS, 30, samples=3, seed=4, batch_size=size)
        assert [written.tokens for written in again] == [written.tokens for written in whole]
    fewer = pipeline.generate(PROMPTS[:2], 30, samples=2, seed=4)
    assert [w.tokens for w in fewer] == [whole[n].tokens for n in (0, 1, 3, 4)]
    twice = pipeline.generate(["9", "9"], 30)
    assert twice[0].tokens != twice[1].tokens


def test_finished_texts_leave_the_batch(pipeline, monkeypatch):
    rows = []
    step = pipeline.model.step
    monkeypatch.setattr(
        pipeline.model,
        "step",
        lambda tokens, state: rows.append(len(tokens)) or step(tokens, state),
    )
    written = pipeline.generate(PROMPTS, 40, sampling=SamplingConfig(), stop=["a", "n"], seed=2)
    lengths = [len(one.tokens) for one in written]
    assert len(set(lengths)) > 1
    assert rows == [sum(n > time for n in lengths) for time in range(1, max(lengths))]


def test_texts_end_before_a_stop_string_and_streams_show_nothing_of_it(pipeline):
    texts = [(seed, pipeline.generate("9", 60, seed=seed)[0]) for seed in range(1, 9)]
    seed, free = max(texts, key=lambda text: len(text[1].text))
    stop = free.text[12:15]
    expected = free.text[: free.text.index(stop)]
    (written,) = pipeline.generate("9", 60, seed=seed, stop=["@@", stop])
    assert (written.text, written.ending) == (expected, "stop")
    assert list(written.tokens) == list(free.tokens[: len(written.tokens)])
    assert stop in pipeline.tokenizer.decode([written.tokens])[0]
    shown = ""
    for piece in pipeline.stream("9", 60, seed=seed, stop=["@@", stop]):
        shown += piece
        assert expected.startswith(shown)
    assert shown == expected
    assert (free.ending == "length") == (len(free.tokens) == 60)


def test_the_end_of_text_token_ends_a_text(gpt):
    """Made the likeliest by its embedding, which is the output's too."""
    made = landmark.load(gpt.run.folder)
    with torch.no_grad():
        made.model.embedding.weight[made.tokenizer.end] = 50 * made.model.norm.bias + 50
    (written,) = made.generate("9 gr", 50, sampling=None)
    assert written.tokens[-1] == made.tokenizer.end
    assert made.tokenizer.end not in written.tokens[:-1]
    assert written.ending == "end"
    assert written.text == made.tokenizer.decode([written.tokens[:-1]])[0]


def test_what_was_said_is_penalized_as_transformers_does(pipeline):
    penalty = 1.5
    process = transformers.RepetitionPenaltyLogitsProcessor(penalty)
    said = read_before(pipeline, "10 grüne ")
    (written,) = pipeline.generate("10 grüne ", 15, sampling=None, repetition_penalty=penalty)
    for place, token in enumerate(written.tokens):
        whole = [*said, *written.tokens[:place]]
        logits, _ = pipeline.model.start(torch.tensor(whole), Packing.full(1, len(whole)), 1)
        scores = process(torch.tensor([whole]), logits.detach().clone())
        assert token == int(scores.argmax())
    assert written.tokens != pipeline.generate("10 grüne ", 15, sampling=None)[0].tokens


def test_ngrams_are_blocked_as_transformers_does_whatever_the_company(pipeline):
    process = transformers.NoRepeatNGramLogitsProcessor(2)
    options = {"sampling": None, "no_repeat_ngram": 2}
    for written in pipeline.generate(PROMPTS, 15, **options):
        said = pipeline.encode_prompt(written.prompt)
        for place, token in enumerate(written.tokens):
            whole = [*said, *written.tokens[:place]]
            logits, _ = pipeline.model.start(torch.tensor(whole), Packing.full(1, len(whole)), 1)
            assert token == int(process(torch.tensor([whole]), logits.detach().clone()).argmax())
        assert written.tokens != pipeline.generate(written.prompt, 15, sampling=None)[0].tokens


def test_a_text_does_not_end_before_its_least_length(runs):
    made = landmark.load(runs["gpt-subwords"])
    with torch.no_grad():
        made.model.embedding.weight[made.tokenizer.end] = 50 * made.model.norm.bias + 50
    (written,) = made.generate("9 gr", 50, sampling=None, min_length=7)
    assert len(written.tokens) == 8
    assert written.tokens[-1] == made.tokenizer.end
    drawn = made.generate("9 gr", 50, samples=4, min_length=7)
    assert [one.tokens.index(made.tokenizer.end) for one in drawn] == [7] * 4


def test_a_prompt_longer_than_the_context_is_refused_and_one_as_long_is_not(runs):
    gpt = landmark.load(runs["gpt-characters"])
    assert gpt.generate(TEXT[:CONTEXT], 3)[0].tokens
    said = f"the prompt has {CONTEXT + 1} tokens, but the model's context is {CONTEXT}: shorten it"
    with pytest.raises(UserError, match=said):
        gpt.generate(TEXT[: CONTEXT + 1])
    with pytest.raises(UserError, match=f"prompt 2 has {CONTEXT + 1} tokens"):
        gpt.generate(["9", TEXT[: CONTEXT + 1]])


def test_memory_stays_as_it_is_when_a_text_outgrows_the_context(runs):
    gpt = landmark.load(runs["gpt-characters"])
    _, state = gpt.read([gpt.encode_prompt("9")], 10**9)
    sizes = set()
    with torch.inference_mode():
        for token in range(3 * CONTEXT):
            gpt.model.step(torch.tensor([token % 9]), state)
            sizes.add((state.tokens.numel(), state.caches[0]._keys.numel()))
    assert sizes == {(CONTEXT, CONTEXT * 16)}


def test_eight_bits_say_nearly_the_same(runs):
    gpt, small = landmark.load(runs["gpt-characters"]), landmark.load(runs["gpt-characters"])
    small.quantize()
    prompt = TEXT[:30]
    ours, _ = gpt.read([gpt.encode_prompt(prompt)], 1)
    theirs, _ = small.read([gpt.encode_prompt(prompt)], 1)
    assert 0 < (ours - theirs).norm() / ours.norm() < 0.1
    assert len(small.generate(prompt, 60)[0].tokens) == 60


@pytest.mark.parametrize("prompts", [PROMPTS[:1], PROMPTS[:2]])
def test_torch_leaves_the_cores_to_numpy_while_one_text_is_written(runs, prompts, monkeypatch):
    pipeline, seen = landmark.load(runs["gpt-characters"]), []
    step = pipeline.model.step

    def observed(tokens, state):
        seen.append((len(tokens), torch.get_num_threads()))
        return step(tokens, state)

    monkeypatch.setattr(pipeline.model, "step", observed)
    usual = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        pipeline.generate(prompts, 5)
        assert seen == [(len(prompts), len(prompts))] * 4  # one row: one thread; two rows: two
        assert torch.get_num_threads() == 2
        pipeline.quantize()
        seen.clear()
        pipeline.generate(prompts, 5)
        assert seen == [(len(prompts), 2)] * 4  # 8 bits are multiplied by torch itself
    finally:
        torch.set_num_threads(usual)


def test_eight_bits_are_for_gpt(characters):
    with pytest.raises(UserError, match="int8 is for a GPT"):
        characters.quantize()


def test_the_watcher_is_shown_the_first_text(pipeline):
    pieces: list[str] = []
    written = pipeline.generate(["9", "99 grüne Fl"], 60, watch=pieces.append)
    assert "".join(pieces) == written[0].text
    assert len(pieces) > 5


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
        (["9", "\udcff"], {}, "prompt 2 is not valid UTF-8"),
        (["9", None], {}, "prompt 2 is not a text, but of type NoneType"),
        (None, {}, "give a list of texts, not one object of type NoneType"),
        ("9", {"length": 0}, "length 0: must be at least 1"),
        ("9", {"samples": 0}, "samples 0, batch 16: both must be at least 1"),
        ("9", {"batch_size": 0}, "samples 1, batch 0: both"),
        ("9", {"repetition_penalty": 0.0}, "repetition penalty 0.0: must be above 0"),
        ("9", {"stop": ["x", ""]}, "a stop string is empty"),
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
