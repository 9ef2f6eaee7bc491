"""Naming what is in an image: how a run is configured and put together, and its recipes."""

from landmark.recipes.image_classification.run import ImageClassificationRun

__all__ = ["ImageClassificationRun"]
