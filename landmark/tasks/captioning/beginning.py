"""What a captioner begins from: another captioner, or an image network as its encoder."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from landmark.core.errors import UserError
from landmark.data.images.form import FILE, ImageForm
from landmark.engine.checkpoint import load_module, load_tensors
from landmark.engine.session import MODEL
from landmark.models.captioning.captioner import ENCODER, Captioner
from landmark.models.vision import build_network
from landmark.tasks.fine_tuning import INITIAL, Origin

if TYPE_CHECKING:
    from landmark.tasks.captioning.run import CaptioningRun

_VIEW = ("image_size",)
"""Settings of an encoder that the user may change: how large an image it reads."""


def adopt(config: "CaptioningRun", origin: Origin) -> "CaptioningRun":
    """A configuration with the network of a captioner, or with another task's as its encoder."""
    theirs, form = origin.config.model, ImageForm.load(origin.run.folder / FILE)
    if "data.size" not in origin.named and isinstance(form.size, int):
        config = dataclasses.replace(config, data=dataclasses.replace(config.data, size=form.size))
    if origin.config.task == "captioning":
        if theirs.architecture != config.model.architecture:
            raise UserError(
                f"{origin.run.folder}: is a model of architecture {theirs.architecture!r}, not "
                f"{config.model.architecture!r}: begin from one of the same"
            )
        model = origin.take_shape(config.model, may_change=("fine_tune",))
        return dataclasses.replace(config, model=model)
    named = sorted(key for key in origin.named if key.startswith("model.encoder."))
    changed: dict[str, Any] = {}
    for key in named:
        setting = key.removeprefix("model.encoder.")
        if setting not in _VIEW:
            raise UserError(
                f"{key}: the encoder is the network of {origin.run.folder}: leave it out"
            )
        changed[setting] = getattr(config.model.encoder, setting)
    encoder = dataclasses.replace(theirs, **changed)
    if form.channels != 3:
        raise UserError(f"{origin.run.folder}: reads grey images: captions need coloured ones")
    model = dataclasses.replace(config.model, encoder=encoder, feature_size=None, places=None)
    return dataclasses.replace(config, model=model)


def save_beginning(origin: Origin, folder: Path) -> None:
    """Put the weights to begin with into a run folder, by their names in a captioner."""
    if origin.config.task == "captioning":
        origin.save(folder)
        return
    with torch.device("meta"):
        head = build_network(origin.config.model).head
    weights = {
        f"{ENCODER}{name}": tensor
        for name, tensor in origin.weights().items()
        if not name.startswith(f"{head}.")
    }
    origin.save(folder, weights)


def load_beginning(model: Captioner, folder: Path) -> None:
    """Take up the weights that a run folder says to begin with; a new decoder stays fresh."""
    weights, where = load_tensors(folder / INITIAL, MODEL), folder / INITIAL
    if all(name.startswith(ENCODER) for name in weights):
        encoder = model.encoder_network
        assert encoder is not None
        load_module(encoder, {n.removeprefix(ENCODER): t for n, t in weights.items()}, where)
    else:
        load_module(model, weights, where)
