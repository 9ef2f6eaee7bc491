"""The card of masked language models."""

from landmark.tasks.card import Card, Importer, Product, Verb

_HERE = "landmark.tasks.masked_language_model"
_SHARED = "landmark.tasks"

CARD = Card(
    name="masked-language-model",
    task=f"{_HERE}.run:TASK",
    panel="Language",
    recipes=(f"{_HERE}.recipes",),
    data_options=f"{_SHARED}.text_options:TextDataOptions",
    open=f"{_HERE}.pipeline:open_pipeline",
    open_options=f"{_SHARED}.card:PrecisionOptions",
    evaluate=Verb(
        name="evaluate",
        help="Masked language models: accuracy of masked tokens and pseudo-perplexity.",
        run=f"{_HERE}.evaluation:evaluate",
        options=f"{_HERE}.options:EvaluateOptions",
        check=f"{_HERE}.evaluation:check",
        done="evaluated",
    ),
    verbs=(
        Verb(
            name="fill",
            help='Fill in masked words with a BERT, as in "The [MASK] sat on the mat".',
            run=f"{_HERE}.verbs:fill",
            options=f"{_HERE}.options:FillOptions",
            takes="texts",
            unit="texts",
            done="filled in",
        ),
        Verb(
            name="embed",
            help="Embed texts or words as vectors, or find nearest neighbours.",
            run=f"{_SHARED}.embedding:embed",
            options=f"{_SHARED}.text_options:EmbedOptions",
            open_options=f"{_SHARED}.card:OpenOptions",
            takes="texts",
            check=f"{_SHARED}.embedding:check",
            products=(
                Product(
                    "output",
                    "Write the vectors to this .npy file, one row each (--words: names to a .tsv).",
                    f"{_SHARED}.embedding:write",
                    suffixes=(".npy",),
                    replaces_output=True,
                ),
            ),
            unit="texts",
            done="read",
        ),
    ),
    exports={
        "hf": Verb(
            name="hf",
            help="BERT in Hugging Face format, for transformers.",
            run=f"{_HERE}.huggingface:export_bert",
            options=f"{_SHARED}.card:HuggingFaceExportOptions",
        )
    },
    imports={
        "hf": Importer(
            "BERT, RoBERTa and DistilBERT (bert, roberta, roberta-prelayernorm, distilbert)",
            "Import a BERT, RoBERTa or DistilBERT from Hugging Face.",
            f"{_HERE}.huggingface:import_bert",
            f"{_SHARED}.importing:HuggingFaceOptions",
            f"{_HERE}.huggingface:accepts_bert",
        )
    },
    begins_from=("masked-language-model",),
)
