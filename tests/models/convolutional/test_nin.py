import torch
import torch.nn.functional as F

from landmark.models.convolutional.nin import NIN, VARIANTS, NINConfig


def test_maps_halve_as_in_the_authors_program():
    seen = []
    network = NIN(VARIANTS["nin-cifar10"])
    for block in network.blocks:
        block.register_forward_hook(lambda module, inputs, output: seen.append(output.shape[1:]))
    network(torch.zeros(1, 3, 32, 32))
    assert [tuple(shape) for shape in seen] == [(96, 16, 16), (192, 8, 8), (192, 8, 8)]


@torch.no_grad()
def test_a_score_is_the_mean_of_a_class_s_map():
    torch.manual_seed(1)
    network = NIN(NINConfig(classes=10)).eval()
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.05)
    images = torch.randn(2, 3, 32, 32)
    convolutions = [m for m in network.modules() if isinstance(m, torch.nn.Conv2d)]
    x = images
    for index, layer in enumerate(convolutions):
        x = F.conv2d(x, layer.weight, layer.bias, layer.stride, layer.padding).relu()
        if index in (2, 5):  # windows may reach over the edge, where nothing is
            edged = F.pad(x, (0, 1, 0, 1), value=-torch.inf)
            x = F.max_pool2d(edged, 3, 2)
    assert x.shape == (2, 10, 8, 8)
    torch.testing.assert_close(network(images), x.mean((2, 3)))
