"""A loaded BERT: texts with blanks in, what may stand there out.

Each blank is guessed on its own, with all others hidden. Several are also filled together, from
left to right: after each, the rest is guessed anew, and the likeliest few ways are kept.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from landmark.core.errors import UserError
from landmark.core.runtime import choose_device
from landmark.data.running_text.wordpiece import WordPieceTokenizer
from landmark.data.text_file import is_valid
from landmark.engine.checkpoint import load_module
from landmark.engine.run import Run
from landmark.engine.session import load_player
from landmark.layers.packing import Packing
from landmark.models.transformer.bert import PretrainedBERT
from landmark.tasks.masked_language_model.run import MaskedLanguageModelRun


@dataclass(frozen=True)
class Guess:
    """What may stand at a blank."""

    token: str
    """As the vocabulary writes it: ## goes on a word."""
    probability: float


@dataclass(frozen=True)
class Filling:
    """All blanks of a text filled in."""

    text: str
    tokens: tuple[str, ...]
    probability: float
    """Of all together: of each, given those before it."""


@dataclass(frozen=True)
class FilledText:
    """A text, what may stand at each of its blanks, and at all of them together."""

    text: str
    blanks: tuple[tuple[Guess, ...], ...]
    fillings: tuple[Filling, ...]


class FillingPipeline:
    """A run's model and tokenizer, ready to fill in blanks."""

    def __init__(
        self, run: Run, config: MaskedLanguageModelRun, checkpoint: str | None, device: str
    ) -> None:
        self.run, self.config = run, config
        self.device = choose_device(device)
        self.tokenizer = WordPieceTokenizer.load(run.folder / "tokenizer.json")
        if len(self.tokenizer) != config.model.vocab_size:
            raise UserError(
                f"{run.folder}: the vocabulary does not match: the model has "
                f"{config.model.vocab_size} entries, tokenizer.json has {len(self.tokenizer)}"
            )
        self.checkpoint = run.find_checkpoint(checkpoint)
        self.model = PretrainedBERT(config.model).eval()
        load_module(self.model, load_player(self.checkpoint, "model"), self.checkpoint)
        self.model.to(self.device)

    def fill(self, text: str, top_k: int = 5) -> FilledText:
        """What may stand at each [MASK] of a text; [SEP] separates two segments."""
        if top_k < 1:
            raise UserError(f"top_k {top_k}: must be at least 1")
        tokens = self.encode(text)
        blanks = (tokens == self.tokenizer.mask).nonzero()[:, 0]
        if not len(blanks):
            mask = self.tokenizer.roles["mask"]
            raise UserError(f"{text!r}: there is nothing to fill in: write {mask} where it is")
        likely = self._guess(tokens[None], blanks[None]).exp()[0].topk(self._most(top_k))
        guesses = tuple(
            tuple(map(Guess, self.tokenizer.pieces(numbers.tolist()), chances.tolist()))
            for chances, numbers in zip(*likely, strict=True)
        )
        return FilledText(text, guesses, self._fill_together(text, tokens, blanks, top_k))

    def encode(self, text: str) -> Tensor:
        """A text's tokens from [CLS] to [SEP], which the model must have room for. (T,)"""
        if not is_valid(text):
            raise UserError("the text is not valid UTF-8")
        tokens = self.tokenizer.encode_marked(text)
        if tokens[:1] != [self.tokenizer.begin]:
            tokens = [self.tokenizer.begin, *tokens]
        if tokens[-1] != self.tokenizer.separator:
            tokens = [*tokens, self.tokenizer.separator]
        longest = self.config.model.max_length
        if len(tokens) > longest:
            raise UserError(
                f"{text[:40]!r}…: the text has {len(tokens)} tokens with [CLS] and [SEP], the "
                f"model reads at most {longest}: shorten it"
            )
        return torch.tensor(tokens, device=self.device)

    def _most(self, top_k: int) -> int:
        return min(top_k, len(self.tokenizer.ordinary))

    @torch.inference_mode()
    def _guess(self, rows: Tensor, places: Tensor) -> Tensor:
        """Log-probabilities of text at some places of each row. (R, T), (R, M) -> (R, M, V)"""
        count, length = rows.shape
        separators = (rows == self.tokenizer.separator).long()
        segments = (separators.cumsum(1) - separators).clamp(max=1)
        packing = Packing.full(count, length, self.device)
        hidden = self.model(rows.flatten(), packing, segments.flatten()).view(count, length, -1)
        chosen = hidden.gather(1, places[..., None].expand(-1, -1, hidden.shape[-1]))
        logits = self.model.heads.guess(chosen.flatten(0, 1)).view(*places.shape, -1)
        if logits.isnan().any():
            raise UserError(f"{self.checkpoint}: the model's output is not finite: use another")
        is_text = torch.zeros(logits.shape[-1], dtype=torch.bool, device=self.device)
        is_text[torch.from_numpy(self.tokenizer.ordinary).to(self.device)] = True
        return logits.masked_fill(~is_text, -torch.inf).log_softmax(-1)

    def _fill_together(
        self, text: str, tokens: Tensor, blanks: Tensor, top_k: int
    ) -> tuple[Filling, ...]:
        """Beam search over the blanks, from left to right."""
        rows, scores = tokens[None], torch.zeros(1, device=self.device)
        for blank in blanks:
            steps = self._guess(rows, blank.expand(len(rows), 1))[:, 0]  # (R, V)
            totals = (scores[:, None] + steps).flatten()
            scores, best = totals.topk(min(self._most(top_k), int(totals.isfinite().sum())))
            rows = rows[best // steps.shape[1]]  # a copy, so that each can be filled
            rows[:, blank] = best % steps.shape[1]
        filled = rows[:, blanks].tolist()
        return tuple(
            Filling(
                self._write(text, numbers), tuple(self.tokenizer.pieces(numbers)), float(chance)
            )
            for numbers, chance in zip(filled, scores.exp().tolist(), strict=True)
        )

    def _write(self, text: str, numbers: Sequence[int]) -> str:
        """The text with its blanks filled in."""
        written, rest = "", text
        for number in numbers:
            before, rest = self._cut(rest)
            word = self.tokenizer.spell(number)
            goes_on = bool(self.tokenizer.continues[number])
            written += (before.rstrip() if goes_on else before) + word
        return written + rest

    def _cut(self, text: str) -> tuple[str, str]:
        """What stands before the first blank, and behind it."""
        masks = {"[MASK]", self.tokenizer.roles["mask"]}
        before, mask, behind = min(
            (text.partition(mask) for mask in masks), key=lambda parts: len(parts[0])
        )
        assert mask
        return before, behind
