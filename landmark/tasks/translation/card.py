"""The card of translation."""

from landmark.tasks.card import START, Card, Importer, Product, Verb

_HERE = "landmark.tasks.translation"
_PICTURES = "landmark.figures.translation.products"
_PLAIN = "landmark.tasks.card:OpenOptions"
"""Of verbs that look into the run's own network: no ensemble, no engine."""

CARD = Card(
    name="translation",
    task=f"{_HERE}.run:TASK",
    panel="Translation",
    recipes=(
        f"{_HERE}.transformer",
        f"{_HERE}.seq2seq",
        f"{_HERE}.adam",
    ),
    data_options=f"{_HERE}.options:DataOptions",
    open=f"{_HERE}.pipeline:open_pipeline",
    open_options=f"{_HERE}.options:TranslationOpenOptions",
    evaluate=Verb(
        name="evaluate",
        help="Translation: BLEU, chrF, TER (sacrebleu) and exact match, with significance tests.",
        run=f"{_HERE}.report:evaluate",
        options=f"{_HERE}.options:EvaluateOptions",
        check=f"{_HERE}.report:check",
        products=(
            Product(
                "output",
                "Write the outputs to this file, one per line.",
                f"{_HERE}.report:write_translations",
                suffixes=("*",),
            ),
            Product(
                "by-length",
                "Plot BLEU by source length to this file, and print it.",
                f"{_PICTURES}:write_lengths",
            ),
        ),
        done="translated",
    ),
    verbs=(
        Verb(
            name="translate",
            help="Translate sentences, a file, or stdin line by line.",
            run=f"{_HERE}.verbs:translate",
            options=f"{_HERE}.options:TranslateVerbOptions",
            takes="texts",
            check=f"{_HERE}.verbs:check_translate",
            products=(
                Product(
                    "attention",
                    "Plot the cross-attention of one sentence to this file.",
                    f"{_PICTURES}:write_attention",
                    of_one=True,
                ),
            ),
            done="translated",
        ),
        Verb(
            name="score",
            help="Score given translations: log-probability per sentence or token.",
            run=f"{_HERE}.verbs:score",
            options=f"{_HERE}.options:ScoreOptions",
            open_options=_PLAIN,
            takes="pairs",
            check=f"{_HERE}.verbs:check_score",
            unit="pairs",
            done="scored",
        ),
        Verb(
            name="align",
            help="Print word alignments from cross-attention.",
            run=f"{_HERE}.verbs:align",
            options=f"{_HERE}.options:AlignOptions",
            open_options=_PLAIN,
            takes="pairs",
            check=f"{_HERE}.verbs:check_align",
            products=(
                Product(
                    "figure",
                    "Plot one sentence's alignment (or the choice) to this file.",
                    f"{_PICTURES}:write_alignment",
                ),
            ),
            unit="pairs",
            done="aligned",
            block=500,
        ),
    ),
    commands=(
        Verb(
            name="demo",
            help="Demo: train a small translator, evaluate it, translate and show its attention.",
            panel=START,
            run=f"{_HERE}.demo:demo",
            options=f"{_HERE}.options:DemoOptions",
            done="translated",
        ),
    ),
    exports={
        "ctranslate2": Verb(
            name="ctranslate2",
            help="Transformer for CTranslate2, in float32 or int8.",
            run=f"{_HERE}.exports:export_ctranslate2",
            options=f"{_HERE}.options:CTranslate2Options",
            check=f"{_HERE}.exports:check_transformer",
        ),
        "onnx": Verb(
            name="onnx",
            help="ONNX models of encoder and decoder.",
            run=f"{_HERE}.exports:export_onnx",
            options="landmark.tasks.card:ExportOptions",
        ),
        "hf": Verb(
            name="hf",
            help="Transformer in Hugging Face format, for transformers.",
            run=f"{_HERE}.huggingface:export_marian",
            options="landmark.tasks.card:HuggingFaceExportOptions",
        ),
    },
    imports={
        "hf": Importer(
            "Marian translators (marian, pegasus)",
            "Import a Marian translator from Hugging Face.",
            f"{_HERE}.huggingface:import_marian",
            "landmark.tasks.importing:HuggingFaceOptions",
            f"{_HERE}.huggingface:accepts_marian",
        )
    },
    begins_from=("translation",),
)
