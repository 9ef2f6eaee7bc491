"""A pretrained language model or BERT as the starting point of fine-tuning."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from landmark.core.errors import UserError
from landmark.core.runtime import derive_seed
from landmark.data.running_text.character import TextTokenizer, load_tokenizer
from landmark.data.running_text.wordpiece import WordPieceTokenizer, is_wordpiece
from landmark.data.understanding.encoding import NEW_ENTRIES
from landmark.engine.checkpoint import load_module, load_tensors
from landmark.engine.session import MODEL
from landmark.models.transformer.bert import BERTConfig
from landmark.models.understanding import BodyConfig, UnderstandingModel
from landmark.tasks.fine_tuning import INITIAL, Origin

if TYPE_CHECKING:
    from landmark.tasks.understanding.run import UnderstandingRun


def load_vocabulary(path: Path) -> TextTokenizer | WordPieceTokenizer:
    """The vocabulary of a run: word pieces, subwords or characters."""
    return WordPieceTokenizer.load(path) if is_wordpiece(path) else load_tokenizer(path)


def adopt_body(config: "UnderstandingRun", origin: Origin, folder: Path) -> "UnderstandingRun":
    """Take the shape and the vocabulary of the pretrained run, which goes into the run folder."""
    size = origin.config.model.vocab_size
    tokenizer = load_vocabulary(origin.tokenizer_file)
    if len(tokenizer) != size:
        raise UserError(
            f"{origin.run.folder}: the vocabulary does not match: the model has {size} "
            f"entries, tokenizer.json has {len(tokenizer)}"
        )
    more = 0 if isinstance(origin.config.model, BERTConfig) else NEW_ENTRIES
    shape = origin.take_shape(config.model)
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(folder / "tokenizer.json")
    return dataclasses.replace(config, model=dataclasses.replace(shape, vocab_size=size + more))


@torch.no_grad()
def save_body(config: "UnderstandingRun", origin: Origin, folder: Path) -> None:
    """Put the pretrained body's weights into the run folder, with rows for new entries."""
    weights = origin.weights()
    if isinstance(config.model, BERTConfig):
        weights = {
            name.removeprefix("bert."): tensor
            for name, tensor in weights.items()
            if name.startswith("bert.")
        }
    size = config.model.vocab_size
    for name in ("embedding.weight", "output.weight"):
        if name in weights and size is not None and len(weights[name]) < size:
            weights[name] = _extended(weights[name], size, derive_seed(config.seed, name))
    origin.save(folder, weights)


def _extended(rows: Tensor, size: int, seed: int) -> Tensor:
    """Rows for new entries: as random as a fresh row, as long as the others are."""
    drawn = torch.randn(
        size - len(rows), rows.shape[1], generator=torch.Generator().manual_seed(seed)
    )
    return torch.cat((rows, drawn.to(rows) * rows.std()))


def load_body(model: UnderstandingModel, folder: Path) -> None:
    """Take up the weights that a run folder says to begin with; the head stays fresh."""
    load_module(model.body, load_tensors(folder / INITIAL, MODEL), folder / INITIAL)


def readable_length(config: BodyConfig) -> int:
    """The longest sequence, in tokens, that a body reads."""
    return getattr(config, "max_length", 512)
