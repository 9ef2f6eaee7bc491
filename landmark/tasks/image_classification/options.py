"""Options of image classification's commands."""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from landmark.core.configuration import Positional, settings
from landmark.core.limits import IMAGE, SAMPLES
from landmark.tasks.card import ExportOptions, PrecisionOptions


@settings
class ImageOpenOptions(PrecisionOptions):
    """How a run on images is opened."""

    engine: str = "torch"
    """torch, or an exported model: ctranslate2, ctranslate2-int8, onnx; images: also onnx-int8 and
    compiled.
    """


@settings
class ClassifyOptions:
    """Options of `landmark classify`."""

    top: Annotated[int, Field(ge=1)] = 5
    """Number of most probable classes to show."""
    ten_crop: bool = False
    """Average the predictions of ten crops of each image."""


@settings
class OnnxOptions(ExportOptions):
    """What `--to onnx` takes."""

    int8: bool = False
    """Quantize the weights to 8 bits: a quarter of the size."""
    calibration: Path | None = None
    """With --int8: a folder of images for calibration; default: the run's training images."""


@settings
class SimilarOptions:
    """Where to look for similar images."""

    among: Path
    """Folder of images to search, including subfolders."""
    count: Annotated[int, Field(ge=1, le=SAMPLES)] = 6
    """Number of similar images to find for each image."""


@settings
class EvaluateOptions:
    """Which images to score."""

    split: tuple[str, ...] = ()
    """Split of the run's own data; default: test if there is one, else valid. Repeatable."""
    file: tuple[Path, ...] = ()
    """Evaluate on your own data: plain text, labelled texts as in training, or a folder of images
    (or .zip, .tar). Repeatable.
    """
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
    """A state dict (.pth, .safetensors); for timm also a folder with its config.json, or a model
    on the Hub.
    """
    run: Path | None = None
    """Run directory to create; default: runs/ and the name."""
    network: str | None = None
    """Network name, as resnet-50; default: inferred from the tensors."""
    labels: Path | None = None
    """File with the class names: one per line, or JSON."""
    resize: Annotated[int, Field(ge=1, le=IMAGE)] | None = None
    """Resize the shorter side of an image to this many pixels."""
    image_size: Annotated[int, Field(ge=1, le=IMAGE)] | None = None
    """Size of the centre crop in pixels."""
    interpolation: Literal["bilinear", "bicubic"] | None = None
    """Interpolation when resizing; default: as the weights specify, else bilinear."""
    mean: _Colours = None
    """Mean of each colour channel (0 to 1) for normalisation, as 0.485,0.456,0.406."""
    std: _Colours = None
    """Standard deviation of each colour channel, as 0.229,0.224,0.225."""


@settings
class TorchvisionOptions(_NetworkOptions):
    """A network of torchvision."""

    weights: str | None = None
    """Name of torchvision's weights, as IMAGENET1K_V2: decides how images are resized."""


@settings
class TimmOptions(_NetworkOptions):
    """A network of timm."""
