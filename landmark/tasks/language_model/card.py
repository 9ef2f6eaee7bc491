"""What there is for language model."""

from landmark.tasks.card import Card

_HERE = "landmark.tasks.language_model"

CARD = Card(
    name="language-model",
    task=f"{_HERE}.run:TASK",
    recipes=(
        f"{_HERE}.gpt",
        f"{_HERE}.run",
    ),
    begins_from=("language-model",),
)
