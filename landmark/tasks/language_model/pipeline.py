"""The text generation pipeline: prompts in, continuations out.

A recurrent model carries a state of one size. A GPT looks back on a window, its context: when a
text fills it, the older half is forgotten and the newer half read again, so memory does not grow
with a text's length.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NoReturn

import torch
from torch import Tensor

from landmark.core.errors import ItemError, UserError
from landmark.core.runtime import Precision, autocast, choose_device, derive_seed, lower
from landmark.data.running_text.character import (
    CharacterTokenizer,
    ForeignSubwords,
    TextTokenizer,
    UnknownCharacterError,
    load_tokenizer,
)
from landmark.data.text_file import check_text, check_texts
from landmark.decoding.blocking import PADDING, Blocking
from landmark.decoding.extension import keep_in_place
from landmark.decoding.stepwise import (
    Chooser,
    SamplingConfig,
    choose_greedily,
    penalize_repetition,
    sampler,
)
from landmark.decoding.stop_string import StopFilter
from landmark.engine.run import Run
from landmark.layers.layout import has_columns, numpy_alone, pack_columns, store_by_columns
from landmark.layers.packing import Packing
from landmark.layers.quantization import quantize_linear_layers
from landmark.models.transformer.gpt import GPTConfig
from landmark.tasks.card import Item, OpenOptions, Report, Result, precision_of
from landmark.tasks.language_model.run import LanguageModelRun, build_model
from landmark.tasks.training import check_assets, load_weights

NEWLINE = "\n"
BATCH_SIZE = 16
_INCOMPLETE = "\ufffd"  # how a decoder writes the first bytes of a character
_AS_IT_BELIEVES = SamplingConfig()
_NOTHING = Blocking()
Ending = Literal["length", "stop", "end"]


@dataclass(frozen=True)
class Generation(Result):
    """One text that a model wrote."""

    prompt: str
    text: str
    """What comes after the prompt."""
    log_probability: float
    """Of all its tokens together, by the model itself, whatever they were drawn by."""
    tokens: tuple[int, ...]
    """All that were drawn, those of a stop string and the end-of-text token among them."""
    ending: Ending
    """What ended it: its length, a stop string, or the end-of-text token."""
    sample: int = 1
    """Which of its prompt's texts it is."""
    number: int | None = None
    """Which of all texts it is; None for a single one."""

    def json(self) -> dict[str, Any]:
        return {
            "sample": self.sample,
            "prompt": self.prompt,
            "text": self.text,
            "log_probability": self.log_probability,
            "tokens": len(self.tokens),
            "ending": self.ending,
        }

    def lines(self) -> list[str]:
        heading = [] if self.number is None else [f"--- {self.number} ---"]
        return [*heading, self.prompt + self.text]


@dataclass(frozen=True)
class GenerationConfig:
    """How text is generated; without `sampling`, greedily."""

    length: int = 500
    sampling: SamplingConfig | None = _AS_IT_BELIEVES
    repetition_penalty: float = 1.0
    stop: tuple[str, ...] = ()
    seed: int = 1
    blocking: Blocking = _NOTHING
    """What may not be written: n-grams that were read or written before, too early an end."""

    def __post_init__(self) -> None:
        if self.length < 1:
            raise UserError(f"length {self.length}: must be at least 1")
        if self.repetition_penalty <= 0:
            raise UserError(f"repetition penalty {self.repetition_penalty}: must be above 0")
        if self.blocking.min_length > self.length:
            raise UserError(
                f"min_length {self.blocking.min_length}: is more than the length of {self.length}"
            )
        if "" in self.stop:
            raise UserError("a stop string is empty: every text would end at once")


def refuse_int8(what: str) -> NoReturn:
    """Only a GPT computes in 8 bits."""
    raise UserError(
        f"{what}: int8 is for a GPT: a recurrent model's weights are not in linear layers"
    )


def open_pipeline(
    run: Run, config: LanguageModelRun, options: OpenOptions, report: Report
) -> "GenerationPipeline":
    """A run of a language model."""
    check_assets(run)
    precision = precision_of(options)
    return GenerationPipeline(run, config, options.checkpoint, options.device, precision)


class GenerationPipeline:
    """A run's model and tokenizer, ready to write.

    To a recurrent model a prompt begins a line: it reads a line's end before it, as a running text
    has no beginning that a model could know. A GPT reads the prompt alone, as its windows began
    anywhere. Without a prompt it reads what its documents begin with; else the end of a line; and
    where the vocabulary has no such sign, the first entry, the first character of its training.
    """

    def __init__(
        self,
        run: Run,
        config: LanguageModelRun,
        checkpoint: str | None,
        device: str,
        precision: Precision | None = None,
    ) -> None:
        self.run, self.config = run, config
        self.precision: Precision = precision or "fp32"
        self.measured: Precision = precision or config.trainer.precision
        """What `evaluate` computes in: unless asked for another, as validation did."""
        self.device = choose_device(device)
        self.tokenizer = load_tokenizer(run.folder / "tokenizer.json")
        self.end = None if isinstance(self.tokenizer, CharacterTokenizer) else self.tokenizer.end
        self.context = config.model.max_length if isinstance(config.model, GPTConfig) else None
        """Most tokens that a prompt may have; a recurrent model reads any number."""
        self.opening = "" if self.context else self._newline()
        self.model: Any = build_model(config.model).eval()
        self.checkpoint = load_weights(self.model, run, checkpoint, len(self.tokenizer))
        self.model.to(self.device)
        if self.context:
            lower(self.model, self.precision)
        if self.device.type == "cpu" and self.precision == "fp32":
            store_by_columns(self.model)

    def generate(
        self,
        prompt: str | Sequence[str] = "",
        length: int = 500,
        *,
        sampling: SamplingConfig | None = _AS_IT_BELIEVES,
        repetition_penalty: float = 1.0,
        no_repeat_ngram: int | None = None,
        min_length: int = 0,
        stop: Sequence[str] = (),
        samples: int = 1,
        seed: int = 1,
        batch_size: int = BATCH_SIZE,
        watch: Callable[[str], None] | None = None,
    ) -> list[Generation]:
        """Texts of at most `length` tokens after a prompt, or after each of several in turn.

        What sample n of prompt p draws depends on the seed, p and n alone. `batch_size` texts are
        written at a time. `watch` is shown the first text, piece by piece as it is written.
        """
        writing = length, sampling, repetition_penalty, tuple(stop), seed
        config = GenerationConfig(*writing, Blocking(no_repeat_ngram, min_length))
        prompts = [prompt] if isinstance(prompt, str) else check_texts(prompt)
        places = "the prompt" if len(prompts) == 1 else "prompt {}"
        items = [Item(text, places.format(n), n) for n, text in enumerate(prompts, 1)]
        written = self.write(items, config, samples, batch_size, watch)
        return written if len(written) > 1 else [replace(one, number=None) for one in written]

    def write(
        self,
        items: Sequence[Item],
        config: GenerationConfig,
        samples: int = 1,
        batch_size: int = BATCH_SIZE,
        watch: Callable[[str], None] | None = None,
    ) -> list[Generation]:
        """The same for prompts with their places and numbers: those of a file, part by part."""
        if samples < 1 or batch_size < 1:
            raise UserError(f"samples {samples}, batch {batch_size}: both must be at least 1")
        if config.blocking.min_length and self.end is None:
            raise UserError(
                f"{self.run.folder}: its texts have no end-of-text token: leave out min_length"
            )
        drafts = self._drafts(items, samples, config)
        together = sorted(drafts, key=lambda draft: len(draft.read))  # of like length
        for first in range(0, len(drafts), batch_size):
            for _ in self._write(together[first : first + batch_size], config):
                if watch and (piece := drafts[0].take()):
                    watch(piece)
        return [draft.finished() for draft in drafts]

    def stream(
        self,
        prompt: str = "",
        length: int = 500,
        *,
        sampling: SamplingConfig | None = _AS_IT_BELIEVES,
        repetition_penalty: float = 1.0,
        stop: Sequence[str] = (),
        seed: int = 1,
    ) -> Iterator[str]:
        """The first text that `generate` would give, piece by piece as it is written."""
        config = GenerationConfig(length, sampling, repetition_penalty, tuple(stop), seed)
        (draft,) = self._drafts([Item(prompt, "the prompt", 1)], 1, config)
        for _ in self._write([draft], config):
            if piece := draft.take():
                yield piece

    def encode_prompt(self, prompt: str, place: str = "the prompt") -> list[int]:
        """The tokens to go on from; at least one."""
        check_text(prompt, place)
        try:
            tokens = self.tokenizer.encode([self.opening + prompt])[0] or self._beginning()
        except UnknownCharacterError as error:
            offset = error.offset - len(self.opening) + 1
            raise error.at(f"{place}, character {offset}") from None
        if self.context and len(tokens) > self.context:
            raise ItemError(
                f"{place} has {len(tokens)} tokens, but the model's context is {self.context}: "
                "shorten it"
            )
        return tokens

    def read(self, rows: Sequence[Sequence[int]], room: int) -> tuple[Tensor, Any]:
        """Logits of what comes after each of these, and the state to go on from. (R, V)"""
        packed = torch.tensor([token for row in rows for token in row], device=self.device)
        packing = Packing(torch.tensor([len(row) for row in rows])).to(self.device)
        with autocast(self.device, self.precision):
            logits, state = self.model.start(packed, packing, room)
        return logits.float(), state

    def read_on(self, tokens: Tensor, state: Any) -> Tensor:
        """Logits of what comes after these, the newest of each row. (R,) -> (R, V)"""
        with autocast(self.device, self.precision):
            logits: Tensor = self.model.step(tokens, state)
        return logits.float()

    def check_finite(self, values: Tensor) -> None:
        """Refuse a model whose numbers cannot be used."""
        if not values.isfinite().all():
            raise UserError(f"{self.checkpoint}: the model's output is not finite: use another")

    def quantize(self) -> None:
        """From now on compute in 8 bits: a third of the time on a CPU, and a little off."""
        if self.context is None:
            refuse_int8(str(self.run.folder))
        if self.precision != "fp32":
            raise UserError(f"int8 and precision {self.precision}: leave one of them out")
        if self.device.type != "cpu":
            raise UserError(f"int8 is for the CPU, not for {self.device}: leave one of them out")
        quantize_linear_layers(self.model)

    @torch.inference_mode()
    def _write(self, drafts: list["_Draft"], config: GenerationConfig) -> Iterator[None]:
        """Write texts to their ends, a token each at a time; finished ones leave the batch."""
        if len(drafts) > 1:
            pack_columns(self.model)
        prompts = list({draft.item.number: draft.read for draft in drafts}.items())
        places = {number: place for place, (number, _) in enumerate(prompts)}
        logits, state = self.read([read for _, read in prompts], config.length)
        rows = torch.tensor([places[draft.item.number] for draft in drafts], device=self.device)
        if len(rows) > len(prompts):
            state.select_rows(rows)
        logits = logits.index_select(0, rows)
        writing = _Writing(drafts, logits, config)
        is_columnar = has_columns(self.model)
        while True:
            with numpy_alone(is_columnar and len(logits) == 1):
                tokens = self._choose(logits, writing, config)
            yield
            if not writing.going:
                return
            if (kept := writing.leave()) is not None:
                tokens = tokens[kept]
                state.select_rows(kept)
            with numpy_alone(is_columnar and len(tokens) == 1):
                logits = self.read_on(tokens, state)

    def _choose(self, logits: Tensor, writing: "_Writing", config: GenerationConfig) -> Tensor:
        """The next token of every text, noted down. (R, V) -> (R,)"""
        believed = logits.log_softmax(-1)
        self.check_finite(believed.amax(-1))
        weighed = logits
        if writing.is_said is not None:
            weighed = penalize_repetition(logits, writing.is_said, config.repetition_penalty)
        if config.blocking != _NOTHING:
            weighed = config.blocking.apply(weighed, *writing.held(), self.end)
        choose: Chooser = choose_greedily
        if config.sampling:
            choose = sampler(config.sampling, writing.uniform().to(logits.device))
        tokens = choose(weighed, writing.rows, 1)
        writing.note(tokens, believed.gather(1, tokens[:, None])[:, 0])
        return tokens

    def _drafts(
        self, items: Sequence[Item], samples: int, config: GenerationConfig
    ) -> list["_Draft"]:
        """A text to be written for each sample of each prompt."""
        drafts = []
        for item in items:
            read = self.encode_prompt(item.value, item.place)
            earlier = item.number - 1
            seed = derive_seed(config.seed, "prompt", earlier) if earlier else config.seed
            for sample in range(1, samples + 1):
                generator = torch.Generator().manual_seed(derive_seed(seed, "sample", sample - 1))
                scribe, number = _Scribe(self.tokenizer, read), earlier * samples + sample
                drafts.append(
                    _Draft(item, sample, number, read, generator, scribe, self.end, config)
                )
        return drafts

    def _newline(self) -> str:
        """A line's end, if the vocabulary has one."""
        try:
            self.tokenizer.encode([NEWLINE])
        except UnknownCharacterError:
            return ""
        return NEWLINE

    def _beginning(self) -> list[int]:
        """What is read where there is nothing to read."""
        begins_with_end = self.config.data.separate_documents or isinstance(
            self.tokenizer, ForeignSubwords
        )
        if self.end is not None and begins_with_end:
            return [self.end]
        return self.tokenizer.encode([self._newline()])[0] or [0]


class _Draft:
    """One text while it is written."""

    def __init__(
        self,
        item: Item,
        sample: int,
        number: int,
        read: list[int],
        generator: torch.Generator,
        scribe: "_Scribe",
        end: int | None,
        config: GenerationConfig,
    ) -> None:
        self.item, self.sample, self.number, self.read = item, sample, number, read
        self.generator, self.scribe, self.end = generator, scribe, end
        self.limit, self.filter = config.length, StopFilter(config.stop)
        self.tokens: list[int] = []
        self.pieces: list[str] = []
        self.log_probability = 0.0
        self.ending: Ending | None = None
        self._shown = 0

    def add(self, token: int, gained: float) -> None:
        """Note the next token, and whether it is the last."""
        self.tokens.append(token)
        self.log_probability += gained
        if token == self.end:
            self.ending = "end"
        else:
            self.pieces.append(self.filter.add(self.scribe.add(token)))
            if not self.filter.stopped and len(self.tokens) == self.limit:
                self.ending = "length"
        if self.ending:  # a character that is cut off may yet complete a stop string
            self.pieces.append(self.filter.add(self.scribe.finish()))
        if self.filter.stopped:
            self.ending = "stop"
        elif self.ending:
            self.pieces.append(self.filter.finish())

    def take(self) -> str:
        """What was written since this was last asked for."""
        piece, self._shown = "".join(self.pieces[self._shown :]), len(self.pieces)
        return piece

    def finished(self) -> Generation:
        """The text; it must have ended."""
        assert self.ending is not None
        return Generation(
            self.item.value,
            "".join(self.pieces),
            self.log_probability,
            tuple(self.tokens),
            self.ending,
            self.sample,
            self.number,
        )


class _Writing:
    """The texts of a batch that go on, a row each, and what each has read and said."""

    def __init__(self, drafts: list[_Draft], logits: Tensor, config: GenerationConfig) -> None:
        self.drafts = drafts
        self.rows = torch.arange(len(drafts), device=logits.device)
        self.is_said: Tensor | None = None
        if config.repetition_penalty != 1:
            self.is_said = torch.zeros_like(logits, dtype=torch.bool)
            for row, draft in zip(self.is_said, drafts, strict=True):
                row[draft.read] = True

    @property
    def going(self) -> list[_Draft]:
        return [draft for draft in self.drafts if draft.ending is None]

    def uniform(self) -> Tensor:
        """A number in [0, 1) for each row, of its own sequence. (R, 1)"""
        return torch.stack([torch.rand(1, generator=draft.generator) for draft in self.drafts])

    def held(self) -> tuple[Tensor, int]:
        """What each row has read and said (R, T), and how much of it was said."""
        rows = [[*draft.read, *draft.tokens] for draft in self.drafts]
        longest = max(map(len, rows))
        padded = [[*[PADDING] * (longest - len(row)), *row] for row in rows]
        return torch.tensor(padded, device=self.rows.device), len(self.drafts[0].tokens)

    def note(self, tokens: Tensor, gained: Tensor) -> None:
        """Each row says its token."""
        if self.is_said is not None:
            self.is_said.scatter_(1, tokens[:, None], value=True)
        for draft, token, gain in zip(self.drafts, tokens.tolist(), gained.tolist(), strict=True):
            draft.add(token, gain)

    def leave(self) -> Tensor | None:
        """Let finished texts go; the rows that stay in their new order, or None if all do."""
        is_going = [draft.ending is None for draft in self.drafts]
        if all(is_going):
            return None
        kept = keep_in_place(torch.tensor(is_going, device=self.rows.device))
        self.drafts = [self.drafts[row] for row in kept.tolist()]
        self.rows = self.rows[: len(kept)]
        if self.is_said is not None:
            self.is_said = self.is_said[kept]
        return kept


class _Scribe:
    """Writes tokens down as they come; a character of several bytes when it is whole.

    A token's text may depend on the one before it (a space between words), so each is decoded
    together with those written last; `before`: what the text goes on from.
    """

    def __init__(self, tokenizer: TextTokenizer, before: Sequence[int] = ()) -> None:
        self.tokenizer = tokenizer
        self._tokens = list(before[-1:])
        self._settle()

    def add(self, token: int) -> str:
        """The text that this token completes."""
        self._tokens.append(token)
        return "" if self._text().endswith(_INCOMPLETE) else self.finish()

    def finish(self) -> str:
        """All that is not written yet."""
        text = self._text()[len(self._written_text) :]
        del self._tokens[: self._written]
        self._settle()
        return text

    def _settle(self) -> None:
        """All tokens that are held are written now."""
        self._written, self._written_text = len(self._tokens), self._text()

    def _text(self) -> str:
        return self.tokenizer.decode([self._tokens])[0]
