"""`landmark import torchvision|timm`: an image network's weights become a run directory of ours."""

import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import torch

from landmark.core.errors import UserError
from landmark.core.registry import nearest
from landmark.core.structured_text import LONGEST_JSON, parse_json, read_bounded, read_json
from landmark.data.images.corpus import ImageDataConfig
from landmark.data.images.decoding import Interpolation
from landmark.data.images.form import FILE, ImageForm
from landmark.data.text_file import digest_file, read_lines
from landmark.interop.huggingface.download import fetch_model
from landmark.interop.huggingface.folder import CONFIG, PICKLE, SAFETENSORS
from landmark.interop.image_network import Recognised
from landmark.interop.tensor_file import read_state
from landmark.interop.timm import read_timm
from landmark.interop.torchvision import WEIGHTS, PublishedWeights, read_torchvision
from landmark.models.transformer.vit import ViTConfig
from landmark.models.vision import build_network
from landmark.tasks.image_classification.options import TimmOptions, TorchvisionOptions
from landmark.tasks.image_classification.run import ImageClassificationRun
from landmark.tasks.importing import free_folder, write_imported

Report = Callable[[Mapping[str, Any]], None]
_LARGEST_SIDE = 10_000  # pixels of an image that a network reads
LIBRARIES = {"torchvision": read_torchvision, "timm": read_timm}
_IS_HUB_NAME = re.compile(r"[A-Za-z0-9][\w-]*/[A-Za-z0-9][\w.-]*(?<!\.pth)(?<!\.bin)(?<!tensors)")
"""As timm/resnet50.a1_in1k; a file of weights that is not there is none."""


@dataclass(frozen=True)
class Preparation:
    """How images become what a network reads; what is None is usual for it."""

    resize: int | None = None
    """Pixels of the shorter side before the centre crop."""
    image_size: int | None = None
    """Size of the centre crop in pixels."""
    mean: tuple[float, ...] | None = None
    std: tuple[float, ...] | None = None
    """Standard deviation of pixel values (0 to 1): one per channel or one for all."""
    interpolation: Interpolation | None = None
    """Interpolation when resizing."""

    def over(self, other: "Preparation") -> "Preparation":
        """This, and the other where it says nothing."""
        chosen = {key: value for key, value in vars(self).items() if value is not None}
        return dataclasses.replace(other, **chosen)


def import_torchvision(options: TorchvisionOptions, report: Report) -> Path:
    """`landmark import torchvision`."""
    return _import("torchvision", options, report, options.weights)


def import_timm(options: TimmOptions, report: Report) -> Path:
    """`landmark import timm`."""
    return _import("timm", options, report)


def _import(
    library: str,
    options: TorchvisionOptions | TimmOptions,
    report: Report,
    weights: str | None = None,
) -> Path:
    preparation = Preparation(
        options.resize, options.image_size, options.mean, options.std, options.interpolation
    )
    return import_network(
        library,
        options.path,
        options.run,
        network=options.network,
        labels=options.labels,
        preparation=preparation,
        weights=weights,
        report=report,
    )


def import_network(
    library: str,
    source: str | Path,
    run: Path | None = None,
    *,
    network: str | None = None,
    labels: Path | None = None,
    preparation: Preparation | None = None,
    weights: str | None = None,
    report: Report = lambda record: None,
) -> Path:
    """Make a run of a file of weights; of timm's, also of a folder or a name on the Hub.

    weights: which of the weights that torchvision publishes these are, as IMAGENET1K_V2. It
    decides how images are prepared, as does a preparation that says `resize`.
    """
    wanted = preparation or Preparation()
    if weights is not None and library != "torchvision":
        raise UserError(f"--weights names weights of torchvision, not of {library}")
    if weights is not None and wanted.resize is not None:
        raise UserError("--weights says how images are resized: leave out --resize")
    given = Path(source)
    target = free_folder(run, given.resolve().name.removesuffix(given.suffix * given.is_file()))
    if library == "timm" and not given.exists() and _IS_HUB_NAME.fullmatch(str(source)):
        given = fetch_model(str(source), report)
    file, said, names = given, Preparation(), None
    if library == "timm" and given.is_dir():
        file, said, names = _read_folder(given)
    found = LIBRARIES[library](read_state(file), given, network)
    if library == "torchvision" and wanted.resize is None:
        said = _published_preparation(found, file, weights, wanted.image_size)
    classes = found.config.classes
    names = read_labels(labels) if labels else names
    if names is not None and len(names) != classes:
        raise UserError(
            f"{labels or given / CONFIG}: names {len(names)} classes, but the network tells "
            f"{classes} apart"
        )
    if names is None:
        text = f"note: the {classes} classes have no names: --labels FILE gives them, a line each"
        report({"kind": "note", "text": text})
        names = [f"class {number}" for number in range(classes)]
    config, form = _prepared(found, wanted.over(said), names)
    report({"kind": "note", "text": f"note: {found.name}, {_describe(config, form)}"})
    assets = {FILE: form.content()}
    write_imported(config, found.state, assets, target, f"{library}: {source}")
    return target


def _published_preparation(
    found: Recognised, file: Path, weights: str | None, image_size: int | None
) -> Preparation:
    """How images are resized for published weights: those named, those in the file, or all alike.

    Where published weights of the network differ, and none is named, the user is asked.
    """
    published = {each.name: each for each in WEIGHTS.get(found.name, ())}
    if weights is not None:
        if weights not in published:
            raise UserError(
                f"torchvision has no weights {weights!r} of {found.name}: "
                f"{nearest(weights, published)}"
            )
        return _preparation(found, published[weights], image_size, file)
    if not published:
        return Preparation()
    digest = digest_file(file)
    for each in published.values():
        if digest.startswith(each.digest):
            return _preparation(found, each, image_size, file)
    fitting = [each for each in published.values() if _fits(found, each)]
    if len({each.resize for each in fitting}) == 1:
        return _preparation(found, fitting[0], image_size, file)
    choices = ", ".join(f"{each.name} (resize {each.resize})" for each in fitting)
    raise UserError(
        f"{file}: images for {found.name} of {found.config.image_size} pixels a side are resized "
        "differently for different weights: give "
        + (f"--weights NAME, one of {choices}, or " if choices else "")
        + "--resize PIXELS, as they were trained"
    )


def _fits(found: Recognised, published: PublishedWeights) -> bool:
    """Whether a ViT's positions are for images of that size; other networks read any."""
    is_vit = isinstance(found.config, ViTConfig)
    return not is_vit or found.config.image_size == published.image_size


def _preparation(
    found: Recognised, published: PublishedWeights, image_size: int | None, file: Path
) -> Preparation:
    """As published; for images of another size, as much around the middle."""
    if not _fits(found, published):
        raise UserError(
            f"{file}: {published.name} reads images of {published.image_size} pixels a side, but "
            f"the file's positions are for {found.config.image_size}"
        )
    side = image_size or published.image_size
    resize = round(published.resize * side / published.image_size)
    return Preparation(resize, interpolation=published.interpolation)


def _prepared(
    found: Recognised, wanted: Preparation, names: Sequence[str]
) -> tuple[ImageClassificationRun, ImageForm]:
    """The run's configuration and the form of its images."""
    channels = found.config.channels
    if channels not in (1, 3):
        raise UserError(f"the network reads images of {channels} channels: only 1 and 3 are known")
    model = found.config
    if wanted.image_size is not None:
        model = dataclasses.replace(model, image_size=wanted.image_size)
        with torch.device("meta"):
            resized = build_network(model).state_dict()
        if any(found.state[name].shape != tensor.shape for name, tensor in resized.items()):
            raise UserError(
                f"{found.name} reads images of {found.config.image_size} pixels a side, "
                f"not {wanted.image_size}"
            )
    usual = found.family.resize / found.family.variants[found.name].image_size
    resize = wanted.resize or round(usual * model.image_size)
    if resize < model.image_size:
        raise UserError(
            f"images are resized to {resize} pixels, smaller than the centre crop of "
            f"{model.image_size}"
        )
    mean, std = found.family.colours
    form = ImageForm(
        names=tuple(names),
        channels=channels,
        size=resize,
        mean=_colours("mean", wanted.mean or mean, channels),
        std=_colours("std", wanted.std or std, channels),
        interpolation=wanted.interpolation or "bilinear",
    )
    data = ImageDataConfig(
        corpus="files",
        size=resize,
        channels=channels,  # type: ignore[arg-type]
        interpolation=form.interpolation,
    )
    return ImageClassificationRun(data=data, model=model), form  # type: ignore[arg-type]


def _colours(what: str, values: tuple[float, ...], channels: int) -> tuple[float, ...]:
    """One number a channel; of colours, grey is their mean."""
    if len(values) == channels:
        found = values
    elif len(values) == 1:
        found = values * channels
    elif channels == 1 and len(values) == 3:
        found = (sum(values) / 3,)
    else:
        raise UserError(f"{what}: {len(values)} numbers for images of {channels} channels")
    if what == "std" and min(found) <= 0:
        raise UserError("std: must be above 0")
    return found


def _describe(config: ImageClassificationRun, form: ImageForm) -> str:
    mean, std = (", ".join(f"{value:g}" for value in values) for values in (form.mean, form.std))
    side, bicubic = config.model.image_size, ", bicubic" * (form.interpolation == "bicubic")
    return (
        f"{len(form.names)} classes; images: resized to {form.size}{bicubic}, centre crop "
        f"{side} x {side}, mean {mean}, std {std}"
    )


def read_labels(path: Path) -> list[str]:
    """The names of classes: a line each, or JSON (a list, or an object by number)."""
    if path.suffix == ".json":
        try:
            names = _listed(parse_json(read_bounded(path, LONGEST_JSON), path))
        except (ValueError, TypeError, KeyError):
            raise UserError(
                f"{path}: is neither a list of names nor an object that maps numbers to names"
            ) from None
    else:
        names = [line.strip() for line in read_lines(path)]
        while names and not names[-1]:
            names.pop()
    empty = next((number for number, name in enumerate(names, 1) if not name), None)
    if empty is not None:
        raise UserError(f"{path}: line {empty} is empty: each line names a class")
    return names


def _listed(body: Any) -> list[str]:
    """Names in order, of the forms in which they are passed around."""
    if isinstance(body, dict):
        if all(isinstance(number, int) for number in body.values()):  # name: number
            body = {str(number): name for name, number in body.items()}
        body = [body[str(number)] for number in range(len(body))]
    # ImageNet's list has pairs: WordNet's number and a name.
    names = [entry[-1] if isinstance(entry, list) else entry for entry in body]
    if not all(isinstance(name, str) for name in names):
        raise TypeError
    return names


def _read_folder(folder: Path) -> tuple[Path, Preparation, list[str] | None]:
    """The weights, preparation and names of a model as timm saves it for the Hub."""
    files = [folder / name for name in (SAFETENSORS, PICKLE) if (folder / name).is_file()]
    if not files:
        raise UserError(f"{folder}: has no weights: neither {SAFETENSORS} nor {PICKLE}")
    config = read_json(folder / CONFIG) if (folder / CONFIG).is_file() else {}
    said = config.get("pretrained_cfg") or {}
    try:
        if not isinstance(said, dict):
            raise TypeError
        side = said["input_size"][1] if said.get("input_size") else None
        share = said.get("crop_pct")
        if side is not None and side not in range(1, _LARGEST_SIDE):
            raise ValueError
        if side and share and not side / share < _LARGEST_SIDE:
            raise ValueError
        preparation = Preparation(
            round(side / share) if side and share else None,
            side,
            tuple(map(float, said["mean"])) if said.get("mean") else None,
            tuple(map(float, said["std"])) if said.get("std") else None,
            _interpolation(said.get("interpolation")),
        )
        names = _listed(config["label_names"]) if config.get("label_names") else None
        descriptions = config.get("label_descriptions") or {}
    except (TypeError, KeyError, ValueError, IndexError, ArithmeticError):
        raise UserError(f"{folder / CONFIG}: is not as timm writes it") from None
    if names is not None and isinstance(descriptions, dict):
        names = [str(descriptions.get(name, name)) for name in names]
    return files[0], preparation, names


def _interpolation(name: Any) -> Interpolation | None:
    """timm also names others, and `random`: then the usual one is taken."""
    return name if name in get_args(Interpolation) else None
