import pytest
import torch
from torch import nn

from landmark.core.errors import UserError
from landmark.models.convolutional.resnet9 import ResNet9, ResNet9Config


def reference(config: ResNet9Config) -> nn.Module:
    """The original's order, norm before rectifier before pooling, from torch's own modules."""

    class Added(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.inner = nn.Sequential(*unit(width, width), *unit(width, width))

        def forward(self, x):
            return x + self.inner(x)

    def unit(inputs, outputs):
        convolution = nn.Conv2d(inputs, outputs, 3, padding=1, bias=False)
        return [convolution, nn.BatchNorm2d(outputs), nn.ReLU()]

    width = config.width
    layers = unit(config.channels, width)
    for blocks in config.blocks:
        layers += [*unit(width, 2 * width), nn.MaxPool2d(2)]
        layers += [Added(2 * width) for _ in range(blocks)]
        width *= 2
    return nn.Sequential(
        *layers, nn.AdaptiveMaxPool2d(1), nn.Flatten(), nn.Linear(width, config.classes)
    )


def test_it_is_the_original_network_though_it_pools_before_the_norm():
    torch.manual_seed(0)
    config = ResNet9Config(width=4)
    ours, its = ResNet9(config).eval(), reference(config).eval()
    for module in ours.modules():
        if isinstance(module, nn.BatchNorm2d):  # where scales are positive, the orders agree
            nn.init.uniform_(module.weight, 0.5, 1.5)
            nn.init.normal_(module.running_mean)
            nn.init.uniform_(module.running_var, 0.5, 2)
    values, names = list(ours.state_dict().values()), list(its.state_dict())
    its.load_state_dict(dict(zip(names, values, strict=True)))
    images = torch.randn(3, 3, 32, 32)
    torch.testing.assert_close(ours(images), its(images) / 8, rtol=1e-4, atol=1e-5)


def test_the_original_has_the_parameters_that_its_layers_have():
    with torch.device("meta"):
        count = sum(p.numel() for p in ResNet9(ResNet9Config()).parameters())
    pairs = [(3, 64), (64, 128), (128, 128), (128, 128), (128, 256), (256, 512)]
    pairs += [(512, 512), (512, 512)]
    assert count == sum(9 * a * b + 2 * b for a, b in pairs) + 512 * 10 + 10


@pytest.mark.parametrize("stem", ["cifar", "imagenet"])
def test_the_smallest_image_comes_through_and_a_smaller_one_is_refused(stem):
    config = ResNet9Config(width=2, stem=stem, channels=1)
    side = ResNet9.smallest(config)
    assert ResNet9(config)(torch.randn(2, 1, side, side)).shape == (2, 10)
    with pytest.raises(UserError, match=f"at least {side} pixels"):
        ResNet9(ResNet9Config(width=2, stem=stem, image_size=side - 1))


def test_stages_and_head_are_all_there_is():
    network = ResNet9(ResNet9Config(width=2, blocks=(1, 0)))
    parts = [*network.stages(), network.get_submodule(network.head)]
    counted = sum(p.numel() for part in parts for p in part.parameters())
    assert counted == sum(p.numel() for p in network.parameters())
