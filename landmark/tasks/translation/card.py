"""What there is for translation."""

from landmark.tasks.card import Card

_HERE = "landmark.tasks.translation"

CARD = Card(
    name="translation",
    task=f"{_HERE}.run:TASK",
    recipes=(
        f"{_HERE}.transformer",
        f"{_HERE}.seq2seq",
        f"{_HERE}.adam",
    ),
    begins_from=("translation",),
)
