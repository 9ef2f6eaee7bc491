import pytest
import torch
from torch import nn

from landmark.core.errors import UserError
from landmark.probes.image.kernel import kernels, principal_kernels


def test_the_first_convolution_is_shown_unless_another_is_named():
    network = nn.Sequential(nn.Identity(), nn.Conv2d(3, 4, 5), nn.Conv2d(4, 2, 3))
    name, weights = kernels(network)
    assert name == "1"
    assert torch.equal(weights, network[1].weight)
    assert kernels(network, "2")[1].shape == (2, 4, 3, 3)


def test_a_convolution_that_is_not_there_is_a_mistake():
    with pytest.raises(UserError, match="no convolution to show"):
        kernels(nn.Linear(2, 2))
    with pytest.raises(UserError, match="no convolution 'head'"):
        kernels(nn.Sequential(nn.Conv2d(1, 1, 1)), "head")


def test_components_are_the_directions_kernels_were_made_of():
    """Kernels of two known directions, one used ten times as strongly as the other."""
    first, second = torch.zeros(1, 4, 4), torch.zeros(1, 4, 4)
    first[0, 0], second[0, 2] = 0.5, 0.5  # of length 1, at right angles
    generator = torch.Generator().manual_seed(1)
    amounts = torch.randn(500, 2, generator=generator) * torch.tensor([10.0, 1.0])
    made = amounts[:, 0, None, None, None] * first + amounts[:, 1, None, None, None] * second + 3
    found, shares = principal_kernels(made, 3)
    torch.testing.assert_close(found[0], first, atol=0.02, rtol=0)
    torch.testing.assert_close(found[1], second, atol=0.02, rtol=0)
    assert shares.tolist() == pytest.approx([100 / 101, 1 / 101, 0], abs=0.01)


@pytest.mark.parametrize("count", [0, 3])
def test_there_are_no_more_components_than_kernels(count):
    with pytest.raises(UserError, match="have 1 to 2"):
        principal_kernels(torch.rand(2, 1, 3, 3), count)
