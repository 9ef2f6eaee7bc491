"""What `landmark generate` and `landmark prompt` do with a language model."""

import dataclasses
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from landmark.core.errors import UserError
from landmark.decoding.blocking import Blocking
from landmark.decoding.stepwise import SamplingConfig
from landmark.models.transformer.gpt import GPTConfig
from landmark.tasks.card import Item, Record, Remark, Report, Result, answer
from landmark.tasks.language_model.options import (
    GenerateOptions,
    PromptOptions,
    SamplingOptions,
)
from landmark.tasks.language_model.pipeline import (
    Generation,
    GenerationConfig,
    GenerationPipeline,
    refuse_int8,
)
from landmark.tasks.language_model.prompting import answer_questions, read_task

Blocks = Iterable[Sequence[Item]]


def check_generate(config: Any, options: GenerateOptions, has_input: bool) -> None:
    """Refuse what does not go together."""
    generation_config(options)
    check_sampling(config, options)
    if options.temperature == 0 and options.samples > 1:
        raise UserError("temperature 0 is greedy: all --samples would be the same")
    if options.temperature == 0 and options.seed is not None:
        raise UserError("temperature 0 is greedy: omit --seed")


def check_sampling(config: Any, options: SamplingOptions) -> None:
    """Refuse draws where nothing is drawn, and 8 bits for what has none."""
    sampling_of(options)
    if options.int8 and not isinstance(config.model, GPTConfig):
        refuse_int8("this run")


def sampling_of(options: SamplingOptions) -> SamplingConfig | None:
    """How to draw; None takes the most probable token."""
    if options.temperature == 0:
        if options.top_k or options.top_p:
            raise UserError("temperature 0 is greedy: --top-k and --top-p need a higher one")
        return None
    return SamplingConfig(temperature=options.temperature, top_k=options.top_k, top_p=options.top_p)


def generation_config(options: GenerateOptions) -> GenerationConfig:
    """How the texts are written."""
    return GenerationConfig(
        options.length,
        sampling_of(options),
        options.repetition_penalty,
        tuple(map(unescape, options.stop)),
        1 if options.seed is None else options.seed,
        Blocking(options.no_repeat_ngram, options.min_length),
    )


def unescape(text: str) -> str:
    r"""A stop string as it is typed: \n is a line's end, \t a tab, \\ a backslash."""
    meanings = {"n": "\n", "t": "\t", "\\": "\\"}
    parts = iter(text)
    read = []
    for sign in parts:
        following = next(parts, "") if sign == "\\" else ""
        read.append(meanings.get(following, sign + following) if following else sign)
    return "".join(read)


def generate(
    pipeline: GenerationPipeline, blocks: Blocks, options: GenerateOptions, report: Report
) -> Iterator[Record]:
    """What the model writes after each prompt; a single text is shown piece by piece."""
    if options.int8:
        pipeline.quantize()
    config = generation_config(options)
    tokens, seconds = 0, 0.0
    for block in blocks:
        is_alone = len(block) * options.samples == 1 and block[0].number == 1
        watch = _show_after(block[0].value, report) if is_alone else None

        def write(items: Sequence[Item], watch: Any = watch) -> list[Record]:
            written = pipeline.write(items, config, options.samples, options.batch_size, watch)
            return [*written]

        started = time.perf_counter()
        for record in answer([block], write):
            seconds += time.perf_counter() - started
            if isinstance(record, Generation):
                tokens += len(record.tokens)
                yield dataclasses.replace(record, number=None) if is_alone else record
            else:
                yield record
            started = time.perf_counter()
    if options.speed and tokens:
        rate = f"{tokens / seconds:,.1f} tokens a second"
        yield Remark(f"{tokens:,} tokens in {seconds:.2f} s: {rate}")


def _show_after(prompt: str, report: Report) -> Callable[[str], None]:
    """Reports pieces as they come; the prompt before the first, when all mistakes have shown."""
    before = [prompt]

    def show(piece: str) -> None:
        report({"kind": "piece", "text": "".join(before) + piece})
        before.clear()

    return show


@dataclass(frozen=True)
class ShownQuestion(Result):
    """A question as the model reads it."""

    prompt: str

    def json(self) -> dict[str, Any]:
        return {"prompt": self.prompt}

    def lines(self) -> list[str]:
        return [self.prompt]


@dataclass(frozen=True)
class PromptAccuracy(Result):
    """How many of the questions that have a gold answer were answered by it."""

    right: int
    questions: int

    @property
    def accuracy(self) -> float:
        return self.right / self.questions

    def json(self) -> dict[str, Any]:
        return {"accuracy": self.accuracy, "right": self.right, "questions": self.questions}

    def lines(self) -> list[str]:
        return [f"accuracy {self.accuracy:.1%} ({self.right} of {self.questions})"]


def check_prompt(config: Any, options: PromptOptions, has_input: bool) -> None:
    """Refuse a task file that is at fault."""
    read_task(options.task, shots=options.shots)


def prompt(
    pipeline: GenerationPipeline, blocks: Blocks, options: PromptOptions, report: Report
) -> Iterator[Record]:
    """An answer to each question of a task file, and the accuracy."""
    task, questions = read_task(options.task, shots=options.shots)
    if options.show:
        yield ShownQuestion(questions[0].prompt)
        return
    verdicts = []
    for found in answer_questions(pipeline, task, questions):
        yield found
        if found.is_right is not None:
            verdicts.append(found.is_right)
    if verdicts:
        yield PromptAccuracy(sum(verdicts), len(verdicts))
