"""The fill-mask pipeline: texts with masks in, predictions out.

Each blank is guessed on its own, with all others hidden. Several are also filled together, from
left to right: after each, the rest is guessed anew, and the likeliest few ways are kept.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from landmark.core.errors import ItemError, UserError
from landmark.core.runtime import Precision, autocast, choose_device
from landmark.data.running_text.wordpiece import WordPieceTokenizer
from landmark.data.text_file import check_text
from landmark.engine.checkpoint import load_module
from landmark.engine.run import Run
from landmark.engine.session import load_player
from landmark.layers.packing import Packing
from landmark.models.transformer.bert import PretrainedBERT
from landmark.tasks.card import OpenOptions, Report, Result, precision_of
from landmark.tasks.masked_language_model.run import MaskedLanguageModelRun
from landmark.tasks.training import check_assets

_TOGETHER = 4096  # tokens of a batch of copies of a text


@dataclass(frozen=True)
class MaskPrediction:
    """A predicted token for a mask."""

    token: str
    """As in the vocabulary: ## continues a word."""
    probability: float


@dataclass(frozen=True)
class Filling:
    """A text with all masks filled in."""

    text: str
    tokens: tuple[str, ...]
    probability: float
    """Joint probability: of each token given those before it."""


@dataclass(frozen=True)
class FilledText(Result):
    """A text with the predictions for each mask, and for all masks together."""

    text: str
    blanks: tuple[tuple[MaskPrediction, ...], ...]
    fillings: tuple[Filling, ...]

    def json(self) -> dict[str, Any]:
        return asdict(self)

    def lines(self) -> list[str]:
        """One line a filling; of several blanks, first each on its own."""
        lines = [self.text]
        if len(self.blanks) > 1:
            for number, guesses in enumerate(self.blanks, 1):
                lines += [f"  blank {number}  {g.probability:.3g}  {g.token}" for g in guesses]
        return lines + [
            f"  {f.probability:.3g}  {' '.join(f.tokens)}  {f.text}" for f in self.fillings
        ]


def open_pipeline(
    run: Run, config: MaskedLanguageModelRun, options: OpenOptions, report: Report
) -> "FillingPipeline":
    """A run of a masked language model."""
    check_assets(run)
    precision = precision_of(options)
    return FillingPipeline(run, config, options.checkpoint, options.device, precision)


class FillingPipeline:
    """A run's model and tokenizer for filling in masks."""

    def __init__(
        self,
        run: Run,
        config: MaskedLanguageModelRun,
        checkpoint: str | None,
        device: str,
        precision: Precision | None = None,
    ) -> None:
        self.run, self.config = run, config
        self.precision: Precision = precision or "fp32"
        self.measured: Precision = precision or config.trainer.precision
        """What `evaluate` computes losses in: unless asked for another, as validation did."""
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

    def fill(self, text: str, top_k: int = 5, *, place: str | None = None) -> FilledText:
        """What may stand at each [MASK] of a text; [SEP] separates two segments.

        `place`: how messages name the text.
        """
        if top_k < 1:
            raise UserError(f"top_k {top_k}: must be at least 1")
        place = place or _shortened(check_text(text, "the text"))
        tokens = self.encode(text, place)
        blanks = (tokens == self.tokenizer.mask).nonzero()[:, 0]
        if not len(blanks):
            mask = self.tokenizer.roles["mask"]
            raise ItemError(f"{place}: there is no mask: write {mask} for the missing word")
        likely = self._guess(tokens[None], blanks[None]).exp()[0].topk(self._most(top_k))
        guesses = tuple(
            tuple(map(MaskPrediction, self.tokenizer.pieces(numbers.tolist()), chances.tolist()))
            for chances, numbers in zip(*likely, strict=True)
        )
        return FilledText(text, guesses, self._fill_together(text, tokens, blanks, top_k))

    def encode(self, text: str, place: str = "the text") -> Tensor:
        """A text's tokens from [CLS] to [SEP], which the model must have room for. (T,)"""
        check_text(text, place)
        try:
            tokens = self.tokenizer.encode_marked(text)
        except UserError as error:
            raise ItemError(f"{place}: {error}") from None
        if tokens[:1] != [self.tokenizer.begin]:
            tokens = [self.tokenizer.begin, *tokens]
        if tokens[-1] != self.tokenizer.separator:
            tokens = [*tokens, self.tokenizer.separator]
        longest = self.config.model.max_length
        if len(tokens) > longest:
            raise ItemError(
                f"{place}: the text has {len(tokens)} tokens with [CLS] and [SEP], the "
                f"model reads at most {longest}: shorten it"
            )
        return torch.tensor(tokens, device=self.device)

    @torch.inference_mode()
    def pseudo_log_likelihood(self, tokens: Sequence[int]) -> float:
        """The log-probability of each token given all others, in sum: each is masked in turn.

        Salazar et al. 2020, "Masked Language Model Scoring", arXiv 1910.14659. The tokens are those
        of a text, without [CLS] and [SEP].
        """
        whole = torch.tensor([self.tokenizer.begin, *tokens, self.tokenizer.separator])
        total, together = 0.0, max(1, _TOGETHER // len(whole))
        for part in torch.arange(1, len(whole) - 1).split(together):
            rows = whole.repeat(len(part), 1).scatter_(1, part[:, None], self.tokenizer.mask)
            logits = self._logits(rows.to(self.device), part[:, None].to(self.device))[:, 0]
            labels = whole[part].to(self.device)
            total += logits.log_softmax(-1).gather(1, labels[:, None]).sum().item()
        return total

    def _most(self, top_k: int) -> int:
        return min(top_k, len(self.tokenizer.ordinary))

    @torch.inference_mode()
    def _guess(self, rows: Tensor, places: Tensor) -> Tensor:
        """Log-probabilities of text at some places of each row. (R, T), (R, M) -> (R, M, V)"""
        logits = self._logits(rows, places)
        is_text = torch.zeros(logits.shape[-1], dtype=torch.bool, device=self.device)
        is_text[torch.from_numpy(self.tokenizer.ordinary).to(self.device)] = True
        return logits.masked_fill(~is_text, -torch.inf).log_softmax(-1)

    def _logits(self, rows: Tensor, places: Tensor) -> Tensor:
        """Of every entry at some places of each row. (R, T), (R, M) -> (R, M, V)"""
        count, length = rows.shape
        separators = (rows == self.tokenizer.separator).long()
        segments = (separators.cumsum(1) - separators).clamp(max=1)
        packing = Packing.full(count, length, self.device)
        with autocast(self.device, self.precision):
            hidden = self.model(rows.flatten(), packing, segments.flatten())
            hidden = hidden.view(count, length, -1)
            chosen = hidden.gather(1, places[..., None].expand(-1, -1, hidden.shape[-1]))
            guessed = self.model.heads.guess(chosen.flatten(0, 1))
        logits: Tensor = guessed.float().view(*places.shape, -1)
        if logits.isnan().any():
            raise UserError(f"{self.checkpoint}: the model's output is not finite: use another")
        return logits

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


def _shortened(text: str) -> str:
    """The beginning of a text, for messages."""
    return f"{text[:40]!r}…" if len(text) > 40 else repr(text)
