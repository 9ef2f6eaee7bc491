"""A newcomer's first ten minutes: README's commands are typed, and what those say comes next."""

import json
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from landmark.tasks.translation import evaluation

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
sys.path.append(str(ROOT / "benchmarks"))
from docs_commands import blocks, commands, inline, write_own_data  # noqa: E402

OWN_DATA = [words for c in commands(README) if c.mark == "slow" for words in c.landmark_words()]
STEPS = ["trainer.max_steps=4", "trainer.validate_every=2", "trainer.checkpoint_every=2"]


@dataclass(frozen=True)
class Kind:
    """One kind of own data in README: what its commands print and leave, with a small network."""

    run: str
    settings: tuple[str, ...]
    used: str
    """What its first verb prints."""
    scored: str
    exported: dict[str, str]
    """A file of an export, by format."""
    figure: str


KINDS = [
    Kind(
        "runs/mine",
        ("trainer.average_last=0",),
        r".+\n",
        r"set +sentences +BLEU .*\ntest\.en +50 ",
        {"hf": "model.safetensors", "ctranslate2": "model.bin"},
        "losses runs/mine",
    ),
    Kind(
        "runs/text",
        ("model.hidden_size=16", "model.num_heads=2", "model.num_layers=1", "model.max_length=32",
         "batches.length=16", "tokenizer.vocab_size=500"),
        r"Once upon a time",
        r"valid: [\d,]+ tokens, [\d,]+ characters\n  loss  ",
        {"hf": "model.safetensors"},
        "attention runs/text 'The dog sleeps.'",
    ),
    Kind(
        "runs/photos",
        ("model={architecture: lenet}",),
        r"photos/cats/1.jpg\n +\d+\.\d+ %  (cats|dogs)\n",
        r"valid: \d+ images\n  top-1 ",
        {"onnx": "network.onnx"},
        "saliency runs/photos photos/dogs/1.jpg",
    ),
]  # fmt: skip


@pytest.fixture
def typed(command):
    """Type a command that must succeed."""

    def call(*words):
        answer = command(*words)
        assert answer.code == 0, (words, answer.err)
        assert "Traceback" not in answer.err + answer.out
        assert answer.out
        return answer

    return call


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A folder with nothing but the files that README calls a user's own."""
    monkeypatch.chdir(tmp_path)
    write_own_data(tmp_path)
    return tmp_path


def next_commands(said: str) -> list[list[str]]:
    """The commands that a training's end names, with something in place of TEXT and IMAGE."""
    (line,) = re.findall(r"^next: (.*)$", said, re.M)
    line = line.replace("TEXT", "'A dog sleeps.'").replace("IMAGE", "photos/dogs/2.jpg")
    assert not re.search(r"\b[A-Z]{3,}\b", line)
    found = [shlex.split(one) for one in line.split("; ")]
    assert all(words[0] == "landmark" for words in found)
    return [words[1:] for words in found]


def test_make_run_is_the_demo_and_its_next_lines_can_be_typed(typed, home, tiny, monkeypatch):
    monkeypatch.setattr(evaluation, "EMBEDDED_TEST_PAIRS", 5)
    make = ["make", "--dry-run", "--no-print-directory", "run"]
    shown = subprocess.run(make, cwd=ROOT, capture_output=True, text=True, check=True)
    assert shown.stdout.splitlines()[-1] == ".venv/bin/landmark demo"
    answer = typed("demo", *tiny, *STEPS)
    assert (home / "runs/first/attention.png").is_file()
    following = answer.out.partition("Next, type:\n")[2].splitlines()
    assert following[0] == README.read_text().partition("Next, type:\n")[2].partition("\n")[0]
    for line in following:
        program, *words = shlex.split(line, comments=True)
        assert program == ".venv/bin/landmark"
        typed(*words, *([*tiny, *STEPS] if words[0] == "train" else []))
    assert (home / "runs/translation/checkpoints/latest").is_file()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.run)
def test_own_data(typed, home, tiny, kind):
    of_kind = [words for words in OWN_DATA if kind.run in words]
    assert [words[0] for words in of_kind][::2] == ["train", "evaluate"]
    train, use, evaluate = of_kind
    settings = tiny if kind.run == "runs/mine" else kind.settings
    trained = typed(*train, *settings, *STEPS, "threads=1")
    assert trained.out == f"{kind.run}\n"
    assert re.match(kind.used, typed(*use).out)
    assert re.match(kind.scored, typed(*evaluate).out)
    verb, score = next_commands(trained.err)
    assert verb[:2] == use[:2]
    typed(*verb)
    assert score == ["evaluate", kind.run]
    assert "the validation" in typed(*score).err  # there is no test split, and that is said
    for form, file in kind.exported.items():
        folder = typed("export", kind.run, "--to", form).out.strip()
        assert (home / folder / file).stat().st_size > 100
    drawn = typed("figure", *shlex.split(kind.figure), "--output", "figure.png")
    assert drawn.lines[-1] == "figure.png"
    assert np.asarray(Image.open("figure.png").convert("L")).std() > 5
    assert re.search(rf"^{kind.run} .* finished$", typed("runs").out, re.M)


def test_what_there_is(typed, home):
    listed = typed("list").out
    for name in ("transformer", "gpt", "resnet"):
        assert re.search(rf"^{name} ", listed, re.M)
    (first,) = re.findall(r"^Next: landmark (.*)$", typed("list", "transformer").out, re.M)
    assert json.loads(typed("list", "--json").out)
    recipe = shlex.split(first)[1]
    printed = typed("recipe", recipe).out
    Path("edited.yaml").write_text(re.sub(r"\bdropout: [\d.]+", "dropout: 0.35", printed))
    assert "dropout: 0.35" in typed("recipe", "edited.yaml").out
    assert "parameters" in typed("show", "resnet-50").out
    assert typed("runs").out == "no runs in runs\n"
    for words in (words for _, words in inline(README) if words[0] in ("list", "show", "recipe")):
        typed(*words)
    assert not Path("runs").exists()


def test_python(typed, home, tiny):
    (train,) = [words for words in OWN_DATA if words[0] == "train" and "runs/mine" in words]
    typed(*train, *tiny, *STEPS)
    for _, number, lines in blocks(README, "python"):
        exec(compile("\n".join(lines), f"README.md:{number}", "exec"), {})
