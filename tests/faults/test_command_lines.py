"""Random command lines; 10,000 of them are in benchmarks."""

import subprocess
import sys

import pytest

from benchmarks.faults.command_lines import Case, judge


def test_some_random_command_lines_leave_no_fault():
    words = [sys.executable, "-m", "benchmarks.faults.command_lines", "--cases", "12"]
    result = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.endswith("0 faults\n")


@pytest.mark.parametrize(
    ("words", "code", "said", "told", "outcome"),
    [
        ("list", 0, "", 0.0, "done"),
        ("list", 2, "landmark: no\n", 0.0, "refused"),
        ("train x", 143, "stopped by SIGTERM", 9.0, "stopped"),
        ("list", 143, "landmark: terminated\n", 9.0, "over 20 s"),
        ("list", 1, "landmark: unexpected error: odd\n", 0.0, None),
        ("list", 2, "", 0.0, None),
        ("list", 0, "Traceback (most recent call last):\n", 0.0, None),
        ("list", -11, "", 0.0, None),
        ("train x", -9, "", 9.0, None),
    ],
)
def test_what_counts_as_a_fault(tmp_path, words, code, said, told, outcome):
    (tmp_path / "stderr").write_text(said)
    found = judge(Case(1, words.split(), tmp_path / "here", told=told), code)
    assert (found if outcome else found in ("done", "refused", "stopped")) == (outcome or False)
