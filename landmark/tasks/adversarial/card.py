"""What there is for gaussian."""

from landmark.tasks.card import Card

_HERE = "landmark.tasks.adversarial"

CARD = Card(
    name="gaussian",
    task=f"{_HERE}.run:TASK",
    recipes=(f"{_HERE}.run",),
)
