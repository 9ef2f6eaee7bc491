"""The card of image classification."""

from landmark.tasks.card import Card, Importer, Product, Verb

_HERE = "landmark.tasks.image_classification"
_FIGURES = "landmark.figures.images"

CARD = Card(
    name="image-classification",
    task=f"{_HERE}.run:TASK",
    panel="Images",
    recipes=(
        f"{_HERE}.recipes",
        f"{_HERE}.full_data",
        f"{_HERE}.convolutional",
        f"{_HERE}.vit",
        f"{_HERE}.adam",
        f"{_HERE}.adam_networks",
    ),
    data_options="landmark.tasks.image_options:ImageDataOptions",
    open=f"{_HERE}.pipeline:open_pipeline",
    open_options=f"{_HERE}.options:ImageOpenOptions",
    evaluate=Verb(
        name="evaluate",
        help="Images: top-1 and top-5 accuracy, and precision and recall of each class.",
        run=f"{_HERE}.evaluation:evaluate",
        options=f"{_HERE}.options:EvaluateOptions",
        check=f"{_HERE}.evaluation:check",
        products=(
            Product(
                "confusion",
                "Plot the confusion matrix of the first set to this file.",
                f"{_FIGURES}.confusion:write",
            ),
            Product(
                "predictions",
                "Write the class and the prediction of every image to this .csv file.",
                f"{_HERE}.predictions:write_predictions",
                suffixes=(".csv",),
            ),
            Product(
                "mistakes",
                "Plot the misclassified images with the highest confidence to this file.",
                f"{_FIGURES}.mistakes:write",
            ),
        ),
        unit="images",
        done="evaluated",
    ),
    verbs=(
        Verb(
            name="classify",
            help="Classify images: print the most probable classes.",
            run=f"{_HERE}.verbs:classify",
            options=f"{_HERE}.options:ClassifyOptions",
            takes="images",
            products=(
                Product(
                    "figure",
                    "Plot the images with their classes to this file.",
                    f"{_FIGURES}.classified:write",
                ),
                Product(
                    "csv",
                    "Write images, classes and probabilities to this .csv file, one row per image.",
                    f"{_HERE}.predictions:write_classified",
                    suffixes=(".csv",),
                    replaces_output=True,
                ),
            ),
            unit="images",
            done="classified",
        ),
        Verb(
            name="similar",
            help="Find similar images by the features of the last hidden layer.",
            run=f"{_HERE}.verbs:similar",
            options=f"{_HERE}.options:SimilarOptions",
            takes="images",
            products=(
                Product(
                    "figure",
                    "Plot each image with its most similar images to this file.",
                    f"{_FIGURES}.similar:write",
                ),
            ),
            unit="images",
            done="read",
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
    exports={
        "onnx": Verb(
            name="onnx",
            help="ONNX model, in float32 or int8.",
            run=f"{_HERE}.exports:export_network",
            options=f"{_HERE}.options:OnnxOptions",
        )
    },
    imports={
        "torchvision": Importer(
            "torchvision",
            "Import an AlexNet, VGG, GoogLeNet, Inception-v3, ResNet or ViT from torchvision.",
            f"{_HERE}.imports:import_torchvision",
            f"{_HERE}.options:TorchvisionOptions",
        ),
        "timm": Importer(
            "timm",
            "Import a VGG, Inception-v3 or -v4, Inception-ResNet-v2, ResNet or ViT from timm.",
            f"{_HERE}.imports:import_timm",
            f"{_HERE}.options:TimmOptions",
        ),
    },
    begins_from=("image-classification",),
)
