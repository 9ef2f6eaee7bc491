"""The map of the package, kept true: who may import whom, and what stays light."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from landmark.tasks import ROOMS
from landmark.tasks.card import CARDS

PACKAGE = Path(__file__).parent.parent / "landmark"
MAY_IMPORT = {
    "core": set(),
    "layers": {"core"},
    "optim": {"core"},
    "metrics": {"core"},
    "data": {"layers", "core"},
    "models": {"layers", "core"},
    "decoding": {"layers", "core"},
    "objectives": {"models", "data", "decoding", "metrics", "layers", "core"},
    "engine": {"data", "optim", "metrics", "core"},
    "probes": {"models", "data", "layers", "optim", "core"},
    "interop": {"models", "data", "layers", "optim", "core"},
}
MAY_IMPORT["go"] = set(MAY_IMPORT)
BELOW_TASKS = set(MAY_IMPORT)
MAY_IMPORT["tasks"] = BELOW_TASKS
MAY_IMPORT["racing"] = BELOW_TASKS | {"tasks"}
MAY_IMPORT["figures"] = BELOW_TASKS | {"tasks", "racing"}
MAY_IMPORT["cli"] = BELOW_TASKS | {"tasks", "racing", "figures"}
# `landmark/__init__.py` knows the version, and imports the rest lazily.
SOURCES = sorted(path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE)

HEAVY = {"torch", "matplotlib", "numpy", "numba"}


def named(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


def files(*patterns: str) -> list[object]:
    """Sources as parameters of a test."""
    found = sorted({path for pattern in patterns for path in PACKAGE.glob(pattern)})
    assert found
    return [pytest.param(path, id=named(path)) for path in found]


def imported(path: Path) -> Iterator[list[str]]:
    """The parts of every name of ours that a file imports, anywhere in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        names: list[str] = []
        if isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: a relative import"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        yield from (name.split(".")[1:] for name in names if name.startswith("landmark."))


def imported_rooms(path: Path) -> set[str]:
    tasks = [parts[1] for parts in imported(path) if parts[0] == "tasks" and len(parts) > 1]
    return set(tasks) & set(ROOMS)


@pytest.mark.parametrize("path", SOURCES, ids=named)
def test_a_file_imports_only_from_folders_below_its_own(path):
    folder = path.relative_to(PACKAGE).parts[0]
    folders = {each.name for each in PACKAGE.iterdir() if each.is_dir()}
    found = {parts[0] for parts in imported(path)} & folders
    assert found <= MAY_IMPORT[folder] | {folder}


def test_the_table_names_every_folder_and_no_other():
    folders = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").is_file()}
    assert folders == set(MAY_IMPORT)


@pytest.mark.parametrize("path", files("tasks/**/*.py"))
def test_a_room_imports_no_other_and_what_rooms_share_imports_none(path):
    own = path.relative_to(PACKAGE / "tasks").parts[0]
    assert imported_rooms(path) <= {own} & set(ROOMS)


SHELLS = (
    "cli/**/*.py",
    "engine/*.py",
    "racing/*.py",
    "figures/__init__.py",
    "figures/figure.py",
    "figures/style.py",
)


WORLDS = {"cli/go.py": "go", "cli/main.py": "go"}
"""The commands of a world: they know its room, whose networks play in it; main adds them."""


@pytest.mark.parametrize("path", files(*SHELLS))
def test_a_shell_names_no_task_and_imports_no_room(path):
    names = {*ROOMS, *(card.name for card in CARDS.values() if "landmark.tasks" in card.task)}
    own = {WORLDS.get(named(path), "")}
    said = {
        node.value
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    assert said & names <= own
    assert imported_rooms(path) <= own
    rooms = {f"landmark.tasks.{room}" for room in ROOMS}
    assert not [text for text in said if text.startswith(tuple(rooms))]  # references of a card


@pytest.mark.parametrize("path", files("tasks/*/card.py"))
def test_a_card_needs_the_standard_library_alone(path):
    assert {tuple(parts[:2]) for parts in imported(path)} == {("tasks", "card")}
    tree = ast.parse(path.read_text())
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert all(module.split(".")[0] in {"landmark", *sys.stdlib_module_names} for module in modules)


EVERY_HELP = """
import contextlib, io, sys
import typer
from landmark.cli.main import build_app, run

def commands(command, words):
    yield words
    for name, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, [*words, name])

heavy = set(HEAVY)
for words in commands(typer.main.get_command(build_app()), []):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        code = run([*words, "--help"])
    assert code == 0 and "Usage: " in out.getvalue(), words
    loaded = heavy & set(sys.modules)
    heavy -= loaded
    print(" ".join(["landmark", *words]), *sorted(loaded), sep="\\t")
"""


def test_no_help_loads_torch_numpy_or_matplotlib():
    program = EVERY_HELP.replace("HEAVY", repr(sorted(HEAVY)))
    words = [sys.executable, "-c", program]
    result = subprocess.run(words, capture_output=True, text=True)  # noqa: PLW1510
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert len(lines) > 40
    assert {"landmark train", "landmark race", "landmark import timm"} <= set(lines)
    assert not [line for line in lines if "\t" in line]


@pytest.mark.parametrize("words", [["-c", "import landmark"], ["-m", "landmark", "--help"]])
def test_help_and_import_do_not_load_torch(words):
    command = [sys.executable, "-X", "importtime", *words]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    loaded = {line.rpartition("|")[2].strip() for line in result.stderr.splitlines()}
    assert "landmark" in loaded
    assert not loaded & HEAVY


def test_a_reader_of_dir_finds_what_there_is_to_import():
    import landmark

    named = {name for name in dir(landmark) if not name.startswith("__")}
    assert named == set(landmark.__all__) - {"__version__"}
