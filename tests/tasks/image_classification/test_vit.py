import pytest
import torch

from landmark.probes.anatomy import dissect
from landmark.tasks.catalog import NETWORKS, load_catalog, system_of

load_catalog()
SHAPES = {
    "vit-ti16": (16, 192, 12),
    "vit-s16": (16, 384, 12),
    "vit-b16": (16, 768, 12),
    "vit-b32": (32, 768, 12),
    "vit-l16": (16, 1024, 24),
    "vit-l32": (32, 1024, 24),
    "vit-h14": (14, 1280, 32),
}
"""Patch, width, layers."""


@pytest.mark.parametrize("name", sorted(SHAPES))
def test_the_catalog_builds_every_size_with_its_published_count(name: str) -> None:
    network = NETWORKS[name]
    with torch.device("meta"):
        counted = dissect(network.build(), network.compute)
    assert counted.parameters == network.published_parameters
    patch, width, layers = SHAPES[name]
    patches = (224 // patch) ** 2
    tokens = patches + 1
    block = 12 * tokens * width**2 + 2 * tokens**2 * width  # matrices; scores and their mixing
    assert counted.macs == patches * width * 3 * patch**2 + layers * block + 1000 * width
    assert system_of(name).name == "vit"
