"""Random command lines: no traceback, no other exit code than 0 and 2, no hang, no memory hunger.

Commands, options and settings are those of the real parser; their values are good ones, wrong
types, huge numbers, odd strings, and paths that are missing, folders or broken files. Each line is
run by a process forked from one that has imported everything, in a folder of its own, without a
network. A fault is: a traceback, an exit code other than 0 and 2, a mistake that is not told in
one line, more than 20 seconds of computing, or more than 2 GB. A training or figure that still runs
then is told to stop (SIGTERM), and must end with 143. Prints a table, and exits with 1 if there
was a fault.

    python -m benchmarks.faults.command_lines [--cases 10000] [--seed 0] [--show NUMBER]
"""

import argparse
import gc
import os
import random
import resource
import shlex
import shutil
import signal
import sys
import tempfile
import time
import types
import typing
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import benchmarks.faults.warm  # noqa: F401  imports what most commands do
from benchmarks.faults.trial import SETTINGS
from landmark.cli.main import build_app, run
from landmark.interop.huggingface import download as hub
from landmark.tasks.card import CARDS
from landmark.tasks.index import read_index

SECONDS = 20.0
MEMORY = 2 << 30
TOGETHER = 2
WORKING = ("train", "race", "rate-finder", "demo", "figure")
"""Commands that may compute longer, if they stop when they are told to."""
LOCAL = ("transformer-embedded", "lenet5-digits", "gan-gaussian")
"""Recipes whose data come with the package."""
SMALL = tuple(word for word in SETTINGS if word.startswith(("data.", "model.", "tokenizer.")))
SHORT = ("trainer.max_steps=2", "threads=1", "device=cpu")

INTEGERS = ("0", "1", "2", "3", "7", "-1", "100", "1000000", "1000000000", "2147483648",
            "9223372036854775808", "1" + "0" * 30, "1e9", "0x10", "½", "1.5")  # fmt: skip
FLOATS = ("0", "1", "0.5", "-1", "1e-300", "1e300", "1e-5", "inf", "-inf", "nan", "1e999", "0,5")
TEXTS = ("", " ", "a", "Das ist gut .", "\x1b[2J\x1b]0;title\x07", "\u202eabc", "😀" * 50,
         "x" * 5000, "-", "--", "a\nb", "\t", "%s%n", "{}", "..", "a=b", "null", "[1, 2",
         "\udcff\udc80", "e\u0301" * 100, "0", "True")  # fmt: skip
PATHS = ("missing", "missing/deep", "folder", "empty", "noise.bin", "text.txt", "text.de",
         "table.tsv", "broken.yaml", "broken.json", "picture.png", "digits", "loop", "locked", ".",
         "", "~", "a" * 300, "esc\x1b[31m.txt", "broken-run", "\udcff", "-", "text.txt/below",
         "runs", "out.png", "out.npy", "out.json", "new")  # fmt: skip
GOOD_PATHS = ("text.txt", "text.de", "table.tsv", "picture.png", "digits", "out.png", "new")
RUNS = {
    "translator": CARDS["translation"],
    "writer": CARDS["language-model"],
    "bert": CARDS["masked-language-model"],
    "lenet": CARDS["image-classification"],
    "gan": CARDS["adversarial"],
}
"""The runs that there are, and the tasks they are of."""
GOOD_SETTINGS = ("seed=3", "trainer.log_every=1", "batches.workers=1", "trainer.clip_norm=1.0")
ALL_RUNS = [f"runs/{name}" for name in RUNS]


@dataclass
class Case:
    """One command line and what came of it."""

    number: int
    words: list[str]
    folder: Path
    process: int = 0
    began: float = 0.0
    told: float = 0.0
    """When it was told to stop."""


@dataclass
class Tally:
    """What came of one command's lines."""

    outcomes: Counter[str] = field(default_factory=Counter)
    slowest: float = 0.0
    megabytes: float = 0.0
    faults: list[str] = field(default_factory=list)


class Speaker:
    """Makes random command lines of the parser's commands and options."""

    def __init__(self, seed: int) -> None:
        import typer

        self.seed = seed
        self.commands = dict(_leaves(typer.main.get_command(build_app()), ()))
        self.index = read_index()
        self.keys = _settings()
        self.evil = 0.0
        self.fitting: list[str] = []

    def words(self, number: int) -> list[str]:
        """A numbered line, the same whenever it is asked for."""
        dice = random.Random(f"{self.seed} {number}")
        path = list(self.commands)[number % len(self.commands)]
        self.evil = dice.choice((0.0, 0.1, 0.1, 0.3, 0.8))
        self.fitting = [f"runs/{its}" for its, card in RUNS.items() if path[0] in card.verb_names()]
        words = [*path]
        options = [p for p in self.commands[path].params if p.param_type_name == "option"]
        if path == ("train",) and not self.evil:  # most of its options are for one kind of data
            options = [p for p in options if p.name in ("run", "threads", "profile", "tensorboard")]
        for parameter in self.commands[path].params:
            is_given = parameter.param_type_name == "argument" or parameter.required
            if is_given and dice.random() < 0.95:
                words += self.given(parameter, dice)
        if options:
            for parameter in dice.choices(options, k=dice.choice((0, 0, 1, 1, 2, 4))):
                words += self.given(parameter, dice)
        if dice.random() < 0.05:
            words.insert(dice.randrange(len(words) + 1), dice.choice((*TEXTS, "--no-such-option")))
        if path[0] == "train" and dice.random() < 0.9:
            words += SHORT + (SMALL if "transformer-embedded" in words else ())
        return [word for word in words if "\0" not in word]

    def given(self, parameter: Any, dice: random.Random) -> list[str]:
        """An argument or option with a value, or several."""
        if parameter.param_type_name == "option" and getattr(parameter, "is_flag", False):
            return [dice.choice([*parameter.opts, *parameter.secondary_opts])]
        many = parameter.nargs == -1 or getattr(parameter, "multiple", False)
        values = [self.value(parameter, dice) for _ in range(dice.choice((1, 1, 2)) if many else 1)]
        if parameter.param_type_name == "argument":
            return values
        return [word for value in values for word in (parameter.opts[0], value)]

    def value(self, parameter: Any, dice: random.Random) -> str:
        """Mostly one of the right kind."""
        kind, name = _kind(parameter), parameter.name
        choices = typing.get_args(kind) if typing.get_origin(kind) is typing.Literal else ()
        is_evil = dice.random() < self.evil
        if is_evil and dice.random() < 0.3:
            return dice.choice(TEXTS + INTEGERS + PATHS)
        if choices:
            return str(dice.choice(choices))
        if name == "overrides":
            return self.override(dice) if is_evil else dice.choice(GOOD_SETTINGS)
        if name in ("run", "runs", "names", "RUN") or (parameter.metavar or "").startswith("RUN"):
            return dice.choice(PATHS if is_evil else self.fitting or ALL_RUNS)
        if name == "recipe":
            return dice.choice((*self.index.recipes, "broken.yaml", "gpt2") if is_evil else LOCAL)
        if kind is int:
            return dice.choice(INTEGERS if is_evil else INTEGERS[1:5])
        if kind is float:
            return dice.choice(FLOATS if is_evil else FLOATS[1:3])
        if name.startswith("image"):
            return dice.choice(PATHS if is_evil else ("picture.png", "digits"))
        if name in ("network", "networks", "names"):
            return dice.choice((*self.index.networks, *TEXTS))
        if kind is Path:
            return dice.choice((*PATHS, *ALL_RUNS) if is_evil else GOOD_PATHS)
        return dice.choice((*TEXTS, *TEXTS, *INTEGERS, *PATHS) if is_evil else TEXTS[2:4])

    def override(self, dice: random.Random) -> str:
        value = dice.choice((*INTEGERS, *FLOATS, *TEXTS, "true", "[]", "{}", "[1, 2]", "text.txt"))
        return f"{dice.choice(self.keys)}={value}"


def _leaves(command: Any, path: tuple[str, ...]) -> Any:
    """Every command that does something, by its words."""
    inner = getattr(command, "commands", {})
    for name, its in inner.items():
        yield from _leaves(its, (*path, name))
    if not inner:
        yield path, command


def _kind(parameter: Any) -> Any:
    """What a value must be; of a list, what is in it."""
    kind = parameter.type_descriptor.annotation
    while typing.get_origin(kind) in (list, types.UnionType, typing.Union):
        kind = next(its for its in typing.get_args(kind) if its is not type(None))
    return kind


def _settings() -> list[str]:
    """The dotted keys of some recipes."""
    from landmark.tasks.training import as_values, flatten, resolve

    return sorted({key for name in LOCAL for key in flatten(as_values(resolve(name, ())))})


def furnish(folder: Path) -> None:
    """The folder that every line begins in: runs, broken files, odd names."""
    from landmark.tasks.training import train

    os.chdir(folder)
    line = "The old man reads a good book ."
    Path("text.txt").write_text(f"{line}\n\n" * 30)
    Path("text.de").write_text("Der alte Mann liest ein gutes Buch .\n\n" * 30)
    Path("table.tsv").write_text(f"{line}\tDas Buch .\n" * 30)
    Path("noise.bin").write_bytes(random.Random(0).randbytes(5000))
    Path("empty").write_bytes(b"")
    Path("broken.yaml").write_text("task: [\n")
    Path("broken.json").write_text('{"a": ')
    Path("esc\x1b[31m.txt").write_text(line)
    Path("folder").mkdir()
    Path("loop").symlink_to("loop")
    Path("locked").mkdir(mode=0)
    Path("broken-run").mkdir()
    Path("broken-run/recipe.yaml").write_text("task: translation\n# sha256: 00\n")
    _draw_digits()
    steps = ["trainer.max_steps=2", "trainer.validate_every=2", "trainer.checkpoint_every=2"]
    small = ["model.hidden_size=16", "model.num_heads=2", "model.num_layers=2"]
    page = ["data.text=[text.txt]", "threads=1", "schedule.warmup_steps=1", *steps]
    bert = [*page, *small, "model.max_length=32", "tokenizer.vocab_size=60"]
    train("transformer-embedded", Path("runs/translator"), list(SETTINGS))
    lstm = [*page, "model.embedding_size=8", "model.hidden_size=16"]
    train("language-model", Path("runs/writer"), lstm)
    train("bert", Path("runs/bert"), bert)
    digits = [*steps, "threads=1", "device=cpu"]
    train("lenet5-digits", Path("runs/lenet"), digits)
    train("gan-gaussian", Path("runs/gan"), digits)


def _draw_digits() -> None:
    """A picture, and a folder of pictures in classes."""
    from PIL import Image

    for number in range(8):
        folder = Path(f"digits/{number % 4}")
        folder.mkdir(parents=True, exist_ok=True)
        Image.new("L", (20, 20), 20 * number).save(folder / f"{number}.png")
    Image.new("RGB", (32, 24), (200, 20, 20)).save("picture.png")


def start(case: Case) -> None:
    """Fork a process that runs the line."""
    case.began = time.monotonic()
    case.process = os.fork()
    if case.process:
        return
    try:
        _become_command(case.folder)
        code = run(case.words)
        sys.stdout.flush()
        sys.stderr.flush()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:
        import traceback

        traceback.print_exc()
        code = 99
    os._exit(code)


def _become_command(folder: Path) -> None:
    """A session, folder, home, input and output of its own; no network, bounded memory."""
    os.setsid()
    os.chdir(folder)
    for number, name in ((0, os.devnull), (1, "../stdout"), (2, "../stderr")):
        handle = os.open(name, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(handle, number)
        os.close(handle)
    os.environ |= {"HOME": str(folder), "XDG_CACHE_HOME": str(folder / "cache"),
                   "TMPDIR": str(folder), "HF_HUB_OFFLINE": "1"}  # fmt: skip
    os.environ.pop("LANDMARK_DATA", None)
    tempfile.tempdir = str(folder)
    import socket

    def refuse(*words: object) -> None:
        raise ConnectionRefusedError(111, "no network here")

    socket.socket.connect = refuse  # type: ignore[method-assign,assignment]
    socket.getaddrinfo = refuse  # type: ignore[assignment]
    hub._PAUSE = 0.0  # there is nothing to wait for
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * os.sysconf("SC_PAGE_SIZE") + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 28, 1 << 28))


def judge(case: Case, code: int) -> str:
    """stopped, done, refused, or what is wrong."""
    said = (case.folder.parent / "stderr").read_text(errors="replace")
    lines = [line for line in said.split("\n") if line.startswith("landmark: ")]
    if "Traceback" in said:
        return f"traceback: {said[-600:]!r}"
    if case.told:
        if code not in (0, 2, 143):
            return f"told to stop, it ended with {code}: {said[-300:]!r}"
        return "stopped" if case.words[:1] and case.words[0] in WORKING else "over 20 s"
    if code == 0 and not lines:
        return "done"
    if code == 2 and len(lines) == 1:
        return "refused"
    return f"ended with {code}: {said[-400:]!r}"


class Attack:
    """Runs lines, two at a time, and watches them."""

    def __init__(self, speaker: Speaker, template: Path, scratch: Path) -> None:
        self.speaker, self.template, self.scratch = speaker, template, scratch
        self.tallies: dict[str, Tally] = {}
        self.running: list[Case] = []

    def run(self, numbers: Sequence[int]) -> None:
        for number in numbers:
            while len(self.running) >= TOGETHER:
                self.watch()
            case = Case(number, self.speaker.words(number), self.scratch / str(number) / "here")
            shutil.copytree(self.template, case.folder, symlinks=True)
            start(case)
            self.running.append(case)
        while self.running:
            self.watch()

    def watch(self) -> None:
        """Collect what has ended, and stop what takes too long."""
        for case in list(self.running):
            ended, status, used = os.wait4(case.process, os.WNOHANG)
            now = time.monotonic()
            if ended:
                self.running.remove(case)
                self.note(case, os.waitstatus_to_exitcode(status), used.ru_maxrss / 1024)
            elif case.told and now - case.told > SECONDS:
                os.killpg(case.process, signal.SIGKILL)
            elif not case.told and (_worked(case) > SECONDS or now - case.began > 3 * SECONDS):
                case.told = now
                os.kill(case.process, signal.SIGTERM)
        time.sleep(0.005)

    def note(self, case: Case, code: int, megabytes: float) -> None:
        name = " ".join(w for w in case.words[:2] if w.isidentifier() or "-" in w[1:])
        path = next((p for p in self.speaker.commands if case.words[: len(p)] == [*p]), ("odd",))
        name = " ".join(path)
        tally = self.tallies.setdefault(name, Tally())
        outcome = judge(case, code)
        tally.megabytes = max(tally.megabytes, megabytes)
        tally.slowest = max(tally.slowest, (case.told or time.monotonic()) - case.began)
        if outcome in ("done", "refused", "stopped"):
            tally.outcomes[outcome] += 1
        else:
            tally.faults.append(f"{case.number}: landmark {shlex.join(case.words)}\n    {outcome}")
            print(ascii(tally.faults[-1]), file=sys.stderr, flush=True)
        _remove(case.folder.parent)


def _worked(case: Case) -> float:
    """The seconds that a process has computed: on a busy machine fewer than have gone by."""
    fields = Path(f"/proc/{case.process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _remove(folder: Path) -> None:
    for locked in (folder / "here/locked", folder / "here"):
        if locked.is_dir():
            locked.chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)


def report(tallies: dict[str, Tally]) -> int:
    """Print the table; the number of faults."""
    print(f"{'command':24} lines  done refused stopped faults  slowest    memory")
    for name, tally in sorted(tallies.items()):
        done, refused, stopped = (tally.outcomes[its] for its in ("done", "refused", "stopped"))
        total = tally.outcomes.total() + len(tally.faults)
        print(
            f"{name:24} {total:5} {done:5} {refused:7} {stopped:7} {len(tally.faults):6} "
            f"{tally.slowest:6.1f} s {tally.megabytes:6,.0f} MB"
        )
    faults = [fault for tally in tallies.values() for fault in tally.faults]
    for fault in faults:
        print(fault.encode("utf-8", "backslashreplace").decode())
    print(f"{len(faults)} faults")
    return len(faults)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0, help="number of the first line")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", type=int, help="only print the line of this number")
    arguments = parser.parse_args()
    speaker = Speaker(arguments.seed)
    if arguments.show is not None:
        print(ascii(["landmark", *speaker.words(arguments.show)]))
        return
    with tempfile.TemporaryDirectory() as scratch:
        template = Path(scratch) / "template"
        template.mkdir()
        furnish(template)
        os.chdir(scratch)
        gc.collect()
        gc.freeze()
        attack = Attack(speaker, template, Path(scratch))
        attack.run(range(arguments.first, arguments.first + arguments.cases))
    sys.exit(bool(report(attack.tallies)))


if __name__ == "__main__":
    main()
