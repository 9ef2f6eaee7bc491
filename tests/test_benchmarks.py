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


def test_search_settings_are_scored_as_the_package_would_search(
    tiny, tmp_path, monkeypatch, capsys
):
    """Its own translations as references: one setting finds all of them, others do not."""
    from benchmarks import translation_search
    from landmark.pipelines.loading import load
    from landmark.pipelines.translation.evaluation import split_pairs
    from landmark.recipes.training import train

    settings = [*tiny, "data.both_ways=true", "trainer.max_steps=250", "schedule.rate=0.01"]
    run = train("transformer-embedded", tmp_path / "run", settings).folder
    pipeline = load(run)
    sources = [source for source, _ in split_pairs(pipeline, "test")[:30]]
    found = pipeline.translate(sources, beam=4, length_penalty=0.6, channel=2.0)
    pairs = [(source, result.text) for source, result in zip(sources, found, strict=True)]
    monkeypatch.setattr(translation_search, "split_pairs", lambda pipeline, split: pairs)
    words = ["--beam", "4", "--penalties", "0.6", "--channels", "0,2"]
    monkeypatch.setattr(sys, "argv", ["search", str(run), *words])
    translation_search.main()
    plain, same = (line.split() for line in capsys.readouterr().out.splitlines()[-2:])
    assert [float(cell) for cell in same] == [2, 100, 1]
    assert float(plain[1]) < 100
