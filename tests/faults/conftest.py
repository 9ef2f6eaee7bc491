"""What the tests of faults share: an undisturbed run to compare with, and one that is half done."""

import pytest

from benchmarks.faults.kill import train_half, train_undisturbed
from benchmarks.faults.storage import train_to_step_4


@pytest.fixture(scope="session")
def compiler(needs_program):
    """The interposer is compiled at first use."""
    needs_program("cc", "gcc")


@pytest.fixture(scope="session")
def whole(compiler, tmp_path_factory):
    """The run that all disturbed ones must equal; tests read it and copy it."""
    return train_undisturbed(tmp_path_factory.mktemp("faults") / "whole")


@pytest.fixture(scope="session")
def half_saved(whole, tmp_path_factory):
    """A run killed in the middle of saving step 6; tests copy it."""
    return train_half(tmp_path_factory.mktemp("faults") / "half", whole)


@pytest.fixture(scope="session")
def at_step_4(whole, tmp_path_factory):
    """A run killed before it saved step 6; tests copy it."""
    return train_to_step_4(tmp_path_factory.mktemp("faults") / "four", whole)
