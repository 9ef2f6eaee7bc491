"""Errors that nobody expected."""

import re
from pathlib import Path

import pytest

from landmark.core.crash import report_crash


class PanicException(BaseException):
    """What pyo3 raises where Rust panics: no Exception."""


def crash(error: BaseException) -> int:
    try:
        raise error
    except BaseException as caught:
        return report_crash(caught)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.delenv("LANDMARK_DEBUG", raising=False)
    return tmp_path


@pytest.mark.parametrize(
    "error", [ZeroDivisionError("by\nzero"), PanicException("at lib.rs"), RecursionError()]
)
def test_an_error_is_one_line_with_its_traceback_in_a_file(capsys, folder, error):
    assert crash(error) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert said.startswith(f"landmark: unexpected error: {type(error).__name__}")
    assert "`landmark doctor`" in said
    path = Path(re.search(rf"({folder}/landmark-error-\S+\.txt)", said)[1])
    text = path.read_text()
    assert "Traceback" in text
    assert "in crash\n    raise error" in text
    assert path.stat().st_mode & 0o077 == 0


def test_out_of_memory_is_called_so_and_nothing_to_report(capsys, folder):
    torch_says = "DefaultCPUAllocator: can't allocate memory: you tried to allocate 4000 bytes"
    for error in (MemoryError(), RuntimeError(torch_says)):
        assert crash(error) == 2
        assert "out of memory" in capsys.readouterr().err
    assert not list(folder.iterdir())


def test_debugging_prints_the_traceback_and_writes_no_file(capsys, folder, monkeypatch):
    monkeypatch.setenv("LANDMARK_DEBUG", "1")
    crash(ValueError("odd"))
    assert "ValueError: odd\nlandmark: unexpected error" in capsys.readouterr().err
    assert not list(folder.iterdir())


def test_without_a_folder_to_write_to_there_is_still_a_line(capsys, folder, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(folder / "missing"))
    assert crash(ValueError("odd")) == 1
    assert "LANDMARK_DEBUG=1" in capsys.readouterr().err
