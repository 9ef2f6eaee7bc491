"""Control characters of names and texts on a terminal, which is a pseudo-terminal here."""

import os
import pty
import shutil
import subprocess
import sys

import pytest

from landmark.cli.terminal import escaped

NAME = "a\x1b[31mred\x1b]0;title\x07\x9b2J\u202etxt"
SHOWN = r"a\x1b[31mred\x1b]0;title\x07\x9b2J\u202etxt"


def on_terminal(*words: object, out: int | None = None) -> str:
    """What a program writes to a terminal; `out`: where stdout goes instead."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, *map(str, words)],
        stdin=subprocess.DEVNULL,
        stdout=theirs if out is None else out,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "200"},
    )
    os.close(theirs)
    said = b""
    try:
        while piece := os.read(ours, 1 << 16):
            said += piece
    except OSError:  # Linux says so that the other end is closed
        pass
    process.wait(60)
    os.close(ours)
    return said.decode()


def test_all_controls_and_overrides_of_direction_are_shown_and_no_other_sign():
    assert escaped(NAME) == SHOWN
    plain = "tab\tline\nmärchen 日本 🙂 e\u0301 \u00a0 عربي"
    assert escaped(plain) == plain
    for code in (*range(0x20), 0x7F, *range(0x80, 0xA0), *range(0x202A, 0x202F), 0x2066, 0xDCFF):
        shown = chr(code) in "\t\n"
        assert (escaped(chr(code)) == chr(code)) == shown, hex(code)


@pytest.fixture
def evil_runs(tiny_run, tmp_path):
    shutil.copytree(tiny_run, tmp_path / NAME)
    return tmp_path


def test_a_runs_name_is_shown_in_a_table_whose_colours_stay(evil_runs):
    said = on_terminal("-m", "landmark", "runs", "--folder", evil_runs)
    assert SHOWN in said
    assert "\x1b[36m" in said  # the first column's
    assert "\x1b[31m" not in said
    assert "\x9b" not in said
    assert "\u202e" not in said


def test_generated_text_is_shown(pretrained_runs):
    words = ["generate", pretrained_runs["gpt"], "the \x1b[31m\x9b2J", "--length", "3"]
    said = on_terminal("-m", "landmark", *words)
    assert r"the \x1b[31m\x9b2J" in said
    assert "\x1b[31m" not in said


def test_what_is_piped_from_stdout_stays_as_it_is(evil_runs, landmark_command):
    answer = landmark_command("runs", "--folder", evil_runs)
    assert NAME in answer.stdout


def test_errors_are_shown_escaped_even_in_a_pipe(landmark_command):
    answer = landmark_command("translate", f"missing-{NAME}", "text")
    assert (answer.returncode, answer.stdout) == (2, "")
    assert SHOWN in answer.stderr


def test_a_files_name_that_is_no_utf8_is_printed_as_its_bytes(tiny_run, tmp_path):
    shutil.copytree(tiny_run, tmp_path / "run\udcff")
    words = [sys.executable, "-m", "landmark", "runs", "--folder", tmp_path]
    answer = subprocess.run(words, capture_output=True, check=True)
    assert b"run\xff" in answer.stdout


PROGRESS = """
import sys
from landmark.cli.progress import Downloads
from landmark.cli.progress_bar import ProgressBar
from landmark.cli.terminal import escaping
with escaping(), ProgressBar("read", 10) as bar:
    bar.advance(3)
    Downloads(bar.console).report({"kind": "note", "text": "note \\x1b[31mred"})
    print("out \\x1b[31mred \\x1b]8;;http://evil\\x1b\\\\link")
    print("warning \\x1b[31mred", file=sys.stderr)
"""


def test_lines_above_a_progress_bar_are_shown():
    said = on_terminal("-c", PROGRESS)
    assert r"out \x1b[31mred \x1b]8;;http://evil\x1b\link" in said
    assert r"warning \x1b[31mred" in said
    assert r"note \x1b[31mred" in said
    assert "\x1b[31mred" not in said
    assert "3/10" in said


def test_a_progress_bar_leaves_stdout_to_a_file_alone(tmp_path):
    with (tmp_path / "out.txt").open("w") as file:
        said = on_terminal("-c", PROGRESS, out=file.fileno())
    assert (tmp_path / "out.txt").read_text().startswith("out \x1b[31mred")
    assert "out" not in said
    assert "3/10" in said


def test_help_keeps_its_colours():
    assert "\x1b[36m--threads" in on_terminal("-m", "landmark", "translate", "--help")
