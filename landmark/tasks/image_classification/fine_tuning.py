"""Beginning from another run's network: a new head, frozen stages, rates that differ by stage.

Howard and Ruder 2018, arXiv 1801.06146, call such rates discriminative: what lies lower is more
general, and is changed less.
"""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import torch
from pydantic import Field
from torch import nn

from landmark.core.configuration import as_values, settings
from landmark.core.errors import UserError
from landmark.data.images.form import FILE, ImageForm
from landmark.engine.checkpoint import load_tensors, save_checkpoint
from landmark.engine.run import Run
from landmark.engine.session import MODEL, load_player
from landmark.models.image import ImageNetwork
from landmark.models.vision import VisionConfig, build_network
from landmark.tasks.fine_tuning import INITIAL
from landmark.tasks.training import check_assets, load_config

if TYPE_CHECKING:
    from landmark.tasks.image_classification.run import ImageClassificationRun

_TASK = "image-classification"
_NO_SHAPE = ("dropout", "attention_dropout", "activation_checkpointing")
"""Settings of a network that are no part of its shape."""


@settings
class ImageFineTuningConfig:
    """How much of the network that a run begins from changes."""

    frozen_stages: Annotated[int, Field(ge=0)] = 0
    """The lowest stages that stay as they are, their batch norms' measures included."""
    stage_decay: Annotated[float, Field(gt=0, le=1)] = 1.0
    """Each stage's learning rate is this part of the one above it; the head's is the full one."""


@dataclasses.dataclass(frozen=True)
class Origin:
    """The run that a fine-tuning begins from."""

    run: Run
    config: "ImageClassificationRun"
    form: ImageForm

    @classmethod
    def open(cls, folder: str) -> "Origin":
        run = Run.open(Path(folder))
        config = load_config(run)
        if config.task != _TASK:
            raise UserError(f"{run.folder}: is a run of task {config.task!r}, not of {_TASK!r}")
        check_assets(run)
        return cls(run, config, ImageForm.load(run.folder / FILE))  # type: ignore[arg-type]

    def adopted_by(self, config: "ImageClassificationRun") -> "ImageClassificationRun":
        """The shape of the network, and images of the size and colours that it knows."""
        shape, wanted = as_values(self.config.model), as_values(config.model)
        changed = {key: wanted[key] for key in _NO_SHAPE if key in shape and key in wanted}
        model = dataclasses.replace(self.config.model, **changed)
        if config.data.channels not in (None, self.form.channels):
            raise UserError(
                f"data.channels is {config.data.channels}, but {self.run.folder} was trained on "
                f"images of {self.form.channels}: leave it out"
            )
        size = config.data.size or self.form.size or model.image_size
        channels: Literal[1, 3] = 1 if self.form.channels == 1 else 3
        data = dataclasses.replace(config.data, size=size, channels=channels)
        return dataclasses.replace(config, model=model, data=data)

    def colours_for(self, form: ImageForm) -> ImageForm:
        """Images are normalised as the network is used to, not by their own mean."""
        return dataclasses.replace(form, mean=self.form.mean, deviation=self.form.deviation)

    @torch.no_grad()
    def save(self, model: VisionConfig, form: ImageForm, folder: Path) -> None:
        """Put the weights to begin with into a run folder: of other classes, without the head."""
        checkpoint = self.run.find_checkpoint()
        weights = load_player(checkpoint, "model")
        if form.names != self.form.names:
            with torch.device("meta"):
                fresh = build_network(model)
            outputs = _output_names(fresh, build_network_like(self.config.model))
            weights = {name: tensor for name, tensor in weights.items() if name not in outputs}
        save_checkpoint(folder / INITIAL, {MODEL: weights}, {"step": 0, "from": str(checkpoint)})


def build_network_like(config: VisionConfig) -> ImageNetwork:
    """A network without numbers, to compare shapes with."""
    with torch.device("meta"):
        return build_network(config)


def _output_names(network: ImageNetwork, old: ImageNetwork) -> set[str]:
    """What says the classes: the head, and what has another shape for another number of them."""
    shapes = {name: tensor.shape for name, tensor in old.state_dict().items()}
    return {
        name
        for name, tensor in network.state_dict().items()
        if name.startswith(f"{network.head}.") or shapes.get(name) != tensor.shape
    }


def load_initial(model: ImageNetwork, folder: Path) -> None:
    """Take up the weights that a run folder says to begin with; what is new stays fresh."""
    weights = load_tensors(folder / INITIAL, MODEL)
    with torch.no_grad():
        for name, tensor in model.state_dict().items():
            if name in weights:
                tensor.copy_(weights[name])


def freeze(model: ImageNetwork, config: ImageFineTuningConfig) -> list[nn.Module]:
    """Let the lowest stages need no gradients; returns them."""
    stages = model.stages()
    if config.frozen_stages > len(stages):
        raise UserError(
            f"fine_tuning.frozen_stages is {config.frozen_stages}, but the network has "
            f"{len(stages)} stages"
        )
    frozen = stages[: config.frozen_stages]
    for stage in frozen:
        stage.requires_grad_(False)
    return frozen


def rate_share(model: ImageNetwork, decay: float) -> Callable[[str], float]:
    """The part of the learning rate that each parameter takes, by its name.

    The highest stage takes `decay` of the head's, the one below it `decay` of that, and so on.
    """
    stages = model.stages()
    owners = {
        id(parameter): len(stages) - number
        for number, stage in enumerate(stages)
        for parameter in stage.parameters()
    }
    depths = {name: owners.get(id(p), 0) for name, p in model.named_parameters()}
    return lambda name: decay ** depths[name]
