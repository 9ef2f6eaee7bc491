"""The benchmarks still run; what they measure, they say themselves."""

import importlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from landmark.metrics.captions import CIDER, score_captions

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


def test_a_captioner_is_timed_beside_a_peer_that_says_the_same():
    """On a small ViT; the peer's logits are transformers' own."""
    speed = importlib.import_module("benchmarks.captioning_speed")
    shape = speed.ViTConfig(image_size=32, patch_size=8, hidden_size=32, num_heads=2, num_layers=2)
    model = speed.captioner(shape)
    peer = speed.peer_of(model)
    assert speed.check(model, peer) <= 1e-4
    speed.pack_linear(model)
    images, tokens = speed.noise(model, 3), torch.tensor([[1, 5, 9]] * 3)
    ours, theirs = speed.logits_of(model, peer, images, tokens)
    assert ours.std() > 0.5  # so that 1e-4 means something
    torch.testing.assert_close(ours, theirs, atol=1e-4, rtol=0)
    said = speed.our_search(model, 16, 3, 8)(images)
    assert said == speed.their_search(peer, 3, 8)(images)
    assert len(set(map(tuple, said))) == 3
    assert {len(caption) for caption in said} == {8}
    model.project.bias += 1
    with pytest.raises(SystemExit, match="the logits differ by"):
        speed.check(model, peer)


def test_gans_that_were_trained_are_not_trained_again(tmp_path, monkeypatch):
    modes = importlib.import_module("benchmarks.gan_modes")
    short = ["trainer.max_steps=4", "trainer.log_every=4", "trainer.checkpoint_every=4"]
    (first,) = modes.complete("gan-ring", short, 1, tmp_path)
    assert (first.modes, first.recipe) == (8, "gan-ring")
    seeds = []
    measure = modes.measure
    monkeypatch.setattr(modes, "measure", lambda *words: seeds.append(words[2]) or measure(*words))
    again = modes.complete("gan-ring", short, 2, tmp_path)
    assert again[0] == first
    assert again[1] != first
    assert seeds == [2]
    assert modes.row("recipe", again).split()[0] == "recipe"
    modes.complete("gan-ring", [*short, "objective.r1=0"], 1, tmp_path)
    assert seeds == [2, 1]


@pytest.mark.parametrize("seed", range(6))
def test_the_best_constant_caption_is_the_one_that_scores_best(seed):
    baselines = importlib.import_module("benchmarks.caption_baselines")
    random = np.random.default_rng(seed)

    def sentence():
        words = ["a", "a", "a", "dog", "runs", "on", "the", "grass"]
        return " ".join(random.choice(words, random.integers(3, 9)))

    references = [tuple(sentence() for _ in range(3)) for _ in range(8)]
    candidates = [sentence() for _ in range(30)]
    for name, choose in (
        ("BLEU-4", baselines.constant_by_bleu),
        (CIDER, baselines.constant_by_cider),
    ):
        scores = [
            score_captions([caption] * 8, references, resamples=0).value(name)
            for caption in candidates
        ]
        chosen = candidates.index(choose(candidates, references))
        assert scores[chosen] == pytest.approx(max(scores))
