"""`landmark import`: models of other libraries as runs."""

from pathlib import Path
from typing import Annotated

import typer

from landmark.core.errors import UserError

Network = Annotated[
    str | None,
    typer.Option(help="Which network it is, as resnet-50; default: as its tensors say."),
]
Labels = Annotated[
    Path | None,
    typer.Option(help="What the classes are called: a line each, or JSON."),
]
Target = Annotated[
    Path | None, typer.Option("--run", help="The run directory; default: runs/ and the name.")
]
Scaled = Annotated[
    int | None,
    typer.Option(
        "--resize", "--scale", min=1, help="Pixels that an image's shorter side is resized to."
    ),
]
Side = Annotated[
    int | None,
    typer.Option("--image-size", min=1, help="Pixels a side of the middle that is looked at."),
]
Mean = Annotated[
    str | None,
    typer.Option(help="What is taken off each colour (0 to 1), as 0.485,0.456,0.406."),
]
Deviation = Annotated[
    str | None, typer.Option(help="What each colour is divided by, as 0.229,0.224,0.225.")
]

Weights = Annotated[
    str | None,
    typer.Option(
        help="Which of torchvision's weights these are, as IMAGENET1K_V2: how images are resized."
    ),
]

app = typer.Typer(help="Models of other libraries as runs.", rich_markup_mode=None)


@app.callback()
def importing() -> None:
    """Models of other libraries as runs."""


@app.command("hf")
def hf(
    path: Annotated[
        str,
        typer.Argument(
            help="A folder as Hugging Face saves a model, or a name on the Hub, as owner/model."
        ),
    ],
    run: Annotated[
        Path | None, typer.Option(help="The run directory; default: runs/ and the model's name.")
    ] = None,
    revision: Annotated[
        str, typer.Option(help="A model of the Hub: its branch, tag or commit.")
    ] = "main",
) -> None:
    """Make a run of a GPT-2, GPT, BERT, RoBERTa, DistilBERT or Marian model, or of what `landmark
    export --to hf` wrote; prints its folder.
    """
    from landmark.cli.progress import Downloads
    from landmark.pipelines.huggingface.importing import import_model

    print(import_model(path, run, Downloads().report, revision))


@app.command("torchvision")
def torchvision(
    path: Annotated[Path, typer.Argument(help="A state dict of torchvision: .pth, .safetensors.")],
    run: Target = None,
    network: Network = None,
    labels: Labels = None,
    weights: Weights = None,
    resize: Scaled = None,
    image_size: Side = None,
    mean: Mean = None,
    deviation: Deviation = None,
) -> None:
    """Make a run of an AlexNet, VGG, GoogLeNet, Inception-v3, ResNet or ViT; prints its folder."""
    sizes = (resize, image_size)
    _import_network("torchvision", path, run, network, labels, sizes, mean, deviation, weights)


@app.command("timm")
def timm(
    path: Annotated[
        str,
        typer.Argument(
            help="A state dict of timm, a folder with its config.json, or a name on the Hub."
        ),
    ],
    run: Target = None,
    network: Network = None,
    labels: Labels = None,
    resize: Scaled = None,
    image_size: Side = None,
    mean: Mean = None,
    deviation: Deviation = None,
) -> None:
    """Make a run of a VGG, Inception-v3 or -v4, Inception-ResNet-v2, ResNet or ViT."""
    _import_network("timm", path, run, network, labels, (resize, image_size), mean, deviation)


def _import_network(
    library: str,
    path: str | Path,
    run: Path | None,
    network: str | None,
    labels: Path | None,
    sizes: tuple[int | None, int | None],
    mean: str | None,
    deviation: str | None,
    weights: str | None = None,
) -> None:
    from landmark.cli.progress import Downloads
    from landmark.pipelines.image.importing import Preparation, import_network

    preparation = Preparation(
        *sizes, mean=_numbers("--mean", mean), deviation=_numbers("--deviation", deviation)
    )
    print(
        import_network(
            library,
            path,
            run,
            network=network,
            labels=labels,
            preparation=preparation,
            weights=weights,
            report=Downloads().report,
        )
    )


def _numbers(option: str, text: str | None) -> tuple[float, ...] | None:
    if text is None:
        return None
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise UserError(f"{option}: {text!r} is no list of numbers, as 0.5,0.5,0.5") from None
