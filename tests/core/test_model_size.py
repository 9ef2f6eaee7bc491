"""A model that the machine cannot hold is refused before its memory is taken."""

import re
import resource

import pytest
import torch
from torch import nn

from landmark.core.errors import UserError
from landmark.core.model_size import SizeLimit, machine_memory


def test_a_model_that_fits_is_built_as_ever():
    with SizeLimit("the model"):
        layer = nn.Linear(3, 4)
    assert layer.weight.shape == (4, 3)
    assert layer.weight.device.type == "cpu"


@pytest.mark.parametrize("width", [10**6, 10**9])
def test_one_that_does_not_fit_is_refused_with_what_it_needs(width):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    words = r"^the model needs .* of memory, and this machine has"
    with pytest.raises(UserError, match=words), SizeLimit("the model"):
        nn.Sequential(nn.Linear(width, width), nn.Linear(width, width))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000


def test_all_of_it_is_counted_as_often_as_it_is_needed():
    with pytest.raises(UserError) as caught, SizeLimit("it", copies=2):
        [nn.Embedding(10**6, 10**6) for _ in range(3)]
    assert "it needs 24,000.0 GB" in str(caught.value)


def test_without_numbers_any_size_may_be_built_unless_asked_to_count():
    with SizeLimit("it"), torch.device("meta"):
        nn.Linear(10**6, 10**6)
    limit = SizeLimit("it", counts_meta=True)
    with pytest.raises(UserError, match=r"4,000\.0 GB"), limit, torch.device("meta"):
        nn.Linear(10**6, 10**6)


def test_endless_depth_is_refused():
    with pytest.raises(UserError, match="more than 20,000 tensors"), SizeLimit("it"):
        [nn.Linear(1, 1) for _ in range(10**9)]


def test_other_errors_stay_what_they_are():
    with pytest.raises(KeyError), SizeLimit("it"):
        raise KeyError
    assert machine_memory() > 1 << 28


def test_the_message_is_one_line():
    with pytest.raises(UserError) as caught, SizeLimit("it"):
        torch.zeros(10**10, 10**10)
    assert re.fullmatch(r"it needs [^\n]+: make it smaller", str(caught.value))
