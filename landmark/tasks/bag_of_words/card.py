"""What there is for bag of words."""

from landmark.tasks.card import Card

_HERE = "landmark.tasks.bag_of_words"

CARD = Card(
    name="bag-of-words",
    task=f"{_HERE}.run:TASK",
    recipes=(f"{_HERE}.run",),
)
