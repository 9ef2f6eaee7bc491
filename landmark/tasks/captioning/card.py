"""The card of image captioning."""

from landmark.tasks.card import Card, Product, Verb

_HERE = "landmark.tasks.captioning"

CARD = Card(
    name="captioning",
    task=f"{_HERE}.run:TASK",
    panel="Images",
    recipes=(f"{_HERE}.recipes",),
    data_options=f"{_HERE}.options:CaptioningDataOptions",
    open=f"{_HERE}.pipeline:open_pipeline",
    open_options=f"{_HERE}.options:CaptioningOpenOptions",
    evaluate=Verb(
        name="evaluate",
        help="Captioning: BLEU-1 to 4, CIDEr-D, distinct and copied captions, by free running.",
        run=f"{_HERE}.evaluation:evaluate",
        options=f"{_HERE}.options:EvaluateOptions",
        check=f"{_HERE}.evaluation:check",
        products=(
            Product(
                "output",
                "Write the outputs to this file, one per line.",
                f"{_HERE}.evaluation:write_captions",
                suffixes=("*",),
            ),
        ),
        unit="images",
        done="described",
    ),
    verbs=(
        Verb(
            name="caption",
            help="Describe images in words, and show where the network looks for each.",
            run=f"{_HERE}.verbs:caption",
            options=f"{_HERE}.options:CaptionOptions",
            takes="images",
            check=f"{_HERE}.verbs:check_caption",
            products=(
                Product(
                    "figure",
                    "Plot each image with its caption and the attention of each word to this file.",
                    "landmark.figures.images.captioned:write",
                ),
                Product(
                    "csv",
                    "Write images and captions to this .csv file, one row per caption.",
                    f"{_HERE}.verbs:write_csv",
                    suffixes=(".csv",),
                    replaces_output=True,
                ),
            ),
            unit="images",
            done="described",
            block=64,
        ),
    ),
    exports={
        "onnx": Verb(
            name="onnx",
            help="ONNX models of encoder and decoder.",
            run=f"{_HERE}.exports:export_onnx",
            options="landmark.tasks.card:ExportOptions",
        ),
    },
    begins_from=("captioning", "image-tagging", "image-classification"),
)
