"""The map of the package, kept true: who may import whom, and what stays light."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

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
    "interop": {"models", "data", "layers", "core"},
}
BELOW_RECIPES = set(MAY_IMPORT)
MAY_IMPORT["recipes"] = BELOW_RECIPES
MAY_IMPORT["pipelines"] = BELOW_RECIPES | {"recipes"}
MAY_IMPORT["racing"] = BELOW_RECIPES | {"recipes"}
MAY_IMPORT["tasks"] = BELOW_RECIPES | {"recipes", "pipelines"}
MAY_IMPORT["figures"] = BELOW_RECIPES | {"recipes", "pipelines", "racing", "tasks"}
MAY_IMPORT["cli"] = MAY_IMPORT["figures"] | {"figures"}
# `landmark/__init__.py` knows the version, and imports the rest lazily.
SOURCES = sorted(path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE)


def imported_folders(path: Path) -> set[str]:
    """The folders of ours that a file imports from, anywhere in it."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        assert not (isinstance(node, ast.ImportFrom) and node.level), f"{path}: a relative import"
    parts = [name.split(".") for name in names]
    folders = {path.name for path in PACKAGE.iterdir() if path.is_dir()}
    return {part[1] for part in parts if part[0] == "landmark" and len(part) > 1} & folders


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_file_imports_only_from_folders_below_its_own(path):
    folder = path.relative_to(PACKAGE).parts[0]
    assert imported_folders(path) <= MAY_IMPORT[folder] | {folder}


def test_the_table_names_every_folder_and_no_other():
    folders = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").is_file()}
    assert folders == set(MAY_IMPORT)


@pytest.mark.parametrize("words", [["-c", "import landmark"], ["-m", "landmark", "--help"]])
def test_help_and_import_do_not_load_torch(words):
    command = [sys.executable, "-X", "importtime", *words]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    loaded = {line.rpartition("|")[2].strip() for line in result.stderr.splitlines()}
    assert "landmark" in loaded
    assert not loaded & {"torch", "matplotlib", "pydantic", "numpy"}
