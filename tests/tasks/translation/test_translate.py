"""`landmark translate`: sentences, files, pipes and mistakes."""

import gzip
import json
import re
import shutil
import subprocess
import sys
import threading

import pytest
from matplotlib.image import imread

import landmark
from landmark.data.embedded import corpus
from landmark.data.tokenizer import SubwordTokenizer, TokenizerConfig
from landmark.tasks.translation import evaluation

# Two short sentences whose words the tiny run has seen.
DOG, CAT = sorted((pair.source for pair in corpus.draw("train", 50)), key=len)[:2]
LONG = "the " * 80


@pytest.fixture
def said(tiny_run):
    """What the tiny run makes of sentences, by the Python interface."""
    pipeline = landmark.load(tiny_run)
    return lambda *texts, **options: [r.text for r in pipeline.translate(texts, **options)]


@pytest.fixture
def stdin(monkeypatch, tmp_path):
    """Let the command read these bytes as its standard input."""

    def give(content: bytes | str) -> None:
        path = tmp_path / "standard-input"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        monkeypatch.setattr(sys, "stdin", path.open())

    return give


@pytest.fixture
def copied(tiny_run, tmp_path):
    """A copy of the tiny run, to damage."""
    return shutil.copytree(tiny_run, tmp_path / "run")


@pytest.fixture
def few(monkeypatch):
    """Score ten sentences of the embedded corpus, not a thousand."""
    monkeypatch.setattr(evaluation, "EMBEDDED_TEST_PAIRS", 10)


# Ways in


def test_sentences_come_from_the_command_line(command, tiny_run, said):
    answer = command("translate", tiny_run, DOG, CAT)
    assert answer.code == 0
    assert answer.lines == said(DOG, CAT)


@pytest.mark.parametrize("suffix", ["txt", "gz"])
def test_a_file_is_translated_line_by_line(command, tiny_run, said, tmp_path, suffix):
    path, text = tmp_path / f"in.{suffix}", f"{DOG}\n\n  \n{CAT}"
    path.write_bytes(gzip.compress(text.encode()) if suffix == "gz" else text.encode())
    answer = command("translate", tiny_run, "--file", path)
    assert answer.out.split("\n") == [*said(DOG), "", "", *said(CAT), ""]


def test_standard_input_is_translated_line_by_line(command, tiny_run, said, stdin):
    stdin(f"\ufeff{DOG}\r\n\n{CAT}")
    answer = command("translate", tiny_run)
    assert answer.code == 0
    assert answer.out.split("\n") == [*said(DOG), "", *said(CAT), ""]


def test_a_line_of_standard_input_has_a_longest_length(command, tiny_run, stdin, monkeypatch):
    monkeypatch.setattr("landmark.cli.inputs.LONGEST_LINE", 1000)
    stdin(f"{DOG}\n" + "a" * 1001)
    answer = command("translate", tiny_run)
    assert answer.code == 2
    assert "stdin:2: the line is longer than" in answer.err


def test_no_input_is_no_output(command, tiny_run, stdin, monkeypatch):
    stdin("")
    assert command("translate", tiny_run).out == ""
    monkeypatch.setattr(sys, "stdin", None)  # as after `<&-` in the shell
    answer = command("translate", tiny_run)
    assert (answer.code, answer.out, answer.err) == (0, "", "")


def test_at_a_terminal_it_says_what_it_waits_for(command, tiny_run, stdin, monkeypatch, thrice):
    stdin(DOG)
    assert command("translate", tiny_run).err == ""
    stdin(DOG)
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    answer = command("translate", tiny_run)
    assert "Ctrl-D" in answer.err
    assert len(answer.lines) == 1


def test_a_line_gets_its_answer_before_the_next_is_written(tiny_run, said, buffered):
    process = subprocess.Popen(
        [sys.executable, "-m", "landmark", "translate", str(tiny_run)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=buffered,
        text=True,
        encoding="utf-8",
    )
    patience = threading.Timer(60, process.kill)
    patience.start()
    for text in (DOG, "", CAT):
        process.stdin.write(f"{text}\n")
        process.stdin.flush()
        assert process.stdout.readline() == f"{said(text)[0]}\n"
    patience.cancel()
    process.stdin.close()
    assert process.stdout.read() == ""
    assert process.wait(timeout=60) == 0


def test_a_reader_that_takes_one_line_ends_the_translation_quietly(tiny_run, tmp_path, buffered):
    source = tmp_path / "in.txt"
    source.write_text(f"{DOG}\n" * 2500)
    with source.open() as given:
        process = subprocess.Popen(
            [sys.executable, "-m", "landmark", "translate", str(tiny_run), "--beam", "1"],
            stdin=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=buffered,
        )
        assert process.stdout.readline()
        process.stdout.close()
        said = process.stderr.read().splitlines()
        assert all(line.startswith(b"warning: stdin:") for line in said)
        assert process.wait(timeout=60) == 0


# Ways out


def test_beam_is_how_many_hypotheses_are_kept(command, tiny_run, said):
    for beam in (1, 2, 8):
        assert command("translate", tiny_run, DOG, "--beam", beam).lines == said(DOG, beam=beam)


def test_n_best_prints_a_score_and_a_text_a_line(command, tiny_run):
    lines = command("translate", tiny_run, DOG, "--n-best", "3").lines
    scores = [float(line.partition("\t")[0]) for line in lines]
    texts = [line.partition("\t")[2] for line in lines]
    assert scores == sorted(scores, reverse=True)
    assert len(texts) == 3
    assert texts[0] == landmark.load(tiny_run).translate([DOG])[0].text


def test_n_best_may_be_wider_than_the_recipes_beam(command, tiny_run, mistake):
    assert len(command("translate", tiny_run, DOG, "--n-best", "6").lines) == 6
    assert "widen" in mistake("translate", tiny_run, DOG, "--n-best", "6", "--beam", "5")


def test_json_has_a_record_a_line(command, tiny_run):
    answer = command("translate", tiny_run, "The zyx sees.", "", "--json", "--n-best", "2")
    first, blank = [json.loads(line) for line in answer.lines]
    expected = landmark.load(tiny_run).translate(["The zyx sees."], n_best=2)[0]
    assert first["source"] == "The zyx sees."
    assert first["translation"] == expected.text == first["n_best"][0]["text"]
    assert first["score"] == pytest.approx(expected.score)
    assert first["unknown_words"] == ["zyx"]
    assert [best["text"] for best in first["n_best"]] == [t for t, _ in expected.alternatives]
    assert (blank["source"], blank["translation"]) == ("", "")


def test_attention_is_drawn_as_a_picture(command, tiny_run, tmp_path):
    picture = tmp_path / "out.png"
    answer = command("translate", tiny_run, DOG, "--attention", picture)
    assert answer.code == 0
    assert picture.read_bytes().startswith(b"\x89PNG\r\n")
    pixels = imread(picture)
    height, width = pixels.shape[:2]
    assert 300 < width < 5000
    assert 300 < height < 5000
    assert len({tuple(row) for row in pixels[height // 2].tolist()}) > 5  # not an empty page


def test_attention_draws_the_translation_that_was_printed(command, tiny_run, tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(
        "landmark.figures.translation.heatmap.save_heatmap",
        lambda source, target, *rest: drawn.append(target),
    )
    picture = tmp_path / "out.png"
    for options in (["--beam", "1"], ["--sample", "--seed", "9"]):
        command("translate", tiny_run, DOG, "--attention", picture, *options)
    pipeline = landmark.load(tiny_run)
    greedy = pipeline.translate([DOG], beam=1)[0]
    assert list(drawn[0])[:-1] == pipeline.tokenizer.pieces(greedy.tokens)
    assert drawn[0] != drawn[1]


def test_sampling_is_reproducible_by_its_seed(command, tiny_run):
    def draw(*options):
        return command("translate", tiny_run, DOG, CAT, "--sample", *options).out

    assert draw() == draw("--seed", "1")
    assert draw("--seed", "1") != draw("--seed", "2")
    assert draw("--top-k", "1") == command("translate", tiny_run, DOG, CAT, "--beam", "1").out
    assert draw("--temperature", "0.5") != draw("--temperature", "2")


def test_a_draw_does_not_depend_on_how_the_lines_arrive(command, tiny_run, stdin, tmp_path):
    texts = [DOG, CAT, DOG, CAT]
    path = tmp_path / "in.txt"
    path.write_text("".join(f"{text}\n" for text in texts))
    expected = command("translate", tiny_run, *texts, "--sample").out
    assert command("translate", tiny_run, "--file", path, "--sample").out == expected
    stdin(path.read_bytes())
    assert command("translate", tiny_run, "--sample").out == expected
    lines = expected.split("\n")
    assert lines[0] != lines[2]  # the same sentence, drawn anew


def test_several_draws_of_a_sentence_differ(command, tiny_run):
    lines = command("translate", tiny_run, DOG, "--sample", "--n-best", "3").lines
    assert len({line.partition("\t")[2] for line in lines}) == 3


def test_unknown_words_are_named_on_stderr(command, tiny_run, thrice):
    answer = command("translate", tiny_run, DOG, "The Zyxwv sees qqqq, qqqq.")
    assert answer.code == 0
    assert answer.err == "warning: sentence 2: never seen in training: Zyxwv, qqqq\n"
    assert len(answer.lines) == 2


def test_a_checkpoint_is_chosen_by_pointer_or_step(command, tiny_run):
    first = command("translate", tiny_run, DOG, "--checkpoint", "4", "--json").out
    latest = command("translate", tiny_run, DOG, "--checkpoint", "latest", "--json").out
    named = command("translate", tiny_run, DOG, "--checkpoint", "step-000012", "--json").out
    assert json.loads(first)["score"] != json.loads(latest)["score"]
    assert latest == named


# Mistakes


def test_an_unknown_checkpoint_lists_the_known(mistake, tiny_run):
    for name in ("9999", "newest"):
        line = mistake("translate", tiny_run, DOG, "--checkpoint", name)
        assert line == (
            f"{tiny_run}: no checkpoint {name!r}: choose from best, latest, 4, 5, 8, 10, 12"
        )


@pytest.mark.parametrize("command_name", ["translate", "evaluate", "average"])
def test_a_missing_run_and_a_folder_that_is_none_are_told_apart(mistake, tmp_path, command_name):
    text = [DOG] if command_name == "translate" else []
    missing = mistake(command_name, tmp_path / "no", *text)
    assert missing.startswith(f"{tmp_path / 'no'}: there is no such run")
    assert mistake(command_name, tmp_path, *text).startswith(f"{tmp_path}: is not a run")


def test_a_run_without_checkpoints_says_so(mistake, copied):
    shutil.rmtree(copied / "checkpoints")
    assert mistake("translate", copied, DOG) == f"{copied}: has no checkpoint yet"


def test_a_run_of_another_task_says_so(mistake, command, tmp_path):
    settings = ["trainer.max_steps=1", "data.batch_size=4"]
    assert command("train", "gan-gaussian", *settings, "--run", tmp_path / "gan").code == 0
    assert "is a run of task 'adversarial'" in mistake("translate", tmp_path / "gan", DOG)


@pytest.mark.parametrize("name", ["model.safetensors", "manifest.json"])
def test_a_flipped_byte_in_a_checkpoint_is_noticed_and_the_file_named(mistake, copied, name):
    path = copied / "checkpoints" / "step-000012" / name
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    for words in (["translate", copied, DOG], ["evaluate", copied]):
        line = mistake(*words)
        assert line.startswith(f"{path}: damaged")
        assert "--checkpoint" in line


def test_another_checkpoint_of_a_damaged_run_still_serves(command, copied):
    (copied / "checkpoints" / "step-000012" / "model.safetensors").write_bytes(b"")
    assert command("translate", copied, DOG, "--checkpoint", "10").code == 0


def test_a_damaged_recipe_is_named(mistake, copied):
    (copied / "recipe.yaml").write_text("task: [")
    assert mistake("translate", copied, DOG).startswith(f"{copied / 'recipe.yaml'}: damaged")


@pytest.mark.parametrize("vocab_size", [300, 500])
def test_another_tokenizer_is_noticed_even_if_it_has_the_same_size(
    mistake, copied, tiny_run, vocab_size
):
    lines = [pair.target for pair in corpus.draw("train", 300, seed=99)]
    other = SubwordTokenizer.train(lines, TokenizerConfig(vocab_size=vocab_size))
    assert len(other) == vocab_size
    other.save(copied / "tokenizer.json")
    line = mistake("translate", copied, DOG)
    assert line.startswith(f"{copied / 'tokenizer.json'}: is not the one this run was trained with")


def test_a_missing_tokenizer_is_named(mistake, copied):
    (copied / "tokenizer.json").unlink()
    assert mistake("translate", copied, DOG).startswith(f"{copied / 'tokenizer.json'}: is missing")


def test_a_sentence_too_long_is_named_and_the_others_are_translated(command, tiny_run, said, stdin):
    told = r"sentence 2 has 8\d tokens, but the model takes at most 63: split it, as `landmark tr"
    typed = command("translate", tiny_run, DOG, LONG, CAT)
    assert (typed.code, typed.lines) == (2, said(DOG, CAT))
    assert re.search(f"^landmark: {told}", typed.err, re.MULTILINE)
    stdin(f"{DOG}\n{LONG}\n{CAT}\n")
    piped = command("translate", tiny_run)
    assert (piped.code, piped.lines) == (0, [*said(DOG), "", *said(CAT)])
    assert re.search(r"^warning: stdin:2: the sentence has 8.*: skipped$", piped.err, re.MULTILINE)


def test_strict_stops_at_the_first_sentence_at_fault(command, tiny_run, said, stdin):
    for bad in (LONG.encode(), b"Stra\xdfe"):
        stdin(f"{DOG}\n".encode() + bad + f"\n{CAT}\n".encode())
        answer = command("translate", tiny_run, "--strict")
        assert (answer.code, answer.lines) == (2, said(DOG))
        assert "landmark: stdin:2: " in answer.err


def test_a_file_with_a_sentence_too_long_is_whole_but_for_that(command, tiny_run, tmp_path):
    path, target = tmp_path / "in.txt", tmp_path / "out.txt"
    path.write_text(f"{DOG}\n" * 1003 + LONG + f"\n{DOG}\n")
    words = ["translate", tiny_run, "--file", path, "--output", target, "--beam", "1"]
    answer = command(*words)
    assert answer.code == 0
    assert f"warning: {path}:1004: the sentence has 8" in answer.err
    lines = target.read_text().split("\n")
    assert len(lines) == 1006
    assert lines[1003] == ""
    assert lines[1002] == lines[1004] != ""
    path.write_text(f"{DOG}\n{LONG}\n")
    assert command(*words, "--document").code == 0
    assert len(target.read_text().splitlines()) == 2


def test_a_sentence_that_just_fits_is_translated(command, tiny_run):
    tokenizer = SubwordTokenizer.load(tiny_run / "tokenizer.json")
    text = "the" + " the" * 62
    assert len(tokenizer.encode([text])[0]) == 63
    assert command("translate", tiny_run, text).code == 0


def test_invalid_utf8_is_named_with_its_line(command, mistake, tiny_run, said, tmp_path, stdin):
    content = f"{DOG}\n\n".encode() + b"Stra\xdfe\n" + f"{CAT}\n".encode()
    path = tmp_path / "in.txt"
    path.write_bytes(content)
    stdin(content)
    for words, name in (([], "stdin"), (["--file", path], path)):
        answer = command("translate", tiny_run, *words)
        assert (answer.code, answer.lines) == (0, [*said(DOG), "", "", *said(CAT)])
        assert f"warning: {name}:3: not valid UTF-8: skipped\n" in answer.err
    argument = b"Stra\xdfe".decode("utf-8", "surrogateescape")  # as Python passes it on
    assert mistake("translate", tiny_run, argument) == "sentence 1 is not valid UTF-8"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([DOG, "--file", "x"], "not both"),
        (["--file", "missing.txt"], "missing.txt: there is no such file"),
        ([DOG, CAT, "--attention", "a.png"], "--attention is of one input: give exactly one"),
        (["--attention", "a.png"], "--attention is of one input: give exactly one"),
        ([DOG, "--device", "quark"], "device 'quark' is not usable here"),
        ([DOG, "--n-best", "0"], "--n-best"),
        ([DOG, "--sample", "--top-p", "0"], "--top-p"),
        ([DOG, "--sample", "--temperature", "0"], "--temperature"),
        ([DOG, "--sample", "--beam", "3"], "--sample or --beam"),
        ([DOG, "--seed", "3"], "go with --sample"),
        ([DOG, "--top-k", "3"], "go with --sample"),
        ([DOG, "--beam", "1", "--length-penalty", "1"], "--beam 1 keeps only one"),
        ([DOG, "--sample", "--length-penalty", "1"], "nothing is ranked"),
    ],
)
def test_options_that_make_no_sense_are_refused(mistake, tiny_run, options, expected):
    assert expected in mistake("translate", tiny_run, *options)


@pytest.mark.parametrize("name", ["no/folder/a.png", "a.xyz"])
def test_a_figure_that_cannot_be_written_says_why(mistake, tiny_run, tmp_path, name):
    path = tmp_path / name
    line = mistake("translate", tiny_run, DOG, "--attention", path)
    assert "there is no folder" in line or "cannot be written as 'xyz'" in line
