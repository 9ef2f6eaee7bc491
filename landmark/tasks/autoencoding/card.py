"""What there is for autoencoding."""

from landmark.tasks.card import Card

_HERE = "landmark.tasks.autoencoding"

CARD = Card(
    name="autoencoding",
    task=f"{_HERE}.run:TASK",
    recipes=(f"{_HERE}.run",),
)
