"""The tasks, one folder each. This is the only file that names them."""

from importlib import import_module

from landmark.tasks.card import register

ROOMS = (
    "translation",
    "language_model",
    "masked_language_model",
    "understanding",
    "image_classification",
    "image_tagging",
    "captioning",
    "autoencoding",
    "bag_of_words",
    "adversarial",
    "image_generation",
    "go",
)

for room in ROOMS:
    register(import_module(f"landmark.tasks.{room}.card").CARD)
