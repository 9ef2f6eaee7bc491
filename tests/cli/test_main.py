import os
import re
import subprocess
import sys

import pytest
import typer

import landmark
from landmark.cli import main
from landmark.core.errors import UserError


def test_the_bare_command_and_help_name_every_command(command):
    bare, asked = command(), command("--help")
    assert bare == asked
    assert bare.code == 0
    assert bare.err == ""
    for name in (
        "list", "show", "recipe", "train", "race", "evaluate", "translate", "generate", "score",
        "align", "export", "average", "figure", "runs", "data", "doctor",
    ):  # fmt: skip
        assert re.search(rf"^  {name} ", bare.out, re.MULTILINE), name


def test_every_command_explains_its_options(command):
    answer = command("translate", "--help")
    assert answer.code == 0
    for option in ("--file", "--beam", "--n-best", "--json", "--attention", "--checkpoint"):
        assert option in answer.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["trian"], "unknown command 'trian': did you mean train?"),
        (["translate"], "translate needs RUN, the run directory: landmark translate"),
        (["list", "--jsn"], "No such option: --jsn"),
        (["show", "transformer-base", "too", "many"], "too many"),
        (["translate", "run", "--beam", "many"], "--beam"),
        (["average", "run", "--last", "0"], "--last"),
    ],
)
def test_a_wrong_command_line_gets_one_line(mistake, words, said):
    assert said in mistake(*words)


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (UserError("one\ntwo"), 2, "landmark: one two\n"),
        (FileNotFoundError(2, "No such file", "there"), 2, "landmark: there: No such file\n"),
        (OSError(28, "No space left on device"), 2, "landmark: No space left on device\n"),
        (
            RuntimeError("Symlink loop from 'x'"),
            2,
            "landmark: Symlink loop from 'x': a link that leads to itself is no file or folder\n",
        ),
        (KeyboardInterrupt(), 130, "landmark: interrupted\n"),
        (typer.Abort(), 130, "landmark: interrupted\n"),
        (typer.Exit(3), 3, ""),
    ],
)
def test_each_way_to_end_has_its_exit_code(monkeypatch, capsys, error, code, said):
    def fail() -> None:
        raise error

    app = typer.Typer()
    app.command("fail")(fail)
    app.command("pass")(lambda: None)
    monkeypatch.setattr(main, "_command", lambda tasks: typer.main.get_command(app))
    assert main.run(["fail"]) == code
    assert capsys.readouterr() == ("", said)
    assert main.run(["pass"]) == 0


class PanicException(BaseException):
    """What pyo3 raises where Rust panics: no Exception."""


@pytest.mark.parametrize("error", [ZeroDivisionError("odd"), PanicException()])
def test_an_unexpected_error_is_one_line_and_1(monkeypatch, capsys, tmp_path, error):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def fail(arguments: list[str]) -> int:
        raise error

    monkeypatch.setattr(main, "_invoke", fail)
    assert main.run(["list"]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert said.err.startswith("landmark: ")
    assert type(error).__name__ in said.err


def test_a_damaged_installation_is_one_line(tmp_path):
    """As where a dependency is missing: typer, here."""
    (tmp_path / "typer.py").write_text("raise ModuleNotFoundError('no typer here')")
    path = os.pathsep.join([str(tmp_path), *sys.path])
    result = subprocess.run(
        [sys.executable, "-m", "landmark", "list"],
        capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.startswith(
        "landmark: unexpected error: ModuleNotFoundError: no typer here"
    )
    assert result.stderr.count("\n") == 1


def test_resume_may_stand_alone():
    complete = main.complete_resume
    assert complete(["train", "x", "--resume"]) == ["train", "x", "--resume", "auto"]
    assert complete(["train", "--resume", "x"]) == ["train", "--resume", "auto", "x"]
    assert complete(["train", "x", "--resume", "--run", "r"])[-3:] == ["auto", "--run", "r"]
    for name in ("auto", "latest", "best", "averaged", "400", "step-000400"):
        assert complete(["train", "x", "--resume", name]) == ["train", "x", "--resume", name]


def test_a_sentence_is_never_taken_for_an_option_of_train():
    words = ["translate", "run", "--", "--resume"]
    assert main.complete_resume(words) == words


def test_a_real_process_ends_with_the_code_and_one_line(landmark_command):
    bad = landmark_command("train", "translation", "--target", "own.de")
    assert (bad.returncode, bad.stdout) == (2, "")
    assert bad.stderr.startswith("landmark: own data needs --source")
    assert bad.stderr.count("\n") == 1


@pytest.mark.parametrize(("word", "code"), [("--version", 0), ("--versoin", 2)])
def test_a_process_of_torchruns_ends_without_pythons_shutdown(word, code):
    """Threads of torch's may abort it there, with all work done."""
    program = "import atexit, sys; from landmark.cli.main import main; "
    program += f"atexit.register(print, 'shut down'); main(['{word}'])"
    for group, shut_down in (({}, True), ({"TORCHELASTIC_RUN_ID": "none"}, False)):
        environment = {**os.environ, **group}
        words = [sys.executable, "-c", program]
        result = subprocess.run(words, capture_output=True, text=True, env=environment)  # noqa: PLW1510
        assert result.returncode == code
        assert "landmark" in result.stdout + result.stderr
        assert ("shut down" in result.stdout) == shut_down


def test_output_is_utf8_whatever_the_locale(landmark_command):
    foreign = {**os.environ, "PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
    answer = landmark_command("recipe", "transformer-embedded", env=foreign)
    assert answer.returncode == 0
    assert "cpu, cuda, …" in answer.stdout


def test_a_reader_that_leaves_is_no_error(buffered):
    # The pipe's reading end is closed before the command has started to write.
    process = subprocess.Popen(
        [sys.executable, "-m", "landmark", "list"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=buffered,
    )
    process.stdout.close()
    error = process.stderr.read().decode()
    assert (process.wait(timeout=60), error) == (0, "")


def test_the_version_is_the_packages(command):
    answer = command("--version")
    assert (answer.code, answer.out) == (0, f"landmark {landmark.__version__}\n")
