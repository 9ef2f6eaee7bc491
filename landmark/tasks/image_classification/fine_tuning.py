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

from landmark.core.configuration import settings
from landmark.core.errors import UserError
from landmark.data.images.form import FILE, ImageForm
from landmark.engine.checkpoint import load_tensors
from landmark.engine.session import MODEL
from landmark.models.image import ImageNetwork
from landmark.models.transformer.vit import ViTConfig, resize_positions
from landmark.models.vision import VisionConfig, build_network
from landmark.tasks.fine_tuning import INITIAL, Origin

if TYPE_CHECKING:
    from landmark.tasks.image_classification.run import ImageClassificationRun

_SIZE = "image_size"
POSITIONS = "embedding.position"
"""A ViT's, one a patch: interpolated for another number of them."""


@settings
class ImageFineTuningConfig:
    """Fine-tuning: which stages of the pretrained network are trained, and how fast."""

    frozen_stages: Annotated[int, Field(ge=0)] = 0
    """Number of lowest stages to freeze, including their batch norm statistics."""
    stage_decay: Annotated[float, Field(gt=0, le=1)] = 1.0
    """Layer-wise learning rate decay: each stage's learning rate is this fraction of that of the
    stage above.
    """


@dataclasses.dataclass(frozen=True)
class ImageOrigin:
    """The run that a fine-tuning begins from, and what its images look like."""

    origin: Origin
    form: ImageForm

    @classmethod
    def of(cls, origin: Origin) -> "ImageOrigin":
        return cls(origin, ImageForm.load(origin.run.folder / FILE))

    @property
    def model(self) -> VisionConfig:
        model: VisionConfig = self.origin.config.model
        return model

    def adopted_by(self, config: "ImageClassificationRun") -> "ImageClassificationRun":
        """The shape of the network, and images of the size and colours that it knows.

        Of the shape, the size of images may change, if all weights but positions still fit.
        """
        model: VisionConfig = self.origin.take_shape(config.model, may_change=(_SIZE,))
        self._check_size(model)
        if config.data.channels not in (None, self.form.channels):
            raise UserError(
                f"data.channels is {config.data.channels}, but {self.origin.run.folder} was "
                f"trained on images of {self.form.channels}: leave it out"
            )
        size = config.data.size or self._scaled(model.image_size)
        if size < model.image_size != self.model.image_size:
            raise UserError(
                f"data.size is {size}: smaller than the {model.image_size} pixels a side that the "
                "network is to read: give a larger one, or leave it out"
            )
        channels: Literal[1, 3] = 1 if self.form.channels == 1 else 3
        data = dataclasses.replace(config.data, size=size, channels=channels)
        if "data.interpolation" not in self.origin.named:
            data = dataclasses.replace(data, interpolation=self.form.interpolation)
        return dataclasses.replace(config, model=model, data=data)

    def _check_size(self, model: VisionConfig) -> None:
        """Refuse another size of images where weights other than positions depend on it."""
        if model.image_size == self.model.image_size:
            return
        ours, theirs = (
            {name: tensor.shape for name, tensor in build_network_like(c).state_dict().items()}
            for c in (model, self.model)
        )
        if any(ours[name] != theirs[name] for name in ours if name != POSITIONS):
            raise UserError(
                f"model.image_size={model.image_size}: the dense layers of "
                f"{self.origin.run.folder} are for images of {self.model.image_size} pixels a "
                "side: leave it out"
            )

    def _scaled(self, image_size: int) -> int:
        """What images are scaled to: as much around the middle as the old network had."""
        if not isinstance(self.form.size, int):
            return image_size
        return round(self.form.size * image_size / self.model.image_size)

    def colours_for(self, form: ImageForm) -> ImageForm:
        """Images are normalised as the network is used to, not by their own mean."""
        return dataclasses.replace(form, mean=self.form.mean, std=self.form.std)

    @torch.no_grad()
    def save(self, model: VisionConfig, form: ImageForm, folder: Path) -> None:
        """Put the weights to begin with into a run folder: of other classes, without the head."""
        weights = self.origin.weights()
        if form.names != self.form.names:
            with torch.device("meta"):
                fresh = build_network(model)
            outputs = _output_names(fresh, build_network_like(self.model)) - {POSITIONS}
            weights = {name: tensor for name, tensor in weights.items() if name not in outputs}
        if isinstance(model, ViTConfig) and model.image_size != self.model.image_size:
            side = model.image_size // model.patch_size
            tokens = int(model.pool == "token")
            weights[POSITIONS] = resize_positions(weights[POSITIONS], side, side, tokens)
        self.origin.save(folder, weights)


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
    stages = model.named_stages()
    if config.frozen_stages > len(stages):
        named = ", ".join(f"{number} {name}" for number, name in enumerate(stages, 1))
        raise UserError(
            f"fine_tuning.frozen_stages is {config.frozen_stages}, but the network has "
            f"{len(stages)} stages: {named}"
        )
    frozen = list(stages.values())[: config.frozen_stages]
    for stage in frozen:
        stage.requires_grad_(False)
    return frozen


def rate_share(model: ImageNetwork, decay: float) -> Callable[[str], float]:
    """The part of the learning rate that each parameter takes, by its name.

    The highest stage takes `decay` of the head's, the one below it `decay` of that, and so on;
    stages without parameters, as pooling, do not count.
    """
    stages = [stage for stage in model.stages() if any(True for _ in stage.parameters())]
    owners = {
        id(parameter): len(stages) - number
        for number, stage in enumerate(stages)
        for parameter in stage.parameters()
    }
    depths = {name: owners.get(id(p), 0) for name, p in model.named_parameters()}
    return lambda name: decay ** depths[name]
