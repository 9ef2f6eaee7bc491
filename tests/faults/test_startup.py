"""Signals at random moments of a command's first seconds; the long version is in benchmarks."""

import random
import signal

import pytest

from benchmarks.faults import startup
from benchmarks.faults.startup import attack, judge


@pytest.fixture(scope="module")
def furnished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("startup")
    startup.prepare(folder)
    return folder


def test_every_command_answers_a_signal_with_one_line_or_finishes(furnished):
    names = ["list", "translate", "race"]
    found = attack(12, random.Random().randrange(10**6), names, furnished)
    assert not [fault for tally in found.values() for fault in tally.faults]
    assert sum(tally.outcomes["ended"] for tally in found.values()) > 3


@pytest.mark.parametrize(
    ("code", "said", "fault"),
    [
        (130, "landmark: interrupted\n", False),
        (0, "", False),
        (130, "Traceback (most recent call last):\nKeyboardInterrupt\n", True),
        (130, "", True),
        (143, "landmark: terminated\n", True),
        (-2, "", True),
        (-6, "terminate called\n", True),
        (130, "landmark: interrupted\nlandmark: interrupted\n", True),
        (2, "landmark: numpy cannot be loaded twice\n", True),
    ],
)
def test_what_counts_as_a_fault(code, said, fault):
    outcome = judge(signal.SIGINT, code, said, True)
    assert (outcome not in ("ended", "saved", "finished", "early")) == fault
