"""What there is for masked language model."""

from landmark.tasks.card import Card

_HERE = "landmark.tasks.masked_language_model"

CARD = Card(
    name="masked-language-model",
    task=f"{_HERE}.run:TASK",
    recipes=(f"{_HERE}.recipes",),
    begins_from=("masked-language-model",),
)
