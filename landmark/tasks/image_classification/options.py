"""Options of image classification's commands."""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from landmark.core.configuration import Positional, settings
from landmark.tasks.card import ExportOptions, PrecisionOptions


@settings
class ImageOpenOptions(PrecisionOptions):
    """How a run on images is opened."""

    engine: str = "torch"
    """torch, or an export: ctranslate2, ctranslate2-int8, onnx; images: also onnx-int8 and
    compiled."""


@settings
class ClassifyOptions:
    """How images are classified."""

    top: Annotated[int, Field(ge=1)] = 5
    """How many classes to name."""
    ten_crop: bool = False
    """Average the predictions of ten crops of each image."""


@settings
class OnnxOptions(ExportOptions):
    """What `--to onnx` takes."""

    int8: bool = False
    """Weights in eight bits: a quarter of the size."""
    calibration: Path | None = None
    """With --int8: a folder of images to set ranges by; default: the run's training images."""


@settings
class SimilarOptions:
    """Where to look for similar images."""

    among: Path
    """The folder to search, with those below it."""
    count: Annotated[int, Field(ge=1)] = 6
    """How many to find for each image."""


@settings
class EvaluateOptions:
    """What images to score."""

    split: tuple[str, ...] = ()
    """Splits of the run's own data; default: test if there is one, else valid. Repeatable."""
    file: tuple[Path, ...] = ()
    """Your own data: plain text, labelled texts as in training, or images in a folder (.zip, .tar).
    Repeatable."""
    ten_crop: bool = False
    """Average the predictions of ten crops of each image."""
    strict: bool = False
    """Stop at the first unreadable image."""


def _numbers(value: Any) -> Any:
    """0.485,0.456,0.406 as numbers."""
    if not isinstance(value, str):
        return value
    try:
        return tuple(float(part) for part in value.split(","))
    except ValueError:
        raise ValueError("give numbers with commas between them, as 0.5,0.5,0.5") from None


_Colours = Annotated[tuple[float, ...], BeforeValidator(_numbers)] | None


@settings
class _NetworkOptions:
    """How another library's network becomes a run, and how it wants its images."""

    path: Annotated[str, Positional("PATH")]
    """A state dict (.pth, .safetensors); of timm also a folder with its config.json, or a name
    on the Hub."""
    run: Path | None = None
    """The run directory; default: runs/ and the name."""
    network: str | None = None
    """Which network it is, as resnet-50; default: as its tensors say."""
    labels: Path | None = None
    """The names of the classes: a line each, or JSON."""
    resize: Annotated[int, Field(ge=1)] | None = None
    """Resize the shorter side of an image to so many pixels."""
    image_size: Annotated[int, Field(ge=1)] | None = None
    """Pixels a side of the centre crop."""
    interpolation: Literal["bilinear", "bicubic"] | None = None
    """How images are resized; default: as the weights say, else bilinear."""
    mean: _Colours = None
    """What is subtracted from each colour (0 to 1), as 0.485,0.456,0.406."""
    std: _Colours = None
    """What each colour is divided by, as 0.229,0.224,0.225."""


@settings
class TorchvisionOptions(_NetworkOptions):
    """A network of torchvision."""

    weights: str | None = None
    """Which of torchvision's weights these are, as IMAGENET1K_V2: how images are resized."""


@settings
class TimmOptions(_NetworkOptions):
    """A network of timm."""
