"""Networks of torchvision and timm with random weights, and the same as ours."""

import math

import torch

from landmark.interop.image_network import compare, translate
from landmark.models.vision import build_network


def randomise(network, seed=0):
    """Numbers for every tensor: signals keep their size, and no batch norm is a mere identity."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, tensor in network.state_dict().items():
            if name.endswith("running_var") or (name.endswith("weight") and tensor.ndim == 1):
                tensor.uniform_(0.5, 1.5, generator=generator)
            elif tensor.is_floating_point():
                inputs = tensor[0].numel() if tensor.ndim > 1 else 25
                tensor.normal_(0, math.sqrt(1.5 / inputs), generator=generator)
    return network.eval()


def built(build, *args, **settings):
    """A network of theirs without the minutes that fresh weights take, then random ones."""
    with torch.device("meta"):
        network = build(*args, **settings)
    return randomise(network.to_empty(device="cpu"))


def as_ours(config, names, theirs):
    """A network of ours that took up all weights of one of theirs."""
    ours = build_network(config).eval()
    state = theirs.state_dict()
    difference = compare(ours, names(ours), state)
    assert not difference, difference
    ours.load_state_dict(translate(ours, names(ours), state, "theirs"))
    return ours


def assert_same_logits(ours, theirs, size, channels=3):
    images = torch.randn(2, channels, size, size, generator=torch.Generator().manual_seed(1))
    with torch.inference_mode():
        expected, found = theirs(images), ours(images)
    assert expected.abs().max() > 0.1  # else equality says little
    assert expected.std(0).max() > 1e-3  # the images matter
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)
