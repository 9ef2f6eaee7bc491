import pytest
import torch
from torch import nn

from landmark.core.errors import UserError
from landmark.layers.packing import Packing
from landmark.layers.transformer import EncoderBlock
from landmark.probes.image.saliency import grad_cam, smooth_grad, speaking_layer

IMAGE = torch.randn(1, 3, 9, 9, generator=torch.Generator().manual_seed(2))


def pooled_network():
    torch.manual_seed(1)
    return nn.Sequential(
        nn.Conv2d(3, 6, 3), nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        nn.Linear(6, 4),
    ).eval()  # fmt: skip


def test_with_global_pooling_grad_cam_is_cam():
    """CAM is the maps weighted by the class's row of the dense layer; 49 places share them."""
    network = pooled_network()
    maps = network[1](network[0](IMAGE))[0]
    for target in range(4):
        weights = network[4].weight[target]
        expected = torch.einsum("k,khw->hw", weights, maps).relu() / 49
        found = grad_cam(network, IMAGE, target, "1")
        torch.testing.assert_close(found, expected.detach())


def test_before_an_activation_in_place_the_maps_are_still_their_own():
    network = pooled_network()
    before = network[0](IMAGE).detach().requires_grad_()
    score = network[4](before.relu().mean((2, 3)))[0, 2]
    (slope,) = torch.autograd.grad(score, [before])
    expected = (slope.mean((2, 3), keepdim=True) * before).sum(1)[0].relu()
    torch.testing.assert_close(grad_cam(network, IMAGE, 2, "0"), expected.detach())


def test_frozen_networks_speak_too_and_keep_no_trace():
    network = pooled_network().requires_grad_(False)
    with torch.no_grad():
        found = grad_cam(network, IMAGE, 1, "1")
    assert found.shape == (7, 7)
    assert not network[1]._forward_hooks


class Patches(nn.Module):
    """Packed tokens of 2 x 2 patches with a class token before them, mixed by one product."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(4)
        self.norm = nn.LayerNorm(3)
        self.mix = nn.Parameter(torch.randn(5))
        self.head = nn.Linear(3, 2)

    def forward(self, images):
        patches = nn.functional.avg_pool2d(images, 4)[:, :, :2, :2].flatten(2).transpose(1, 2)
        tokens = torch.cat((torch.ones(len(images), 1, 3), patches), 1)
        states = self.norm(tokens.flatten(0, 1)).view(len(images), 5, 3)
        return self.head(torch.einsum("t,btd->bd", self.mix, states))


def test_patches_of_a_transformer_are_maps():
    network = Patches()
    found = grad_cam(network, IMAGE, 1, "norm")
    patches = nn.functional.avg_pool2d(IMAGE, 4)[:, :, :2, :2].flatten(2).transpose(1, 2)
    states = network.norm(patches)[0]  # (4, 3)
    alpha = network.mix[1:].mean() * network.head.weight[1]
    torch.testing.assert_close(found, (states @ alpha).relu().view(2, 2).detach())


class ReadsTheClassToken(Patches):
    """One block of attention; of its output, only the class token is read."""

    def __init__(self) -> None:
        super().__init__()
        self.block = EncoderBlock(3, 6, 1, 0.0, True)

    def forward(self, images):
        patches = nn.functional.avg_pool2d(images, 4)[:, :, :2, :2].flatten(2).transpose(1, 2)
        tokens = torch.cat((torch.ones(len(images), 1, 3), patches), 1)
        states = self.block(tokens.flatten(0, 1), Packing.full(len(images), 5))
        return self.head(self.norm(states.view(-1, 5, 3))[:, 0])


def test_the_default_layer_is_the_last_that_has_a_say():
    assert speaking_layer(pooled_network(), IMAGE, 1) == "1"  # after it, there is one place
    assert speaking_layer(ReadsTheClassToken(), IMAGE, 1) == "block.around_attention.norm"


def test_a_network_in_which_no_place_has_a_say_is_a_mistake():
    silent = nn.Sequential(nn.Conv2d(3, 2, 3), nn.Flatten(), nn.Linear(98, 2))
    nn.init.zeros_(silent[2].weight)
    with pytest.raises(UserError, match="is the network trained"):
        speaking_layer(silent, IMAGE, 0)


class Score(nn.Module):
    """Two classes: a weight a value, and half the sum of squares."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(3, 9, 9))

    def forward(self, images):
        return torch.stack((images * self.weight, images.square() / 2), 1).sum((2, 3, 4))


def test_of_a_linear_score_each_pixels_largest_weight_is_its_saliency():
    network = Score()
    found = smooth_grad(network, IMAGE, 0)
    torch.testing.assert_close(found, network.weight.detach().abs().amax(0))
    assert network.weight.grad is None


def test_gradients_are_averaged_around_the_image():
    """Of half the square, the gradient is the pixel itself: what stays is the mean noise."""
    plain = smooth_grad(Score(), IMAGE, 1, noise=0.0)
    torch.testing.assert_close(plain, IMAGE[0].abs().amax(0))
    for samples in (4, 400):
        away = (smooth_grad(Score(), IMAGE, 1, samples, 0.1) - plain).square().mean().sqrt()
        expected = 0.1 * (IMAGE.max() - IMAGE.min()) / samples**0.5
        assert 0.6 < away / expected < 1.4
