"""The benchmarks of translation still run; what they measure, they say themselves."""

import importlib
import os
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent.parent / "benchmarks"


def run(name: str, *words: str, **variables: str) -> str:
    command = [sys.executable, str(FOLDER / name), *words]
    environment = {**os.environ, **variables}
    result = subprocess.run(
        command, capture_output=True, text=True, env=environment, timeout=300, check=False
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_every_benchmark_finds_what_it_imports(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)  # where they find each other
    for path in sorted(FOLDER.glob("*.py")):
        module = importlib.import_module(f"benchmarks.{path.stem}")
        assert module.__doc__, f"{path.name} does not say what it measures"


def test_training_is_timed_beside_torchs_transformer(tmp_path):
    words = ["--quick", "--peers", "--threads", "1", "--output", str(tmp_path)]
    printed = run("translation_training.py", *words, LANDMARK_DATA=str(tmp_path))
    rows = {line.split()[0] for line in printed.splitlines() if line.strip()}
    assert {"landmark", "torch.nn.Transformer"} <= rows
    assert "in matrix products" in printed
