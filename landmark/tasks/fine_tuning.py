"""Fine-tuning: beginning from the weights, and often the shape and vocabulary, of another run."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from landmark.core.configuration import as_values
from landmark.core.errors import UserError
from landmark.engine.checkpoint import load_module, load_tensors, save_checkpoint
from landmark.engine.run import Run
from landmark.engine.session import MODEL, load_player

TextRun = TypeVar("TextRun", bound=Any)
_NO_SHAPE = ("dropout", "attention_dropout", "word_dropout", "activation_checkpointing")
"""Settings of a model that are no part of its shape."""
INITIAL = "initial"
"""The checkpoint of a run folder that training begins from: the run needs no other any more."""


@dataclass(frozen=True)
class Origin:
    """The run that a fine-tuning begins from: whole, and of a task that may be begun from."""

    run: Run
    config: Any

    @property
    def tokenizer_file(self) -> Path:
        return self.run.folder / "tokenizer.json"

    def weights(self, player: str = "model") -> dict[str, Tensor]:
        """A player's weights, as using the run takes them."""
        return load_player(self.run.find_checkpoint(), player)

    def take_shape(self, wanted: Any) -> Any:
        """The model's settings, with those that are no part of its shape as `wanted` has them."""
        shape, asked = as_values(self.config.model), as_values(wanted)
        changed = {key: asked[key] for key in _NO_SHAPE if key in shape and key in asked}
        return dataclasses.replace(self.config.model, **changed)

    def adopted_by(self, config: TextRun) -> TextRun:
        """A configuration with the shape and vocabulary of this run; the rest stays."""
        ours, wanted = self.config.model.architecture, config.model.architecture
        if ours != wanted:
            raise UserError(
                f"{self.run.folder}: is a model of architecture {ours!r}, not {wanted!r}: begin "
                "from one of the same"
            )
        tokenizer = dataclasses.replace(self.config.tokenizer, file=str(self.tokenizer_file))
        found: TextRun = dataclasses.replace(
            config, model=self.take_shape(config.model), tokenizer=tokenizer
        )
        return found

    def save(self, folder: Path, weights: Mapping[str, Tensor] | None = None) -> None:
        """Put the weights to begin with (by default all) into a run folder."""
        chosen = dict(self.weights() if weights is None else weights)
        facts = {"step": 0, "from": str(self.run.find_checkpoint())}
        save_checkpoint(folder / INITIAL, {MODEL: chosen}, facts)


def load_initial(model: nn.Module, folder: Path) -> None:
    """Take up the weights that a run folder says to begin with."""
    with torch.no_grad():
        load_module(model, load_tensors(folder / INITIAL, MODEL), folder / INITIAL)
