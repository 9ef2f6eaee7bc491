"""The card of understanding."""

from landmark.tasks.card import Card, Verb

_HERE = "landmark.tasks.understanding"
_TEXTS = "landmark.tasks.labelled_texts"

CARD = Card(
    name="understanding",
    task=f"{_HERE}.run:TASK",
    panel="Language",
    recipes=(f"{_HERE}.recipes",),
    open=f"{_HERE}.pipeline:open_pipeline",
    open_options="landmark.tasks.card:PrecisionOptions",
    evaluate=Verb(
        name="evaluate",
        help="Text classification, regression, tagging and question answering: the task's metrics.",
        run=f"{_TEXTS}.verbs:evaluate",
        options=f"{_TEXTS}.options:EvaluateOptions",
        check=f"{_TEXTS}.verbs:check_sets",
        unit="examples",
        done="read",
    ),
    verbs=(
        Verb(
            name="predict",
            help="Classify texts, tag words or answer questions. Pairs are given in twos; a text "
            "and its choices; a question and its context. --file reads the training format.",
            summary="Classify texts, tag words or answer questions.",
            run=f"{_TEXTS}.verbs:predict",
            takes="texts",
            read=f"{_TEXTS}.verbs:read",
            unit="examples",
            done="answered",
        ),
    ),
    exports={
        "hf": Verb(
            name="hf",
            help="Hugging Face format, for transformers.",
            run=f"{_HERE}.huggingface:export_understander",
            options="landmark.tasks.card:HuggingFaceExportOptions",
        )
    },
    begins_from=("masked-language-model", "language-model"),
)
