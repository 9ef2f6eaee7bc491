"""Two hosts, as namespaces joined by a cable: they train as one, and come through its cutting."""

import pytest

from benchmarks.faults.hosts import PROGRAMS, TIMEOUT, between_hosts, refusal

STEPS = 50


@pytest.fixture(scope="module")
def story(needs_program, tmp_path_factory):
    """A training over two hosts whose cable is cut and mended, and what came of it.

    The command `python -m benchmarks.faults.hosts` also compares it with one left undisturbed.
    """
    for program, package in PROGRAMS.items():
        needs_program(program, package)
    if reason := refusal():
        pytest.skip(f"this machine allows no network namespaces: {reason}")
    return between_hosts(tmp_path_factory.mktemp("hosts"), STEPS, undisturbed=False)


@pytest.mark.parametrize("host", [0, 1])
def test_a_cut_cable_ends_both_ends_in_one_clear_line(story, host):
    end = story["ends"][host]
    assert TIMEOUT - 1 < end["seconds"] < TIMEOUT + 25
    (line,) = end["said"]
    assert f"process {host} of 2: another process has not answered for {TIMEOUT} seconds" in line
    assert not end["frames"]


def test_with_the_cable_mended_they_go_on_and_have_trained_as_one_process(story):
    assert 0 < story["resumed_from"] < STEPS
    (apart,) = story["from_one_process"]
    assert apart < 1e-5
