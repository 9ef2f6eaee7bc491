"""The card of autoencoders."""

from landmark.tasks.card import Card, Product, Verb

_HERE = "landmark.tasks.autoencoding"

CARD = Card(
    name="autoencoding",
    task=f"{_HERE}.run:TASK",
    panel="Images",
    recipes=(f"{_HERE}.recipes",),
    data_options="landmark.tasks.image_options:ImageDataOptions",
    open=f"{_HERE}.pipeline:open_pipeline",
    evaluate=Verb(
        name="evaluate",
        help="Autoencoders: negative ELBO of images, with its reconstruction and KL terms.",
        run=f"{_HERE}.evaluation:evaluate",
        options=f"{_HERE}.options:EvaluateOptions",
        check=f"{_HERE}.evaluation:check",
        products=(
            Product(
                "reconstructions",
                "Write images of the first set with their reconstructions to this .png file.",
                f"{_HERE}.evaluation:write_reconstructions",
                suffixes=(".png",),
            ),
        ),
        unit="images",
        done="evaluated",
    ),
    verbs=(
        Verb(
            name="sample",
            help="Sample images from a variational autoencoder.",
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
            ),
            unit="images",
            done="drawn",
        ),
        Verb(
            name="reconstruct",
            help="Reconstruct images with an autoencoder.",
            run=f"{_HERE}.verbs:reconstruct",
            takes="images",
            products=(
                Product(
                    "output",
                    "Write the images with their reconstructions to this .png file.",
                    f"{_HERE}.verbs:write_reconstructed",
                    suffixes=(".png",),
                    replaces_output=True,
                ),
            ),
            unit="images",
            done="reconstructed",
        ),
    ),
)
