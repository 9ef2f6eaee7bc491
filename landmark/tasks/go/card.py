"""The card of networks of Go."""

from landmark.tasks.card import Card, Verb

_HERE = "landmark.tasks.go"

CARD = Card(
    name="go",
    task=f"{_HERE}.run:TASK",
    panel="Play",
    recipes=(f"{_HERE}.recipes",),
    data_options=f"{_HERE}.options:GoDataOptions",
    open=f"{_HERE}.pipeline:open_pipeline",
    evaluate=Verb(
        name="evaluate",
        help="Go networks: how often the first move is the one played, and the error of results.",
        run=f"{_HERE}.evaluation:evaluate",
        options=f"{_HERE}.options:EvaluateOptions",
        unit="positions",
        done="judged",
    ),
    begins_from=("go",),
)
