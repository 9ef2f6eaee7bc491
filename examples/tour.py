"""A tour of Landmark in Python: train, look inside, use, export; docs/tour.md explains each step.

    python examples/tour.py [FOLDER] [--quick]

Everything comes with the package: digits of 8 x 8 pixels, and English sentences with their German
translations. The runs and pictures go to FOLDER (default: runs/tour). It takes about five minutes
on two cores; --quick trains for seconds, and what is learnt then is little.
"""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

import landmark
from landmark.tasks.image_classification.pipeline import ClassificationPipeline
from landmark.tasks.translation.pipeline import TranslationPipeline

SENTENCES = ["The old dog sees the woman.", "I ate an apple because I was hungry."]


def catalogue() -> None:
    """What there is."""
    for system in landmark.systems():
        recipes = ", ".join(recipe.name for recipe in system.recipes) or "no recipes"
        print(f"{system.year}  {system.name}: networks {len(system.networks)}; {recipes}")


def own_loop() -> None:
    """A network of the catalogue is an nn.Module: here, ten steps of plain PyTorch."""
    torch.manual_seed(1)
    network = landmark.create("resnet-18", classes=4)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.02, momentum=0.9)
    images, labels = torch.randn(8, 3, 32, 32), torch.arange(8) % 4
    for step in range(1, 11):
        loss = torch.nn.functional.cross_entropy(network(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step in (1, 10):
            print(f"own loop, step {step}: loss {loss.item():.3f}")


def follow(record: Mapping[str, Any]) -> None:
    """A line for each validation."""
    if record["kind"] == "valid":
        numbers = {key: value for key, value in record.items() if isinstance(value, float)}
        print(f"step {record['step']}: " + ", ".join(f"{k} {v:.3f}" for k, v in numbers.items()))


def digits(folder: Path, quick: bool) -> None:
    """An image classifier: LeNet-5 on digits."""
    short = {"trainer": {"max_steps": 20, "validate_every": 20, "checkpoint_every": 20}}
    settings: dict[str, Any] = short if quick else {}
    run = landmark.train("lenet5-digits", folder / "digits", settings, report=follow)
    for record in landmark.evaluate(run):
        print("\n".join(record.lines()[:4]))

    network = landmark.load(run, kind=ClassificationPipeline)
    for guess in network.classify([network.split("test")[0]], top=3)[0].guesses:
        print(f"{guess.probability:6.1%}  {guess.name}")

    drawn = landmark.figure("maps", run=run, image="test:1", output=folder / "maps.png")
    print(f"what its layers make of the image: {drawn.path}")
    backbone = landmark.create("lenet5", weights=run)
    print(f"its first kernels: {tuple(backbone.get_parameter('c1.weight').shape)}")


def translation(folder: Path, quick: bool) -> None:
    """A translator: a small Transformer on the embedded corpus."""
    settings: dict[str, Any] = {"trainer": {"max_steps": 800, "validate_every": 400}}
    if quick:
        settings = {
            "data": {"train_pairs": 300, "valid_pairs": 20},
            "tokenizer.vocab_size": 500,
            "model": {"hidden_size": 32, "inner_size": 64, "num_heads": 2},
            "trainer": {"max_steps": 20, "validate_every": 20},
        }
    run = landmark.train("transformer-embedded", folder / "translator", settings, report=follow)
    translator = landmark.load(run, kind=TranslationPipeline)
    for result in translator.translate(SENTENCES, beam=4):
        print(f"{result.source}  ->  {result.text}  ({result.score:.2f})")

    attention = translator.attention(SENTENCES[0])
    looked = attention.weights[-1].mean(0).argmax(1).tolist()  # last layer, mean of heads
    for piece, place in list(zip(attention.target, looked, strict=True))[:8]:
        print(f"  {piece!r} looks at {attention.source[place]!r}")

    lower = landmark.load(run, kind=TranslationPipeline, precision="bf16")
    print(f"in bf16: {lower.translate(SENTENCES[:1])[0].text}")
    exported = landmark.export(run, "hf", output=folder / "translator-hf")
    print(f"for transformers: {exported} ({', '.join(sorted(p.name for p in exported.iterdir()))})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=Path("runs/tour"))
    parser.add_argument("--quick", action="store_true", help="train for seconds")
    given = parser.parse_args()
    catalogue()
    own_loop()
    digits(given.folder, given.quick)
    translation(given.folder, given.quick)


if __name__ == "__main__":
    main()
