import pytest
import torch
from torch import nn

from landmark.models.convolutional.block import ConvolutionLayer, DenseLayer, run


@torch.no_grad()
@pytest.mark.parametrize("batch_norm", [False, True])
def test_a_convolution_layer_is_torch_s_parts_in_turn(batch_norm):
    torch.manual_seed(1)
    layer = ConvolutionLayer(3, 4, 3, 2, 1, batch_norm).eval()
    x = torch.randn(2, 3, 9, 9)
    parts = dict(layer.named_children())
    assert list(parts) == ["convolution", *(["norm"] if batch_norm else []), "activation"]
    y = nn.functional.conv2d(x, parts["convolution"].weight, parts["convolution"].bias, 2, 1)
    if batch_norm:
        parts["norm"].running_mean.fill_(0.3)
        y = (y - 0.3) / (1 + parts["norm"].eps) ** 0.5
    torch.testing.assert_close(layer(x), y.clamp(min=0))


def test_a_dense_layer_drops_units_in_training_alone():
    torch.manual_seed(1)
    layer = DenseLayer(5, 4000, 0.25, "sigmoid")
    x = torch.randn(1, 5)
    assert 0.2 < (layer(x) == 0).float().mean().item() < 0.3  # sigmoid itself is never 0
    assert not (layer.eval()(x) == 0).any()
    assert [name for name, _ in DenseLayer(2, 2).named_children()] == ["linear", "activation"]


def test_layers_run_one_after_the_other():
    layers = nn.ModuleList([nn.ReLU(), nn.Flatten(0)])
    assert run(layers, torch.tensor([[-1.0, 2.0]])).tolist() == [0.0, 2.0]
