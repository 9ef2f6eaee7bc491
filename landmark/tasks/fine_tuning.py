"""Fine-tuning: beginning from the weights, and often the shape and vocabulary, of another run."""

import dataclasses
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from landmark.core.configuration import Provenance, as_values, build
from landmark.core.errors import UserError
from landmark.engine.checkpoint import load_module, load_tensors, save_checkpoint
from landmark.engine.run import Run
from landmark.engine.session import MODEL, load_player

TextRun = TypeVar("TextRun", bound=Any)
_NO_SHAPE = ("dropout", "attention_dropout", "word_dropout", "activation_checkpointing")
"""Settings of a model that are no part of its shape."""
_BY_DATA = ("classes", "channels", "vocab_size", "source_vocab_size")
"""Parts of the shape that no user chooses."""
INITIAL = "initial"
"""The checkpoint of a run folder that training begins from: the run needs no other any more."""


@dataclass(frozen=True)
class Origin:
    """The run that a fine-tuning begins from: whole, and of a task that may be begun from."""

    run: Run
    config: Any
    named: frozenset[str] = frozenset()
    """Dotted keys of settings that the user named: none is dropped in silence."""

    @property
    def tokenizer_file(self) -> Path:
        return self.run.folder / "tokenizer.json"

    def weights(self, player: str = "model") -> dict[str, Tensor]:
        """A player's weights, as using the run takes them."""
        return load_player(self.run.find_checkpoint(), player)

    def take_shape(self, wanted: Any, may_change: Collection[str] = ()) -> Any:
        """The model's settings, with those that are no part of its shape as `wanted` has them.

        may_change: parts of the shape that the user may change; another one that was named and
        differs is refused.
        """
        shape, asked = as_values(self.config.model), as_values(wanted)
        changed = {key: asked[key] for key in _NO_SHAPE if key in shape and key in asked}
        for key in sorted(self.named):
            group, _, setting = key.partition(".")
            if group != "model" or asked.get(setting) is None or setting in changed:
                continue
            if setting in may_change and setting in shape:
                changed[setting] = asked[setting]
            else:
                self._check_same(key, setting, shape, asked)
        origin = Provenance(f"fine-tuning {self.run.folder}")
        return build(type(self.config.model), {**shape, **changed}, origin)

    def _check_same(
        self, key: str, setting: str, shape: Mapping[str, Any], asked: Mapping[str, Any]
    ) -> None:
        """Refuse a setting that is not the model's own."""
        run = self.run.folder
        if setting not in shape:
            architecture = self.config.model.architecture
            raise UserError(f"{key}: the model of {run} ({architecture}) has none: leave it out")
        if shape[setting] != asked[setting]:
            why = "it follows from the data" if setting in _BY_DATA else "its weights are for it"
            raise UserError(
                f"{key}={asked[setting]}: {run} has {shape[setting]}, and fine-tuning does not "
                f"change it ({why}): leave it out"
            )

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
