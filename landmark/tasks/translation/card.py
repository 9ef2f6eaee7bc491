"""What there is for translation."""

from landmark.tasks.card import Card, Importer, Verb

_HERE = "landmark.tasks.translation"

CARD = Card(
    name="translation",
    task=f"{_HERE}.run:TASK",
    recipes=(
        f"{_HERE}.transformer",
        f"{_HERE}.seq2seq",
        f"{_HERE}.adam",
    ),
    exports={
        "hf": Verb(
            name="hf",
            help="A Transformer as a folder that transformers loads.",
            run=f"{_HERE}.huggingface:export_marian",
            options="landmark.tasks.card:ExportOptions",
        )
    },
    imports={
        "hf": Importer(
            "Marian translators (marian, pegasus)",
            "Make a run of a Marian translator of Hugging Face.",
            f"{_HERE}.huggingface:import_marian",
            "landmark.tasks.importing:HuggingFaceOptions",
            f"{_HERE}.huggingface:accepts_marian",
        )
    },
    begins_from=("translation",),
)
