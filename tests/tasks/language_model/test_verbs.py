"""`landmark generate` and `prompt`, and `landmark train --text` that comes before them."""

import gzip
import json
import os
import re
import shutil
import subprocess
import sys

import pytest

import landmark
from landmark.data.running_text.character import load_tokenizer
from landmark.data.shards import TokenStore
from landmark.engine.run import Run
from landmark.tasks.language_model.options import GenerateOptions
from landmark.tasks.language_model.verbs import generation_config
from landmark.tasks.training import resolve

TEXT = "".join(f"{n} green bottles hanging on the wall,\n" for n in range(99, 9, -1))
SMALL = [
    "model.embedding_size=8", "model.hidden_size=12", "batches.streams=5", "batches.length=16",
    "trainer.max_steps=4", "trainer.validate_every=4", "trainer.checkpoint_every=4",
    "schedule.rate=0.02", "schedule.warmup_steps=1", "threads=1",
]  # fmt: skip

CONTEXT = 40
SMALL_GPT = [
    *(setting for setting in SMALL if not setting.startswith("model.")),
    "model.hidden_size=16", "model.num_heads=2", "model.num_layers=1",
    f"model.max_length={CONTEXT}", "tokenizer.vocab_size=270",
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A text of 90 lines as text.txt, and models of it as run/ and, a GPT, as gpt/."""
    folder = tmp_path_factory.mktemp("own")
    (folder / "text.txt").write_text(TEXT)
    text = ["data.corpus=files", f"data.text=['{folder / 'text.txt'}']"]
    landmark.train("language-model", folder / "run", [*SMALL, *text])
    landmark.train("gpt", folder / "gpt", [*SMALL_GPT, *text])
    return folder


@pytest.fixture
def train_text(command, tmp_path):
    """Train on text for four steps; the run, and what was said."""

    def call(*words):
        run = tmp_path / "trained"
        answer = command("train", "language-model", *SMALL, *words, "--run", run)
        assert answer.code == 0, answer.err
        assert answer.out == f"{run}\n"
        return run, answer.err

    return call


def characters(run, split):
    tokenizer, store = load_tokenizer(run / "tokenizer.json"), TokenStore(run / "data" / split)
    return tokenizer.decode([store["text", number].tolist() for number in range(len(store))])


# Training on one's own text


def test_text_files_are_trained_on_and_a_tenth_is_held_out(train_text, tmp_path):
    (tmp_path / "one.txt").write_text(TEXT[:2000])
    (tmp_path / "two.txt.gz").write_bytes(gzip.compress(TEXT[2000:].encode()))
    run, said = train_text("--text", tmp_path / "one.txt", "--text", tmp_path / "two.txt.gz")
    kept = int(0.9 * len(TEXT))
    assert "".join(characters(run, "train")) == TEXT[:kept]
    assert "".join(characters(run, "valid")) == TEXT[kept:]
    assert f"{kept:,} characters to train on, {len(TEXT) - kept} to validate" in said
    assert "bits_per_character" in said
    assert Run(run).finished()


def test_text_to_validate_on_can_be_given(train_text, tmp_path):
    (tmp_path / "text.txt").write_text(TEXT)
    (tmp_path / "valid.txt").write_text("99 green walls\n")
    run, _ = train_text("--text", tmp_path / "text.txt", "--valid-text", tmp_path / "valid.txt")
    assert characters(run, "train") == [TEXT]
    assert characters(run, "valid") == ["99 green walls\n"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--valid-text", "x"], "--valid-text needs --text"),
        ([], "there is no text to train on: give --text"),
        (["--text", "nowhere.txt"], "nowhere.txt: cannot be read: No such file"),
    ],
)
def test_a_mistake_with_the_data_is_one_line(mistake, tmp_path, words, said):
    answer = mistake("train", "language-model", *words, "--run", tmp_path / "run")
    assert said in answer
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty: give some text"),
        (b"\n  \n" * 500, "contains only blank lines: give some text"),
        (b"good\nb\xe4d\n", ":2: not valid UTF-8 (byte 2 of the line)"),
        (b"too short", "too short: 8 tokens to train on, but one chunk takes 65"),
    ],
)
def test_a_text_that_will_not_do_is_named(mistake, tmp_path, content, said):
    (tmp_path / "own.txt").write_bytes(content)
    words = ["--text", tmp_path / "own.txt", "--run", tmp_path / "run"]
    answer = mistake("train", "language-model", *words)
    assert answer.startswith(f"{tmp_path / 'own.txt'}:")
    assert said in answer


def test_an_unseen_character_to_validate_on_is_named_with_its_line(mistake, tmp_path):
    (tmp_path / "own.txt").write_text(TEXT)
    (tmp_path / "valid.txt").write_text("99 green\nbottles at 5 €\n", encoding="utf-8")
    files = ["--text", tmp_path / "own.txt", "--valid-text", tmp_path / "valid.txt"]
    answer = mistake("train", "language-model", *files, "--run", tmp_path / "run")
    assert answer.startswith(f"{tmp_path / 'valid.txt'}:2: '€' (U+20AC) was never seen in training")
    assert "tokenizer.kind=subwords" in answer


# Writing


def test_the_prompt_and_what_follows_are_printed(command, folder):
    answer = command("generate", folder / "run", "99 green", "--length", 40)
    (written,) = landmark.load(folder / "run").generate("99 green", 40)
    assert answer.code == 0
    assert answer.out == f"99 green{written.text}\n"
    assert answer.err == ""


def test_temperature_zero_is_greedy_and_seeds_differ(command, folder):
    def text(*words):
        return command("generate", folder / "run", "9", "--length", 30, *words).out

    (greedy,) = landmark.load(folder / "run").generate("9", 30, sampling=None)
    cold = text("--temperature", 0)
    assert cold == f"9{greedy.text}\n"
    assert text("--top-k", 1) == cold
    assert text() == text("--seed", 1) != text("--seed", 2)
    assert text("--top-p", 0.01) == cold


def test_several_samples_are_numbered(command, folder):
    written = landmark.load(folder / "run").generate("9", 20, samples=3, seed=4)
    words = ["generate", folder / "run", "9", "--length", 20, "--samples", 3, "--seed", 4]
    expected = "".join(f"--- {n} ---\n9{one.text}\n" for n, one in enumerate(written, 1))
    assert command(*words).out == expected
    records = [json.loads(line) for line in command(*words, "--json").lines]
    assert records == [
        {
            "sample": number,
            "prompt": "9",
            "text": one.text,
            "log_probability": pytest.approx(one.log_probability),
            "tokens": 20,
            "ending": "length",
        }
        for number, one in enumerate(written, 1)
    ]


def test_without_a_prompt_it_begins_with_a_line(command, folder):
    (written,) = landmark.load(folder / "run").generate("", 20)
    assert command("generate", folder / "run", "--length", 20).out == f"{written.text}\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["straße"], "prompt 1, character 5: 'ß' (U+00DF) was never seen in training: leave it"),
        (["9", "--length", "0"], "--length"),
        (["9", "--temperature", "-1"], "--temperature"),
        (["9", "--top-p", "2"], "--top-p"),
        (["9", "--temperature", "0", "--samples", "2"], "temperature 0 is greedy"),
        (["9", "--temperature", "0", "--top-k", "3"], "temperature 0 is greedy"),
        (["9", "--temperature", "0", "--seed", "3"], "temperature 0 is greedy"),
        (["9", "--file", "lines.txt"], "give texts or --file, not both"),
        (["--file", "nowhere.txt"], "nowhere.txt: there is no such file"),
        (["9", "--stop", ""], "a stop string is empty"),
        (["9", "--repetition-penalty", "0"], "--repetition-penalty"),
        (["9", "--batch-size", "0"], "--batch-size"),
        (["9", "--no-repeat-ngram", "0"], "--no-repeat-ngram"),
        (["9", "--min-length", "9", "--length", "8"], "min_length 9: is more than the length of 8"),
        (["9", "--min-length", "3"], "have no end-of-text token: leave out min_length"),
        (["9", "--int8"], "int8 is for a GPT"),
        (["9", "--checkpoint", "77"], "no checkpoint '77'"),
        (["9", "--device", "quark"], "device 'quark' is not usable here"),
    ],
)
def test_a_mistake_is_one_line(mistake, folder, words, said):
    assert said in mistake("generate", folder / "run", *words)


def test_a_prompt_longer_than_the_context_is_one_line(mistake, folder):
    said = mistake("generate", folder / "gpt", "x y" * CONTEXT)
    assert f"tokens, but the model's context is {CONTEXT}: shorten it" in said


def test_prompts_of_a_file_are_a_batch(command, folder, tmp_path):
    (tmp_path / "lines.txt").write_text("99 green\n9\n")
    words = ["generate", folder / "gpt", "--file", tmp_path / "lines.txt", "--length", 60]
    written = landmark.load(folder / "gpt").generate(["99 green", "9"], 60, samples=2)
    expected = "".join(f"--- {n} ---\n{w.prompt}{w.text}\n" for n, w in enumerate(written, 1))
    for size in (1, 3, 16):
        answer = command(*words, "--samples", 2, "--batch-size", size)
        assert answer.out == expected, answer.err
    records = [json.loads(line) for line in command(*words, "--samples", 2, "--json").lines]
    assert [(r["prompt"], r["sample"]) for r in records] == [
        ("99 green", 1), ("99 green", 2), ("9", 1), ("9", 2),
    ]  # fmt: skip
    assert [record["text"] for record in records] == [one.text for one in written]


def test_texts_end_before_stop_strings(command, folder):
    (free,) = landmark.load(folder / "run").generate("9", 100)
    stop = free.text[10:12]
    words = ["generate", folder / "run", "9", "--length", 100, "--stop", "no such", "--stop", stop]
    text = free.text[: free.text.index(stop)]
    assert command(*words).out == f"9{text}\n"
    record = json.loads(command(*words, "--json").out)
    assert (record["text"], record["ending"]) == (text, "stop")


def test_a_stop_string_may_be_the_end_of_a_line():
    options = GenerateOptions(stop=(r"\n", r"a\tb", r"\\n", r"C:\x", "\\"))
    assert generation_config(options).stop == ("\n", "a\tb", "\\n", r"C:\x", "\\")


def test_a_text_that_ends_at_once_is_the_prompt(command, folder):
    (free,) = landmark.load(folder / "run").generate("9", 5)
    answer = command("generate", folder / "run", "9", "--length", 5, "--stop", free.text[0])
    assert answer.out == "9\n"


def test_repetition_can_be_penalized(command, folder):
    words = ["generate", folder / "gpt", "99 green", "--length", 30, "--temperature", 0]
    pipeline = landmark.load(folder / "gpt")
    (written,) = pipeline.generate("99 green", 30, sampling=None, repetition_penalty=2.0)
    answer = command(*words, "--repetition-penalty", 2)
    assert answer.out == f"99 green{written.text}\n"
    assert answer.out != command(*words).out


def test_ngrams_are_blocked_on_demand(command, folder):
    words = ["generate", folder / "gpt", "99 green", "--length", 30, "--temperature", 0]
    pipeline = landmark.load(folder / "gpt")
    (written,) = pipeline.generate("99 green", 30, sampling=None, no_repeat_ngram=3, min_length=9)
    answer = command(*words, "--no-repeat-ngram", 3, "--min-length", 9)
    assert answer.out == f"99 green{written.text}\n"
    assert answer.out != command(*words).out


def test_speed_is_said_when_asked_for(command, folder):
    answer = command("generate", folder / "run", "9", "--length", 20, "--speed")
    assert re.fullmatch(r"20 tokens in [\d.]+ s: [\d,.]+ tokens a second\n", answer.err)
    assert answer.out == command("generate", folder / "run", "9", "--length", 20).out


def test_eight_bits_write_too(command, folder):
    answer = command("generate", folder / "gpt", "9", "--length", 20, "--int8")
    assert answer.code == 0
    assert answer.out.startswith("9")


def test_a_run_that_writes_nothing_is_refused(mistake, tiny_run, tmp_path):
    said = mistake("generate", tiny_run, "9")
    assert "is a run of task 'translation', which has no generate" in said
    assert "there is no such run" in mistake("generate", tmp_path / "none", "9")


def test_a_prompt_at_fault_is_skipped_and_the_others_go_on(command, folder, tmp_path):
    (tmp_path / "lines.txt").write_text("99 green\nstraße\n9\n", encoding="utf-8")
    words = ["generate", folder / "run", "--file", tmp_path / "lines.txt", "--length", 20]
    answer = command(*words, "--json")
    written = landmark.load(folder / "run").generate(["99 green", "9", "9"], 20)
    first, fault, last = [json.loads(line) for line in answer.lines]
    assert answer.code == 0
    assert first["text"] == written[0].text
    assert last["text"] == written[2].text  # a draw depends on the prompt's number
    assert "lines.txt:2, character 5: 'ß' (U+00DF) was never seen" in fault["error"]
    assert answer.err.count("lines.txt:2, character 5") == 1
    assert command(*words, "--strict").code == 2


def test_a_file_grows_whole_and_shows_no_pieces(command, folder, tmp_path):
    (tmp_path / "lines.txt").write_text("99 green\n")
    words = ["--file", tmp_path / "lines.txt", "--output", tmp_path / "out.txt", "--length", 20]
    answer = command("generate", folder / "run", *words)
    (written,) = landmark.load(folder / "run").generate("99 green", 20)
    assert (answer.code, answer.out) == (0, "")
    assert (tmp_path / "out.txt").read_text() == f"99 green{written.text}\n"


def test_another_vocabulary_put_into_the_run_is_refused(mistake, folder, tmp_path):
    shutil.copytree(folder / "run", tmp_path / "run")
    path = tmp_path / "run/tokenizer.json"
    path.write_text(path.read_text().replace("g", "G"))
    assert "is not the one this run was trained with" in mistake("generate", tmp_path / "run", "9")


def test_the_text_appears_as_it_is_written(folder):
    """Of a text that would take an hour, the beginning is there at once."""
    words = ["generate", str(folder / "run"), "99 green", "--length", str(10**6)]
    process = subprocess.Popen(
        [sys.executable, "-m", "landmark", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={key: value for key, value in os.environ.items() if key != "PYTHONUNBUFFERED"},
    )
    try:
        assert process.stdout.read(30).startswith(b"99 green")
        assert process.poll() is None
        process.stdout.close()  # a reader that has seen enough is no error
        assert process.stderr.read() == b""
        assert process.wait(timeout=60) == 0
    finally:
        process.kill()


def test_the_recipes_train_and_write_as_the_documentation_says(command, tmp_path):
    run = tmp_path / "hello"
    assert command("train", "hello", "threads=1", "--run", run).code == 0
    answer = command("generate", run, "h", "--length", 4, "--temperature", 0)
    assert (answer.code, answer.out) == (0, "hello\n")


@pytest.mark.parametrize(("name", "gates"), [("rnn", 1), ("gru", 3), ("lstm", 4)])
def test_show_counts_the_weights_and_products_of_every_gate(command, name, gates):
    facts = json.loads(command("show", name, "--json").out)
    config = resolve(f"{name}-shakespeare").model
    width, hidden = config.embedding_size, config.hidden_size
    sizes = [width, *[hidden] * (config.num_layers - 1)]
    products = sum(gates * hidden * (size + hidden) for size in sizes)
    biases = config.num_layers * 2 * gates * hidden
    assert facts["parameters"] == 65 * (width + hidden) + products + biases
    assert facts["macs"] == 128 * (products + 65 * hidden)
