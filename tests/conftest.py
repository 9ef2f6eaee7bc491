"""What several tests share: a very small translation recipe, and one run trained with it."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch is imported

LAUNCHING = {
    f"tests/{name}.py"
    for name in (
        "engine/test_distributed", "engine/test_sharding", "engine/test_source",
        "engine/test_trainer",
        "examples/test_alexnet_two_devices", "faults/test_hosts", "faults/test_long_run",
        "faults/test_numbers", "faults/test_processes", "racing/test_worker_pool",
        "tasks/language_model/test_run", "tasks/masked_language_model/test_run",
        "tasks/understanding/test_run",
    )
}  # fmt: skip
"""Files that launch groups of processes, which keep a machine busy and mind the clock."""


def file_of(test: str) -> str:
    """The file of a test's identifier."""
    return test.partition("::")[0]


def pytest_make_parametrize_id(val):
    """Bytes are called by their number: those of gzip hold the time, and names must not change."""
    return f"{len(val)} bytes" if isinstance(val, bytes) else None


def pytest_collection_modifyitems(config, items):
    """Where tests run side by side, the longest row of them begins first."""
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: file_of(item.nodeid) not in LAUNCHING)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Side by side by file, but only one of those that launch groups of processes at a time."""
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid):
            file = file_of(nodeid)
            return "launching" if file in LAUNCHING else file

    config.option.loadscopereorder = False  # the order above
    return Scheduling(config, log)


TINY = [
    "data.train_pairs=300",
    "data.valid_pairs=20",
    "tokenizer.vocab_size=500",
    "model.hidden_size=16",
    "model.inner_size=32",
    "model.num_heads=2",
    "model.encoder_layers=1",
    "model.decoder_layers=1",
    "model.dropout=0.1",
    "model.max_length=64",
    "batches.tokens=200",
    "trainer.max_steps=12",
    "trainer.validate_every=5",
    "trainer.checkpoint_every=4",
    "trainer.keep_last=5",
    "trainer.log_every=3",
    "threads=1",
]


@pytest.fixture(scope="session")
def tiny() -> list[str]:
    """Settings that make a translation recipe train in a second."""
    return TINY


@pytest.fixture(scope="session")
def tiny_run(tmp_path_factory, tiny) -> Path:
    """A finished run of the tiny recipe; tests read it and copy it, but never change it."""
    from landmark.tasks.training import train

    return train("transformer-embedded", tmp_path_factory.mktemp("runs") / "tiny", tiny).folder


@pytest.fixture(scope="session")
def tiny_recurrent(tiny) -> list[str]:
    """Settings that make a recurrent translation recipe train in a second."""
    shape = ["model.embedding_size=12", "model.hidden_size=16", "model.dropout=0.1"]
    return [*(setting for setting in tiny if not setting.startswith("model.")), *shape]


@pytest.fixture(scope="session")
def recurrent_run(tmp_path_factory, tiny_recurrent) -> Path:
    """A finished run of the recurrent recipe; tests read it and copy it, but never change it."""
    from landmark.tasks.training import train

    folder = tmp_path_factory.mktemp("runs") / "recurrent"
    return train("seq2seq-embedded", folder, tiny_recurrent).folder


@pytest.fixture
def thrice(monkeypatch) -> None:
    """Let translation models say every source token three times, and then end."""
    from landmark.decoding.speaker import Hypothesis
    from landmark.tasks.searching import TorchEngine

    def search(engine, requests, *options):
        said = [[token for token in r.source for _ in range(3)] for r in requests]
        return [
            [Hypothesis(tuple(tokens[: r.limit]), -1.0, -1.0, len(tokens) < r.limit)]
            for r, tokens in zip(requests, said, strict=True)
        ]

    monkeypatch.setattr(TorchEngine, "search", search)


@pytest.fixture
def rewrite_recipe():
    """Change a run's recipe as if it had been trained so: its digest is right."""
    from landmark.engine.run import Run

    def change(folder: Path, old: str, new: str) -> None:
        text = (folder / "recipe.yaml").read_text().rpartition("# sha256: ")[0]
        assert old in text
        Run(folder).write_recipe(text.replace(old, new))

    return change


@pytest.fixture(scope="session")
def needs_program():
    """Install a program that a test needs; where that cannot be, skip, and fail under CI."""

    def is_here(program: str) -> bool:
        """Debian keeps games in a folder of their own, which root's PATH lacks."""
        return bool(shutil.which(program) or shutil.which(program, path="/usr/games"))

    def check(program: str, package: str) -> None:
        if not is_here(program) and os.geteuid() == 0 and shutil.which("apt-get"):
            install = ["apt-get", "install", "--yes", "--quiet", "-o", "DPkg::Lock::Timeout=300"]
            subprocess.run([*install, package], check=False)
        if not is_here(program):
            stop = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
            stop(f"{program} is missing: apt-get install {package}")

    return check


@pytest.fixture
def landmark_command():
    """Call the real command in a process of its own."""

    def call(*words, stdin: str | bytes | None = None, **options):
        command = [sys.executable, "-m", "landmark", *map(str, words)]
        given = stdin.encode() if isinstance(stdin, str) else stdin
        result = subprocess.run(command, input=given, capture_output=True, timeout=120, **options)  # noqa: PLW1510
        result.stdout, result.stderr = result.stdout.decode(), result.stderr.decode()
        return result

    return call


@dataclass(frozen=True)
class Answer:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        """What was printed, cut at newlines alone: a translation may hold other odd signs."""
        *lines, rest = self.out.split("\n")
        assert rest == "", "the last line is whole"
        return lines


@pytest.fixture
def command(capsys) -> Callable[..., Answer]:
    """Call `landmark` with these words, in this process."""
    from landmark.cli.main import run

    def call(*words: object) -> Answer:
        capsys.readouterr()
        code = run([str(word) for word in words])
        captured = capsys.readouterr()
        return Answer(code, captured.out, captured.err)

    return call


@pytest.fixture
def mistake(command) -> Callable[..., str]:
    """Call a command that must refuse, in one line; `worked`: progress may stand before it."""

    def call(*words: object, worked: bool = False) -> str:
        answer = command(*words)
        assert answer.code == 2, answer
        *before, last = answer.err.splitlines()
        assert last.startswith("landmark: "), answer.err
        assert not any("Traceback" in line or line.startswith("landmark: ") for line in before)
        assert worked or not before, answer.err
        assert worked or answer.out == ""
        return last.removeprefix("landmark: ")

    return call


@pytest.fixture(scope="session")
def pretrained_runs(tmp_path_factory) -> dict[str, Path]:
    """A BERT, a GPT and an LSTM that have read a page; tests read them, but never change them."""
    from landmark.tasks.training import train

    folder = tmp_path_factory.mktemp("pretrained")
    text = folder / "page.txt"
    words = "the a old young man woman reads writes sees likes hates good bad book film very not"
    names = words.split()
    lines = [
        " ".join(names[(7 * n + 3 * k * k) % len(names)] for k in range(12)) for n in range(90)
    ]
    text.write_text("\n\n".join(f"{line} .\n" for line in lines))
    steps = ["trainer.max_steps=3", "trainer.validate_every=3", "trainer.checkpoint_every=3"]
    common = [f"data.text=['{text}']", "threads=1", "schedule.warmup_steps=1", *steps]
    small = ["model.hidden_size=16", "model.num_heads=2", "model.num_layers=2"]
    read = {
        "bert": ["bert", *small, "model.max_length=32", "tokenizer.vocab_size=300"],
        "gpt": [
            "language-model",
            "model={architecture: gpt}",
            *small,
            "model.max_length=40",
            "tokenizer.kind=subwords",
            "tokenizer.vocab_size=300",
            "batches.length=32",
        ],
        "lstm": ["language-model", "model.embedding_size=8", "model.hidden_size=16"],
    }
    return {
        name: train(recipe, folder / name, [*common, *settings]).folder
        for name, (recipe, *settings) in read.items()
    }


@pytest.fixture(scope="session")
def digits_run(tmp_path_factory) -> Path:
    """A LeNet that has learnt a little of the digits; tests read it, but never change it."""
    from landmark.tasks.training import train

    steps = ["trainer.max_steps=40", "trainer.validate_every=20", "trainer.checkpoint_every=20"]
    folder = tmp_path_factory.mktemp("runs") / "digits"
    return train("lenet5-digits", folder, [*steps, "threads=1", "device=cpu"]).folder


@pytest.fixture(scope="session")
def digit_files(tmp_path_factory) -> Path:
    """Forty digits as files: five each of eight classes, in a folder a class."""
    from PIL import Image
    from sklearn.datasets import load_digits

    folder, digits = tmp_path_factory.mktemp("images") / "digits", load_digits()
    for name in range(8):
        (folder / str(name)).mkdir(parents=True)
        chosen = digits.images[digits.target == name][:5]
        for number, image in enumerate(chosen):
            pixels = (image * 15.9).astype("uint8")
            Image.fromarray(pixels).resize((20, 20)).save(folder / f"{name}/{name}-{number}.png")
    return folder


@dataclass(frozen=True)
class OwnData:
    """A user's parallel text as files in a folder."""

    folder: Path
    pairs: list[tuple[str, str]]

    @property
    def source(self) -> Path:
        return self.folder / "own.en"

    @property
    def target(self) -> Path:
        return self.folder / "own.de"

    def options(self) -> list[object]:
        return ["--source", self.source, "--target", self.target]

    def write(self, name: str, lines: list[str]) -> Path:
        path = self.folder / name
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return path


@pytest.fixture
def own_data(tmp_path) -> OwnData:
    """120 pairs as own.en and own.de."""
    from landmark.data.embedded import corpus

    pairs = [(pair.source, pair.target) for pair in corpus.draw("train", 120, seed=5)]
    data = OwnData(tmp_path, pairs)
    data.write("own.en", [source for source, _ in pairs])
    data.write("own.de", [target for _, target in pairs])
    return data


@pytest.fixture
def buffered() -> dict[str, str]:
    """The environment of a process that prints as one does in a user's pipe."""
    return {key: value for key, value in os.environ.items() if key != "PYTHONUNBUFFERED"}
