"""`landmark story`: a text adventure with a language model, as AI Dungeon is (Walton 2019)."""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from landmark.core.errors import UserError
from landmark.core.registry import nearest
from landmark.data.text_file import read_text
from landmark.tasks.card import Report, Result
from landmark.tasks.language_model.options import StoryOptions
from landmark.tasks.language_model.pipeline import GenerationPipeline
from landmark.tasks.language_model.verbs import check_sampling, sampling_of

HELP = """\
Type what happens next; the model continues the story. An empty line lets the model continue alone.
/undo        remove the last turn
/retry       generate the model's part of the last turn again, with a new seed
/seed [N]    show the next random seed, or set it
/save FILE   save the story to a file (landmark story RUN --story FILE continues it)
/restart     start again
/help        show this help
/quit        exit (so does Ctrl-D); Ctrl-C stops the generation"""


def check(config: Any, options: StoryOptions, has_input: bool) -> None:
    """Refuse what does not go together, and a story that cannot be read."""
    check_sampling(config, options)
    if options.story:
        read_story(options.story)


def read_story(path: Path) -> str:
    """The text of a story so far."""
    return "".join(read_text(path))


def tell(
    pipeline: GenerationPipeline, blocks: Iterable[Any], options: StoryOptions, report: Report
) -> Iterator["StoryTurn"]:
    """Play with whoever types the lines of standard input; a turn is shown as it is written."""
    if options.int8:
        pipeline.quantize()
    beginning = read_story(options.story) if options.story else ""
    game = Game(pipeline, Story(beginning), options, report)
    game.say(f"The story begins (seed {options.seed}). Write what happens; /help lists commands.")
    game.show(beginning)
    for line in _lines():
        if line.strip().partition(" ")[0] == "/quit":
            break
        yield from game.play(line)
    game.show("\n")


@dataclass
class StoryTurn(Result):
    """What the player wrote, and how the model continued it."""

    player: str
    model: str = ""
    seed: int = 1

    def json(self) -> dict[str, Any]:
        return {"player": self.player, "model": self.model, "seed": self.seed}

    def lines(self) -> list[str]:
        return [self.player + self.model]


class Story:
    """A beginning and the turns since."""

    def __init__(self, beginning: str = "") -> None:
        self.beginning = beginning
        self.turns: list[StoryTurn] = []

    @property
    def text(self) -> str:
        """All so far; a player's text that does not go on from nothing begins a line."""
        text = self.beginning
        for turn in self.turns:
            if turn.player and text and not text.endswith("\n"):
                text += "\n"
            text += turn.player + turn.model
        return text


class Game:
    """Player and model, who write in turns; what the player types is text or a command."""

    def __init__(
        self, pipeline: GenerationPipeline, story: Story, options: StoryOptions, report: Report
    ) -> None:
        self.pipeline, self.story, self.report = pipeline, story, report
        self.length, self.seed = options.length, options.seed
        self.options: dict[str, Any] = {
            "sampling": sampling_of(options),
            "repetition_penalty": options.repetition_penalty,
        }
        self.commands: dict[str, Callable[[str], Iterator[StoryTurn]]] = {
            "/undo": self._undo,
            "/retry": self._retry,
            "/seed": self._seed,
            "/save": self._save,
            "/restart": self._restart,
            "/help": self._help,
        }

    def say(self, text: str) -> None:
        """To the player, beside the story."""
        self.report({"kind": "note", "text": text})

    def show(self, text: str) -> None:
        """As a part of the story."""
        self.report({"kind": "piece", "text": text})

    def play(self, line: str) -> Iterator[StoryTurn]:
        """Answer a line. A mistake is named, and changes nothing."""
        word, _, rest = line.strip().partition(" ")
        try:
            if line.startswith("/"):
                if word not in self.commands:
                    known = nearest(word, [*self.commands, "/quit"])
                    raise UserError(f"unknown command {word!r}: {known}")
                yield from self.commands[word](rest.strip())
            else:
                yield from self._write(StoryTurn(line))
        except UserError as error:
            self.say(f"landmark: {error}")

    def _write(self, turn: StoryTurn) -> Iterator[StoryTurn]:
        """Let the model go on, and show it as it comes."""
        self.story.turns.append(turn)
        pieces: Iterator[str] = iter(())  # if Ctrl-C comes before the first
        try:
            with _until_interrupted():
                pieces = self._begin()
        except UserError:
            self.story.turns.pop()
            raise
        turn.seed = self.seed
        self.say(f"[seed {self.seed}]")
        self.seed += 1
        self.show(turn.player)
        with _until_interrupted():
            for piece in pieces:
                turn.model += piece
                self.show(piece)
        yield turn

    def _begin(self) -> Iterator[str]:
        """What the model writes, piece by piece; the first is there already, or a mistake shown."""
        prompt = newest_part(self.pipeline, self.story.text, self.length)
        pieces = self.pipeline.stream(prompt, self.length, seed=self.seed, **self.options)
        return chain([next(pieces, "")], pieces)

    def _undo(self, _: str) -> Iterator[StoryTurn]:
        turn = self._take_back()
        self.say(f"taken back: {turn.player + turn.model!r}")
        yield from ()

    def _retry(self, _: str) -> Iterator[StoryTurn]:
        turn = self._take_back()
        try:
            yield from self._write(StoryTurn(turn.player))
        except UserError:
            self.story.turns.append(turn)
            raise

    def _take_back(self) -> StoryTurn:
        if not self.story.turns:
            raise UserError("there is no turn to undo")
        return self.story.turns.pop()

    def _seed(self, given: str) -> Iterator[StoryTurn]:
        try:
            self.seed = int(given) if given else self.seed
        except ValueError:
            raise UserError(f"/seed {given}: the seed must be an integer") from None
        self.say(f"the next seed is {self.seed}")
        yield from ()

    def _save(self, name: str) -> Iterator[StoryTurn]:
        if not name:
            raise UserError("/save needs a file: /save story.txt")
        try:
            Path(name).write_text(self.story.text, encoding="utf-8")
        except OSError as error:
            raise UserError(f"{name}: cannot be written: {error.strerror}") from None
        self.say(f"saved to {name}")
        yield from ()

    def _restart(self, _: str) -> Iterator[StoryTurn]:
        self.story = Story(self.story.beginning)
        self.say("the story begins again")
        self.show(self.story.beginning)
        yield from ()

    def _help(self, _: str) -> Iterator[StoryTurn]:
        self.say(HELP)
        yield from ()


def newest_part(pipeline: GenerationPipeline, text: str, room: int) -> str:
    """As much of the end of a text as leaves room in the context: whole lines, or else words."""
    if pipeline.context is None:
        return text
    most = max(1, pipeline.context // 2, pipeline.context - room)
    while (count := len(pipeline.tokenizer.encode([text])[0])) > most:
        parts = (text.partition(sign)[2] for sign in ("\n", " ") if count < 4 * most)
        text = next((after for after in parts if after), text[(len(text) + 1) // 2 :])
    return text


def _lines() -> Iterator[str]:
    """What the player types, a line at a time, or what a pipe brings."""
    if sys.stdin is None:  # the caller closed it
        return
    if not sys.stdin.isatty():
        for number, line in enumerate(sys.stdin.buffer, 1):
            try:
                yield line.decode().rstrip("\r\n")
            except UnicodeDecodeError:
                raise UserError(f"stdin:{number}: not valid UTF-8") from None
        return
    while True:
        try:
            yield _ask()
        except EOFError:
            return


def _ask() -> str:
    """A line typed after a prompt, which is no part of a story that goes to a file."""
    if sys.stdout.isatty():
        return input("> ")  # where a line can be edited
    print("> ", end="", file=sys.stderr, flush=True)
    return input()


@contextmanager
def _until_interrupted() -> Iterator[None]:
    """Ctrl-C at a terminal ends what is being written, and nothing more."""
    try:
        yield
    except KeyboardInterrupt as interrupt:
        if type(interrupt) is not KeyboardInterrupt or not sys.stdin.isatty():
            raise
