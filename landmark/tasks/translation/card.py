"""What there is for translation."""

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
        help="Translations: BLEU, chrF, TER (sacrebleu) and exact match, alone or against others.",
        run=f"{_HERE}.report:evaluate",
        options=f"{_HERE}.options:EvaluateOptions",
        check=f"{_HERE}.report:check",
        products=(
            Product(
                "output",
                "Write the translations here, a sentence a line.",
                f"{_HERE}.report:write_translations",
                suffixes=("*",),
            ),
            Product(
                "by-length",
                "Draw BLEU by the length of the source to this file, and print it.",
                f"{_PICTURES}:write_lengths",
            ),
        ),
        done="translated",
    ),
    verbs=(
        Verb(
            name="translate",
            help="Translate sentences, a file, or stdin to stdout line by line.",
            run=f"{_HERE}.verbs:translate",
            options=f"{_HERE}.options:TranslateVerbOptions",
            takes="texts",
            check=f"{_HERE}.verbs:check_translate",
            products=(
                Product(
                    "attention",
                    "Draw the cross-attention of one sentence to this file.",
                    f"{_PICTURES}:write_attention",
                    of_one=True,
                ),
            ),
            done="translated",
        ),
        Verb(
            name="score",
            help="Print the log-probability of given translations, by sentence or by token.",
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
            help="Print which source word each target word comes from, by cross-attention.",
            run=f"{_HERE}.verbs:align",
            options=f"{_HERE}.options:AlignOptions",
            open_options=_PLAIN,
            takes="pairs",
            check=f"{_HERE}.verbs:check_align",
            products=(
                Product(
                    "figure",
                    "Draw one sentence's alignment (or the choice) to this file.",
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
            help="Train a first translator, score it, translate with it and show its attention.",
            panel=START,
            run=f"{_HERE}.demo:demo",
            options=f"{_HERE}.options:DemoOptions",
            done="translated",
        ),
    ),
    exports={
        "ctranslate2": Verb(
            name="ctranslate2",
            help="A Transformer for CTranslate2, in float32 or int8.",
            run=f"{_HERE}.exports:export_ctranslate2",
            options=f"{_HERE}.options:CTranslate2Options",
            check=f"{_HERE}.exports:check_transformer",
        ),
        "onnx": Verb(
            name="onnx",
            help="The network as two ONNX graphs.",
            run=f"{_HERE}.exports:export_onnx",
            options="landmark.tasks.card:ExportOptions",
        ),
        "hf": Verb(
            name="hf",
            help="A Transformer as a folder that transformers loads.",
            run=f"{_HERE}.huggingface:export_marian",
            options="landmark.tasks.card:HuggingFaceExportOptions",
        ),
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
