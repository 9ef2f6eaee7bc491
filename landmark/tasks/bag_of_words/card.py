"""The card of bags of words."""

from landmark.tasks.card import Card, Verb

_HERE = "landmark.tasks.bag_of_words"
_TEXTS = "landmark.tasks.labelled_texts"

CARD = Card(
    name="bag-of-words",
    task=f"{_HERE}.run:TASK",
    panel="Language",
    recipes=(f"{_HERE}.recipes",),
    open=f"{_HERE}.pipeline:open_pipeline",
    evaluate=Verb(
        name="evaluate",
        help="Bag of words: accuracy, F1, Matthews correlation and loss.",
        run=f"{_TEXTS}.verbs:evaluate",
        options=f"{_TEXTS}.options:EvaluateOptions",
        check=f"{_TEXTS}.verbs:check_sets",
        unit="examples",
        done="read",
    ),
    verbs=(
        Verb(
            name="predict",
            help="Classify texts by bag of words.",
            summary="Classify texts, tag words or answer questions.",
            run=f"{_TEXTS}.verbs:predict",
            takes="texts",
            read=f"{_TEXTS}.verbs:read",
            unit="examples",
            done="answered",
        ),
    ),
)
