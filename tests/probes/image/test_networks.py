"""The probes on every kind of network that we have in small."""

import pytest
import torch

from landmark.models.convolutional import alexnet, highway, lenet, nin, resnet
from landmark.models.transformer.vit import ViTConfig
from landmark.models.vision import build_network
from landmark.probes.image.kernel import kernels
from landmark.probes.image.layer import feature_maps, list_layers
from landmark.probes.image.receptive import receptive_fields
from landmark.probes.image.saliency import grad_cam, speaking_layer

_SMALL_VIT = {
    "classes": 10, "channels": 1, "image_size": 16, "patch_size": 4, "hidden_size": 16,
    "num_heads": 2, "num_layers": 2,
}  # fmt: skip
CONFIGS = {
    "lenet5-1998": lenet.VARIANTS["lenet5-1998"],
    "lenet5": lenet.VARIANTS["lenet5"],
    "alexnet": alexnet.AlexNetConfig(
        classes=10, image_size=67, widths=(8, 8, 8, 8, 8), dense_width=16
    ),
    "nin": nin.VARIANTS["nin-cifar10"],
    "resnet": resnet.VARIANTS["resnet-cifar-20"],
    "highway": highway.VARIANTS["highway-11"],
    "vit, class token": ViTConfig(**_SMALL_VIT),
    "vit, mean": ViTConfig(**_SMALL_VIT, pool="mean"),
}
# Where Grad-CAM looks by itself, and how many places there are a side; AlexNet pools to one.
LAST = {
    "lenet5-1998": ("s4", 5), "lenet5": ("s4", 5), "alexnet": ("blocks.4.activation", 3),
    "nin": ("output.convolution", 8), "resnet": ("body", 8), "highway": ("blocks.2", 8),
    "vit, class token": ("blocks.1.around_attention.norm", 4), "vit, mean": ("norm", 4),
}  # fmt: skip


@pytest.fixture(params=CONFIGS)
def case(request):
    config = CONFIGS[request.param]
    torch.manual_seed(1)
    network = build_network(config).eval()
    for name, parameter in network.named_parameters():
        if name.startswith("classifier"):  # a ViT's begins with zeros, and says nothing
            torch.nn.init.normal_(parameter)
    image = torch.randn(1, config.channels, config.image_size, config.image_size)
    return request.param, network, image


def test_every_layer_with_places_gives_its_maps(case):
    _, network, image = case
    layers = list_layers(network, image)
    assert layers
    for layer in layers:
        maps = feature_maps(network, image, layer.name)
        assert maps.shape == (1, layer.channels, layer.height, layer.width)


def test_grad_cam_finds_the_last_layer_that_has_a_say(case):
    name, network, image = case
    with torch.no_grad():
        target = int(network(image).argmax())
    layer = speaking_layer(network, image, target)
    heat = grad_cam(network, image, target, layer)
    assert heat.shape[0] == heat.shape[1]
    assert heat.isfinite().all()
    assert (layer, len(heat)) == LAST[name]


def test_kernels_and_fields_are_found(case):
    _, network, image = case
    _, weights = kernels(network)
    assert weights.shape[1] == image.shape[1]
    fields = receptive_fields(network, tuple(image.shape[1:]))
    assert fields[0].field.height.size == weights.shape[2]
