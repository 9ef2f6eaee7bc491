"""The card of image tagging."""

from landmark.tasks.card import Card, Product, Verb

_HERE = "landmark.tasks.image_tagging"

CARD = Card(
    name="image-tagging",
    task=f"{_HERE}.run:TASK",
    panel="Images",
    recipes=(f"{_HERE}.recipes",),
    data_options="landmark.tasks.caption_options:CaptionDataOptions",
    open=f"{_HERE}.pipeline:open_pipeline",
    evaluate=Verb(
        name="evaluate",
        help="Image taggers: mean average precision of the words, and of each word.",
        run=f"{_HERE}.evaluation:evaluate",
        options=f"{_HERE}.options:EvaluateOptions",
        unit="images",
        done="tagged",
    ),
    verbs=(
        Verb(
            name="tag",
            help="Tag images: print the words that a caption most probably has.",
            run=f"{_HERE}.verbs:tag",
            options=f"{_HERE}.options:TagOptions",
            takes="images",
            products=(
                Product(
                    "figure",
                    "Plot the images with their words to this file.",
                    "landmark.figures.images.classified:write",
                ),
            ),
            unit="images",
            done="tagged",
        ),
        Verb(
            name="features",
            help="Extract image features: the input of a network's last layer.",
            run=f"{_HERE}.verbs:features",
            takes="images",
            products=(
                Product(
                    "output",
                    "Write the vectors to this .npy file, one row each, and the names to a .tsv.",
                    "landmark.tasks.image_records:write_features",
                    suffixes=(".npy",),
                    replaces_output=True,
                ),
            ),
            unit="images",
            done="read",
        ),
    ),
)
