"""The Vision Transformer's networks: Ti to H."""

import torch

from landmark.models.transformer.vit import VARIANTS, ViT
from landmark.tasks.catalog import Network, System, add_system
from landmark.tasks.image_classification.published import published

_PUBLISHED = {
    "vit-ti16": 5_717_416,
    "vit-s16": 22_050_664,
    "vit-b16": 86_567_656,
    "vit-b32": 88_224_232,
    "vit-l16": 304_326_632,
    "vit-l32": 306_535_400,
    "vit-h14": 632_045_800,
}
_NOTES = {
    "vit-ti16": "DeiT's size, which rounds to 5M",
    "vit-s16": "DeiT's size, which rounds to 22M",
    "vit-h14": "the paper rounds to 632M",
}


def _look_once(model: ViT) -> torch.Tensor:
    """One image through a network, to count its work by."""
    size = model.config.image_size
    scores: torch.Tensor = model(torch.zeros(1, model.config.channels, size, size, device="meta"))
    return scores


add_system(
    System(
        "vit",
        "Dosovitskiy et al., An Image Is Worth 16x16 Words: Transformers for Image Recognition "
        "at Scale, arXiv 2010.11929",
        2020,
        "image-classification",
        tuple(
            Network(
                variant,
                ViT,
                config,
                _look_once,
                _PUBLISHED[variant],
                _NOTES.get(variant, "the paper rounds to 86M for base and 307M for large"),
                **published(variant),
            )
            for variant, config in VARIANTS.items()
        ),
        "Transformer encoder on image patches",
    )
)
