"""`landmark story`: a text adventure with a language model, as AI Dungeon is (Walton 2019)."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from landmark.cli.options import Checkpoint, Device, RunFolder
from landmark.cli.text.generation import (
    Int8,
    RepetitionPenalty,
    Temperature,
    TopK,
    TopP,
    sampling_of,
)
from landmark.core.errors import UserError

if TYPE_CHECKING:
    from landmark.tasks.language_model.pipeline import GenerationPipeline

HELP = """\
Type what happens next; the model continues the story. An empty line lets the model continue alone.
/undo        remove the last turn
/retry       generate the model's part of the last turn again, with a new seed
/seed [N]    show the next random seed, or set it
/save FILE   save the story to a file (landmark story RUN --story FILE continues it)
/restart     start again
/help        show this help
/quit        exit (so does Ctrl-D); Ctrl-C stops the generation"""


def tell(
    run: RunFolder,
    story: Annotated[
        Path | None, typer.Option(help="A text file to continue, such as /save writes.")
    ] = None,
    length: Annotated[int, typer.Option(min=1, help="Maximum number of new tokens per turn.")] = 80,
    temperature: Temperature = 0.8,
    top_k: TopK = None,
    top_p: TopP = None,
    repetition_penalty: RepetitionPenalty = 1.0,
    seed: Annotated[
        int, typer.Option(help="Random seed of the first turn; each turn adds one.")
    ] = 1,
    int8: Int8 = False,
    checkpoint: Checkpoint = None,
    device: Device = "auto",
) -> None:
    """Play a text adventure: write a story in turns with a language model."""
    from landmark.tasks.loading import load

    options = {
        "sampling": sampling_of(temperature, top_k, top_p),
        "repetition_penalty": repetition_penalty,
    }
    beginning = _read_story(story) if story else ""
    pipeline = load(run, checkpoint, device, task="language-model")
    if int8:
        pipeline.quantize()
    game = Game(pipeline, Story(beginning), length, options, seed)
    _say(f"The story begins (seed {seed}). Write what happens; /help lists commands.")
    sys.stdout.write(beginning)
    for line in _lines():
        if not game.play(line):
            break
    sys.stdout.write("\n")


@dataclass
class Turn:
    """What the player wrote, and how the model went on."""

    player: str
    model: str = ""


class Story:
    """A beginning and the turns since."""

    def __init__(self, beginning: str = "") -> None:
        self.beginning = beginning
        self.turns: list[Turn] = []

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
        self,
        pipeline: "GenerationPipeline",
        story: Story,
        length: int,
        options: dict[str, Any],
        seed: int,
    ) -> None:
        self.pipeline, self.story = pipeline, story
        self.length, self.options, self.seed = length, options, seed
        self.commands: dict[str, Callable[[str], None]] = {
            "/undo": self._undo,
            "/retry": self._retry,
            "/seed": self._seed,
            "/save": self._save,
            "/restart": self._restart,
            "/help": lambda _: _say(HELP),
        }

    def play(self, line: str) -> bool:
        """Answer a line; whether the game goes on. A mistake is named, and changes nothing."""
        word, _, rest = line.strip().partition(" ")
        if word == "/quit":
            return False
        try:
            if line.startswith("/"):
                self._command(word, rest.strip())
            else:
                self._write(Turn(line))
        except UserError as error:
            _say(f"landmark: {error}")
        return True

    def _command(self, word: str, rest: str) -> None:
        from landmark.core.registry import nearest

        if word not in self.commands:
            raise UserError(f"unknown command {word!r}: {nearest(word, [*self.commands, '/quit'])}")
        self.commands[word](rest)

    def _write(self, turn: Turn) -> None:
        """Let the model go on, and show it as it comes."""
        self.story.turns.append(turn)
        pieces: Iterator[str] = iter(())  # if Ctrl-C comes before the first
        try:
            with _until_interrupted():
                pieces = self._begin()
        except UserError:
            self.story.turns.pop()
            raise
        _say(f"[seed {self.seed}]")
        self.seed += 1
        sys.stdout.write(turn.player)
        with _until_interrupted():
            for piece in pieces:
                turn.model += piece
                sys.stdout.write(piece)
                sys.stdout.flush()
        sys.stdout.write("\n")
        sys.stdout.flush()

    def _begin(self) -> Iterator[str]:
        """What the model writes, piece by piece; the first is there already, or a mistake shown."""
        prompt = newest_part(self.pipeline, self.story.text, self.length)
        pieces = self.pipeline.stream(prompt, self.length, seed=self.seed, **self.options)
        return chain([next(pieces, "")], pieces)

    def _undo(self, _: str) -> None:
        turn = self._take_back()
        _say(f"taken back: {turn.player + turn.model!r}")

    def _retry(self, _: str) -> None:
        turn = self._take_back()
        try:
            self._write(Turn(turn.player))
        except UserError:
            self.story.turns.append(turn)
            raise

    def _take_back(self) -> Turn:
        if not self.story.turns:
            raise UserError("there is no turn to take back")
        return self.story.turns.pop()

    def _seed(self, given: str) -> None:
        try:
            self.seed = int(given) if given else self.seed
        except ValueError:
            raise UserError(f"/seed {given}: a seed is a whole number") from None
        _say(f"the next seed is {self.seed}")

    def _save(self, name: str) -> None:
        if not name:
            raise UserError("/save needs a file: /save story.txt")
        try:
            Path(name).write_text(self.story.text, encoding="utf-8")
        except OSError as error:
            raise UserError(f"{name}: cannot be written: {error.strerror}") from None
        _say(f"saved to {name}")

    def _restart(self, _: str) -> None:
        self.story = Story(self.story.beginning)
        _say("the story begins again")
        sys.stdout.write(self.story.beginning)


def newest_part(pipeline: "GenerationPipeline", text: str, room: int) -> str:
    """As much of the end of a text as leaves room in the context: whole lines, or else words."""
    if pipeline.context is None:
        return text
    most = max(1, pipeline.context // 2, pipeline.context - room)
    while (count := len(pipeline.tokenizer.encode([text])[0])) > most:
        parts = (text.partition(sign)[2] for sign in ("\n", " ") if count < 4 * most)
        text = next((after for after in parts if after), text[(len(text) + 1) // 2 :])
    return text


def _read_story(path: Path) -> str:
    from landmark.data.text_file import read_text

    return "".join(read_text(path))


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


def _say(text: str) -> None:
    """To the player, beside the story."""
    print(text, file=sys.stderr, flush=True)
