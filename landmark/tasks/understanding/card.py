"""What there is for understanding."""

from landmark.tasks.card import Card

_HERE = "landmark.tasks.understanding"

CARD = Card(
    name="understanding",
    task=f"{_HERE}.run:TASK",
    recipes=(f"{_HERE}.run",),
    begins_from=("masked-language-model", "language-model"),
)
