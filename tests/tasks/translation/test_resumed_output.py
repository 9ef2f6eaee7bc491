"""`landmark translate --file --output`: a stream that an interruption does not cost."""

import itertools
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

import landmark
from landmark.cli import inputs
from landmark.cli.outputs import Printer, ResumableFile
from landmark.data.embedded import corpus
from landmark.tasks.card import Remark, answer
from landmark.tasks.training import train
from landmark.tasks.translation import verbs
from landmark.tasks.translation.pipeline import TranslationPipeline

SENTENCES = [pair.source for pair in corpus.draw("train", 60)][:24]


@pytest.fixture
def lines(tmp_path):
    """A file of sentences with empty lines among them."""
    path = tmp_path / "in.txt"
    texts = [*SENTENCES[:10], "", *SENTENCES[10:], ""]
    path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    return path, texts


BLOCK = 5


@pytest.fixture
def small_blocks(monkeypatch):
    """Read five lines at a time."""
    whole = inputs._lines_of
    monkeypatch.setattr(inputs, "_lines_of", lambda path, block, skip: whole(path, BLOCK, skip))


@pytest.fixture
def interrupted(monkeypatch):
    """Stop the work in the n-th block, as Ctrl-C would."""

    def stop(before: int) -> None:
        def interruptible(blocks, function):
            calls = []

            def count(block):
                calls.append(block)
                if len(calls) == before:
                    raise KeyboardInterrupt
                return function(block)

            return answer(blocks, count)

        monkeypatch.setattr(verbs, "answer", interruptible)

    return stop


def test_a_file_is_translated_in_order_into_another(command, tiny_run, lines, small_blocks):
    path, texts = lines
    target = path.with_name("out.txt")
    answer = command("translate", tiny_run, "--file", path, "--output", target)
    assert answer.code == 0
    assert answer.out == ""
    expected = [result.text for result in landmark.load(tiny_run).translate(texts)]
    assert target.read_text(encoding="utf-8").split("\n") == [*expected, ""]
    assert sorted(p.name for p in path.parent.iterdir()) == ["in.txt", "out.txt"]


@pytest.mark.parametrize("options", [[], ["--beam", 1], ["--document"]])
def test_an_interruption_costs_nothing_that_was_written(
    command, tiny_run, lines, small_blocks, interrupted, monkeypatch, options
):
    path, _ = lines
    words = ["translate", tiny_run, "--file", path, *options, "--output"]
    whole, target = path.with_name("whole.txt"), path.with_name("out.txt")
    assert command(*words, whole).code == 0
    with monkeypatch.context():
        interrupted(3)
        answer = command(*words, target)
        assert answer.code == 130
        assert "continue with the same command and --resume" in answer.err
        monkeypatch.undo()
    partial = path.with_name(".out.txt.partial")
    assert not target.exists()
    assert whole.read_bytes().startswith(partial.read_bytes())
    with partial.open("ab") as file:
        file.write(b"half a sen")  # as a kill would leave it
    assert "was interrupted: continue with --resume" in command(*words, target).err
    assert command(*words, target, "--resume").code == 0
    assert target.read_bytes() == whole.read_bytes()
    assert not partial.exists()


def test_draws_of_running_text_go_on_as_if_nothing_had_happened(
    command, tiny_run, tmp_path, small_blocks, interrupted, monkeypatch
):
    path = tmp_path / "in.txt"
    path.write_text("".join(f"{a} {b}\n" for a, b in itertools.pairwise(SENTENCES)))
    words = ["translate", tiny_run, "--file", path, "--document", "--sample", "--output"]
    whole, target = path.with_name("whole.txt"), path.with_name("out.txt")
    assert command(*words, whole).code == 0
    interrupted(3)
    assert command(*words, target).code == 130
    monkeypatch.undo()
    partial = path.with_name(".out.txt.partial")
    partial.write_bytes(b"".join(partial.read_bytes().splitlines(keepends=True)[:7]) + b"half a")
    assert command(*words, target, "--resume").code == 0
    assert target.read_bytes() == whole.read_bytes()


class Line(str):
    """A line that is counted as long as it lives."""

    alive = most = 0

    def __init__(self, _: str) -> None:
        Line.alive += 1
        Line.most = max(Line.most, Line.alive)

    def __del__(self) -> None:
        Line.alive -= 1


def test_a_file_of_any_length_takes_the_same_memory(
    command, tiny_run, tmp_path, monkeypatch, small_blocks
):
    path, target = tmp_path / "in.txt", tmp_path / "out.txt"
    texts = [f"line {number}" for number in range(2000)]
    path.write_text("".join(f"{text}\n" for text in texts))
    entry = inputs._entry

    def counted(*given):
        item = entry(*given)
        return item._replace(value=Line(item.value))

    def translate(pipeline, sentences, *options):
        return [Remark(sentence.text) for sentence in sentences]

    monkeypatch.setattr(inputs, "_entry", counted)
    monkeypatch.setattr(TranslationPipeline, "translate_sentences", translate)
    monkeypatch.setattr(
        Printer, "show", lambda printer, record: print(record.text, file=printer.target)
    )
    assert command("translate", tiny_run, "--file", path, "--output", target).code == 0
    assert target.read_text().split("\n") == [*texts, ""]
    assert 0 < Line.most <= 3 * BLOCK
    assert Line.alive == 0


def test_a_killed_process_goes_on_at_its_line(tiny_run, tmp_path, landmark_command):
    """A real kill -9 in the middle of a file."""
    source, target = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_text("".join(f"{text}\n" for text in SENTENCES * 100), encoding="utf-8")
    words = ["translate", tiny_run, "--file", source, "--output", target, "--beam", 1]
    process = subprocess.Popen(
        [sys.executable, "-m", "landmark", *map(str, words)], stderr=subprocess.PIPE
    )
    partial = tmp_path / ".out.txt.partial"
    patience = time.monotonic() + 60
    while not (partial.exists() and partial.stat().st_size) and time.monotonic() < patience:
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    written = partial.read_bytes().count(b"\n")
    assert 0 < written < len(SENTENCES) * 100
    assert landmark_command(*words, "--resume").returncode == 0
    lines = target.read_text(encoding="utf-8").split("\n")
    assert len(lines) == len(SENTENCES) * 100 + 1
    assert lines[:24] == lines[-25:-1]


@pytest.mark.parametrize(
    ("changed", "message"),
    [(["--beam", 1], "was started with options"), (["--json"], "was started with json")],
)
def test_a_stream_goes_on_only_as_it_began(
    command, mistake, tiny_run, lines, small_blocks, interrupted, monkeypatch, changed, message
):
    path, _ = lines
    words = ["translate", tiny_run, "--file", path, "--output", path.with_name("out.txt")]
    interrupted(2)
    assert command(*words).code == 130
    monkeypatch.undo()
    assert message in mistake(*words, "--resume", *changed)
    path.write_text("another\n", encoding="utf-8")
    assert "was started with file" in mistake(*words, "--resume")


def test_a_stream_does_not_go_on_with_weights_that_have_changed(
    command, mistake, tiny, tiny_run, lines, small_blocks, interrupted, monkeypatch, tmp_path
):
    path, _ = lines
    other = tmp_path / "other"
    shutil.copytree(tiny_run, other)
    ensemble = ["--ensemble", other, "--file", path, "--output", path.with_name("out.txt")]
    interrupted(2)
    assert command("translate", tiny_run, *ensemble).code == 130
    monkeypatch.undo()
    train("transformer-embedded", other, [*tiny, "trainer.max_steps=13"], resume="auto")
    assert "was started with weights" in mistake("translate", tiny_run, *ensemble, "--resume")


def test_a_pipe_is_refused_as_a_file(mistake, tiny_run, tmp_path):
    """It could be read once only: to count its lines, and not to translate them."""
    os.mkfifo(tmp_path / "pipe")
    words = ["translate", tiny_run, "--file", tmp_path / "pipe", "--output", tmp_path / "out"]
    assert "pipe: is not a file: pipe it to standard input instead" in mistake(*words)
    assert not (tmp_path / "out").exists()


def test_resume_without_a_beginning_is_refused(mistake, tiny_run, lines):
    path, _ = lines
    words = ["translate", tiny_run, "--file", path]
    assert "nothing to resume" in mistake(*words, "--output", path.parent / "o", "--resume")
    assert "--resume needs --output" in mistake(*words, "--resume")
    assert "--output needs --file" in mistake("translate", tiny_run, "Hello", "--output", "o")


def test_an_item_of_several_lines_is_kept_whole(tmp_path):
    path = tmp_path / "out"
    begun = ResumableFile(path, {"a": 1}, False)
    begun.file.write("1 best\n1 second\n")
    begun.mark(1)
    begun.file.write("2 best\n")
    begun.__exit__(KeyboardInterrupt, None, None)
    with ResumableFile(path, {"a": 1}, True) as file:
        assert file.done == 1
        file.file.write("2 best\n2 second\n")
        file.mark(2)
    assert path.read_text() == "1 best\n1 second\n2 best\n2 second\n"
    assert list(tmp_path.iterdir()) == [path]


def test_n_best_lists_and_skipped_lines_go_on_where_they_were(
    command, tiny_run, tmp_path, small_blocks, interrupted, monkeypatch
):
    path = tmp_path / "in.txt"
    texts = [*SENTENCES[:6], "the " * 80, "", *SENTENCES[6:12]]
    path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    words = ["translate", tiny_run, "--file", path, "--n-best", 3, "--output"]
    whole, target = tmp_path / "whole.txt", tmp_path / "out.txt"
    assert command(*words, whole).code == 0
    with monkeypatch.context():
        interrupted(4)
        assert command(*words, target).code == 130
        monkeypatch.undo()
    assert command(*words, target, "--resume").code == 0
    assert target.read_bytes() == whole.read_bytes()
