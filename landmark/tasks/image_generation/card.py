"""The card of GANs of images."""

from landmark.tasks.card import Card, Product, Verb

_HERE = "landmark.tasks.image_generation"

CARD = Card(
    name="image-generation",
    task=f"{_HERE}.run:TASK",
    panel="Images",
    recipes=(f"{_HERE}.networks", f"{_HERE}.recipes"),
    data_options="landmark.tasks.image_options:ImageDataOptions",
    open=f"{_HERE}.pipeline:open_pipeline",
    evaluate=Verb(
        name="evaluate",
        help="GANs of images: KID, FID, precision and recall of samples beside real images.",
        run=f"{_HERE}.evaluation:evaluate",
        options=f"{_HERE}.options:EvaluateOptions",
        check=f"{_HERE}.evaluation:check",
        unit="images",
        done="compared",
    ),
    verbs=(
        Verb(
            name="sample",
            help="Sample images from a GAN.",
            summary="Sample from a generative model: images or numbers.",
            run=f"{_HERE}.verbs:sample",
            options=f"{_HERE}.options:SampleOptions",
            products=(
                Product(
                    "output",
                    "Write the images as a grid to this .png file.",
                    "landmark.tasks.image_records:write_grid",
                    suffixes=(".png",),
                    replaces_output=True,
                ),
                Product(
                    "folder",
                    "Write each image as a .png file into this folder.",
                    f"{_HERE}.verbs:write_folder",
                    suffixes=("*",),
                    replaces_output=True,
                ),
            ),
            unit="images",
            done="drawn",
        ),
        Verb(
            name="interpolate",
            help="Images along ways between samples of a GAN.",
            run=f"{_HERE}.verbs:interpolate",
            options=f"{_HERE}.options:InterpolateOptions",
            products=(
                Product(
                    "output",
                    "Write a strip (.png) or a film (.gif).",
                    "landmark.figures.adversarial.interpolation:write",
                    suffixes=(".png", ".gif"),
                    replaces_output=True,
                ),
            ),
            unit="ways",
            done="drawn",
        ),
        Verb(
            name="features",
            help="Extract image features: the maps of a GAN's discriminator, pooled.",
            summary="Extract image features: the input of a network's last layer.",
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
    exports={
        "onnx": Verb(
            name="onnx",
            help="ONNX model of the generator.",
            run=f"{_HERE}.exports:export_generator",
            options=f"{_HERE}.options:OnnxOptions",
        )
    },
    begins_from=("image-generation",),
)
