"""A loaded language model: a beginning in, text that goes on from it out."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from landmark.core.errors import UserError
from landmark.core.runtime import choose_device, derive_seed
from landmark.data.running_text.character import (
    TextTokenizer,
    UnknownCharacterError,
    load_tokenizer,
)
from landmark.data.text_file import is_valid
from landmark.decoding.stepwise import Chooser, SamplingConfig, choose_greedily, sampler
from landmark.engine.checkpoint import load_module
from landmark.engine.run import Run
from landmark.engine.session import load_player
from landmark.models.recurrent.language_model import RecurrentLanguageModel
from landmark.recipes.language_model import LanguageModelRun

NEWLINE = "\n"
_INCOMPLETE = "\ufffd"  # how a decoder writes the first bytes of a character
_AS_IT_BELIEVES = SamplingConfig()


@dataclass(frozen=True)
class Generation:
    """One text that a model wrote."""

    prompt: str
    text: str
    """What comes after the prompt."""
    log_probability: float
    """Of all its tokens together, by the model itself, whatever they were drawn by."""
    tokens: tuple[int, ...]


class GenerationPipeline:
    """A run's model and tokenizer, ready to write.

    A prompt begins a line: the model reads a line's end before it, as a running text has no
    beginning that a model could know. Where the vocabulary has no such sign, it reads the prompt
    alone and, without one, the first entry, which for characters is the training text's first.
    """

    def __init__(
        self, run: Run, config: LanguageModelRun, checkpoint: str | None, device: str
    ) -> None:
        self.run, self.config = run, config
        self.device = choose_device(device)
        self.tokenizer = load_tokenizer(run.folder / "tokenizer.json")
        if len(self.tokenizer) != config.model.vocab_size:
            raise UserError(
                f"{run.folder}: the vocabulary does not match: the model has "
                f"{config.model.vocab_size} entries, tokenizer.json has {len(self.tokenizer)}"
            )
        self.opening = self._opening()
        self.checkpoint = run.find_checkpoint(checkpoint)
        self.model = RecurrentLanguageModel(config.model).eval()
        load_module(self.model, load_player(self.checkpoint, "model"), self.checkpoint)
        self.model.to(self.device)

    def generate(
        self,
        prompt: str = "",
        length: int = 500,
        *,
        sampling: SamplingConfig | None = _AS_IT_BELIEVES,
        samples: int = 1,
        seed: int = 1,
    ) -> list[Generation]:
        """Texts of `length` tokens after the prompt; without `sampling`, the likeliest each time.

        What sample n draws depends on the seed and on n alone.
        """
        steps = list(self._speak(prompt, length, sampling, samples, seed))
        rows = torch.stack([tokens for tokens, _ in steps], 1).tolist()
        totals = torch.stack([gained for _, gained in steps], 1).sum(1).tolist()
        texts = self.tokenizer.decode(rows)
        return [
            Generation(prompt, text, total, tuple(row))
            for text, total, row in zip(texts, totals, rows, strict=True)
        ]

    def stream(
        self,
        prompt: str = "",
        length: int = 500,
        *,
        sampling: SamplingConfig | None = _AS_IT_BELIEVES,
        seed: int = 1,
    ) -> Iterator[str]:
        """The first text that `generate` would give, piece by piece as it is written."""
        scribe = _Scribe(self.tokenizer)
        for tokens, _ in self._speak(prompt, length, sampling, 1, seed):
            if piece := scribe.add(int(tokens)):
                yield piece
        if rest := scribe.finish():
            yield rest

    @torch.inference_mode()
    def _speak(
        self, prompt: str, length: int, sampling: SamplingConfig | None, samples: int, seed: int
    ) -> Iterator[tuple[Tensor, Tensor]]:
        """The next token of every sample and its log-probability, step by step. (R,), (R,)"""
        if length < 1 or samples < 1:
            raise UserError(f"length {length}, samples {samples}: both must be at least 1")
        *read, last = self.encode_prompt(prompt)
        choose = self._chooser(sampling, samples, seed)
        state = self.model.start(torch.tensor([read], dtype=torch.int64, device=self.device))
        numbers = torch.arange(samples, device=self.device)
        state.select_rows(torch.zeros_like(numbers))
        tokens = torch.full_like(numbers, last)
        for step in range(1, length + 1):
            log_probabilities = self.model.step(tokens, state).log_softmax(-1)
            if log_probabilities.isnan().any():
                raise UserError(f"{self.checkpoint}: the model's output is not finite: use another")
            tokens = choose(log_probabilities, numbers, step)
            gained = log_probabilities.gather(1, tokens[:, None])[:, 0]
            yield tokens.cpu(), gained.double().cpu()

    def encode_prompt(self, prompt: str) -> list[int]:
        """The tokens to go on from; at least one."""
        if not is_valid(prompt):
            raise UserError("the prompt is not valid UTF-8")
        try:
            return self.tokenizer.encode([self.opening + prompt])[0] or [0]
        except UnknownCharacterError as error:
            place = error.offset - len(self.opening) + 1
            raise error.at(f"the prompt, character {place}") from None

    def _opening(self) -> str:
        """What is read before a prompt."""
        try:
            self.tokenizer.encode([NEWLINE])
        except UnknownCharacterError:
            return ""
        return NEWLINE

    def _chooser(self, sampling: SamplingConfig | None, samples: int, seed: int) -> Chooser:
        """How tokens are chosen; numbers are drawn step by step, as a text may be of any length."""
        if sampling is None:
            return choose_greedily
        generators = [
            torch.Generator().manual_seed(derive_seed(seed, "sample", number))
            for number in range(samples)
        ]

        def choose(log_probabilities: Tensor, numbers: Tensor, step: int) -> Tensor:
            uniform = torch.stack([torch.rand(1, generator=its) for its in generators])
            return sampler(sampling, uniform.to(self.device))(log_probabilities, numbers, 1)

        return choose


class _Scribe:
    """Writes tokens down as they come; a character of several bytes when it is whole."""

    def __init__(self, tokenizer: TextTokenizer) -> None:
        self.tokenizer = tokenizer
        self.unwritten: list[int] = []

    def add(self, token: int) -> str:
        """The text that this token completes."""
        self.unwritten.append(token)
        return "" if self._text().endswith(_INCOMPLETE) else self.finish()

    def finish(self) -> str:
        """All that is not written yet."""
        text = self._text()
        self.unwritten = []
        return text

    def _text(self) -> str:
        return self.tokenizer.decode([self.unwritten])[0]
