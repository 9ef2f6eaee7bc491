"""What a validation finds in all images together: mean average precision of the words."""

from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray

from landmark.data.captions.tags import TagSamples
from landmark.engine.assembly import Stopping
from landmark.metrics.tagging import TOP, score_tagging
from landmark.models.image import ImageNetwork
from landmark.objectives.classification import in_layout
from landmark.objectives.tagging import TaggingConfig, tag_probabilities


class TagEvaluator:
    """Tags the validation images, and scores the words."""

    def __init__(
        self,
        model: ImageNetwork,
        config: TaggingConfig,
        samples: TagSamples,
        is_true: NDArray[np.bool_],
        device: torch.device,
    ) -> None:
        """is_true: whether an image has each word. (N, K)"""
        self.model, self.config, self.device = model, config, device
        self.samples, self.is_true = samples, is_true

    @torch.inference_mode()
    def __call__(self, step: int, stopping: Stopping) -> Mapping[str, float] | None:
        found = []
        for numbers in self.samples.plan(0):
            if stopping():
                return None
            images = in_layout(self.samples.collate(0, numbers).images.to(self.device))
            found.append(tag_probabilities(self.model(images), self.config).cpu().numpy())
        scores = score_tagging(np.concatenate(found), self.is_true, self.samples.form.names)
        return {
            "map": scores.mean_average_precision,
            f"precision{TOP}": scores.precision,
            f"recall{TOP}": scores.recall,
        }
