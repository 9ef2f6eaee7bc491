"""DCGAN's networks beside torch's own layers in a row, at many sizes."""

import pytest
import torch
from torch import nn

from benchmarks.gan_images.plain import (
    copy_discriminator,
    copy_generator,
    plain_discriminator,
    plain_generator,
)
from landmark.core.configuration import Provenance, build
from landmark.core.errors import UserError
from landmark.models.adversarial.dcgan import DcganConfig, DcganDiscriminator, DcganGenerator

SIZES = [16, 28, 50, 64, 128, (112, 92), (48, 33)]


def count(module):
    return sum(parameter.numel() for parameter in module.parameters())


@pytest.mark.parametrize(
    ("width", "generator", "discriminator"),
    [(64, 3_576_704, 2_765_568), (128, 12_658_432, 11_036_160)],
)
def test_published_counts(width, generator, discriminator):
    config = DcganConfig(width=width)
    with torch.device("meta"):
        assert count(DcganGenerator(config, 100)) == generator
        assert count(DcganDiscriminator(config)) == discriminator


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("channels", [1, 3])
def test_both_players_are_torchs_layers_in_a_row(size, channels):
    torch.manual_seed(1)
    config = DcganConfig(image_size=size, channels=channels, width=4)
    ours, plain = DcganGenerator(config, 7), plain_generator(config, 7)
    copy_generator(ours, plain)
    noise = torch.randn(5, 7)
    made, expected = ours(noise), plain(noise[:, :, None, None])
    assert made.shape == (5, channels, *config.shape)
    torch.testing.assert_close(made, expected, atol=1e-5, rtol=1e-4)
    judge, other = DcganDiscriminator(config), plain_discriminator(config)
    copy_discriminator(judge, other)
    torch.testing.assert_close(judge(made), other(expected).flatten(1), atol=1e-4, rtol=1e-4)


def test_gradients_are_torchs_too():
    torch.manual_seed(2)
    config = DcganConfig(image_size=20, channels=1, width=4)
    ours, plain = DcganDiscriminator(config), plain_discriminator(config)
    copy_discriminator(ours, plain)
    images = torch.randn(6, 1, 20, 20)
    ours(images).square().sum().backward()
    plain(images).square().sum().backward()
    convolutions = [layer for layer in plain if isinstance(layer, nn.Conv2d)][:-1]
    for mine, theirs in zip(ours.reduce, convolutions, strict=True):
        torch.testing.assert_close(mine.weight.grad, theirs.weight.grad, atol=1e-5, rtol=1e-3)


def test_spectral_normalisation_bounds_every_layer():
    torch.manual_seed(3)
    config = DcganConfig(image_size=16, width=4, discriminator_norm="spectral")
    judge = DcganDiscriminator(config)
    for _ in range(50):  # power iteration, one step a forward pass
        judge(torch.randn(4, 3, 16, 16))
    judge.eval()
    for layer in (*judge.reduce, judge.judge):
        largest = torch.linalg.matrix_norm(layer.weight.flatten(1), 2)
        assert largest.item() == pytest.approx(1.0, abs=0.02)


def test_features_are_all_maps_pooled_to_a_grid():
    config = DcganConfig(image_size=64, width=8)
    judge = DcganDiscriminator(config).eval()
    images = torch.randn(2, 3, 64, 64)
    found = judge.features(images)
    assert found.shape == (2, 16 * (8 + 16 + 32 + 64))
    stages = judge.stages(images)
    pooled = nn.functional.max_pool2d(stages[0], 8).flatten(1)
    torch.testing.assert_close(found[:, : pooled.shape[1]], pooled)


def test_weights_begin_as_in_the_paper():
    torch.manual_seed(4)
    generator = DcganGenerator(DcganConfig(), 100)
    assert generator.project.weight.std().item() == pytest.approx(0.02, rel=0.02)
    assert generator.norms[0].weight.mean().item() == pytest.approx(1.0, abs=0.01)


def test_a_packed_discriminator_takes_several_images_at_once():
    judge = DcganDiscriminator(DcganConfig(image_size=16, channels=3, width=4), pack=2)
    assert judge(torch.randn(2, 6, 16, 16)).shape == (2, 1)


def test_an_image_that_is_too_small_is_refused():
    with pytest.raises(UserError, match="at least 8 pixels a side"):
        build(DcganConfig, {"image_size": 7}, Provenance("test"))
