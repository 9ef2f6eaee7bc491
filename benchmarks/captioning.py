"""Captioners of Flickr8k beside what needs no captioner, in one table with paired tests.

Trains what FOLDER has not yet: the encoder (words), captioners that look (soft, hard), that do not
(mean), a Transformer, and a blind one, which learns the same captions from black images. Beside
them: constant captions, and the first caption of the nearest training image, by pixels and by the
encoder's features. All on the test split, by free running; p is of the difference from the first
captioner, by paired bootstrap.

    python benchmarks/captioning.py --folder runs/captions --systems soft mean blind

Each training takes about 15 minutes of one core (blind: 5), the encoder 15.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from caption_baselines import constant_by_bleu, constant_by_cider, nearest_captions
from numpy.typing import NDArray
from PIL import Image

import landmark
from landmark.data.captions.corpus import open_split
from landmark.data.captions.flickr8k import flickr8k_splits
from landmark.data.captions.source import CaptionedImages, CaptionedSource
from landmark.data.captions.text import caption_text
from landmark.data.images.reading import warn
from landmark.metrics.captions import CIDER, ORDER, compare_captions, score_captions
from landmark.tasks.captioning.encoding import encode_images
from landmark.tasks.captioning.evaluation import describe_split
from landmark.tasks.captioning.options import EvaluateOptions
from landmark.tasks.captioning.pipeline import CaptioningPipeline
from landmark.tasks.training import is_finished, train

SYSTEMS: dict[str, tuple[str, tuple[str, ...]]] = {
    "soft": ("caption-flickr8k", ()),
    "hard": ("caption-flickr8k", ("model.attention=hard",)),
    "mean": ("caption-flickr8k", ("model.score=mean",)),
    "transformer": ("caption-transformer-flickr8k", ()),
    "blind": ("caption-flickr8k", ("model.score=mean", "trainer.epochs=3")),
}
"""Recipe and settings of each; `blind` reads black images."""


def trained(name: str, folder: Path) -> CaptioningPipeline:
    """A captioner of that name, trained here unless it is there."""
    words, place = folder / "words", folder / name
    finish("words-flickr8k", words, [])
    recipe, settings = SYSTEMS[name]
    given = [*settings, f"init_from={words}"]
    if name == "blind":
        given += black_images(folder / "black")
    finish(recipe, place, given)
    return landmark.load(place, kind=CaptioningPipeline)


def finish(recipe: str, place: Path, settings: Sequence[str]) -> None:
    """Train, or go on, unless it is done."""
    if not is_finished(place):
        resume = "auto" if place.exists() else None
        train(recipe, place, [*settings, "threads=1"], resume=resume)


def black_images(folder: Path) -> list[str]:
    """Flickr8k's captions with a black image for each photograph; the settings to learn them."""
    folder.mkdir(parents=True, exist_ok=True)
    splits = flickr8k_splits(warn)
    for split in ("train", "valid"):
        lines = []
        for number, texts in enumerate(splits[split].captions):
            name = f"{split}-{number}.png"
            if not (folder / name).exists():
                Image.new("RGB", (96, 96)).save(folder / name)
            lines += [f"{name}\t{text}" for text in texts]
        (folder / f"{split}.tsv").write_text("".join(f"{line}\n" for line in lines))
    return [
        "data.corpus=files",
        f"data.captions={folder / 'train.tsv'}",
        f"data.valid_captions={folder / 'valid.tsv'}",
        f"data.images={folder}",
    ]


def captions_of(name: str, pipeline: CaptioningPipeline, test: CaptionedImages) -> list[str]:
    """What a captioner says of each test image, by beam search."""
    if name == "blind":  # every image is black to it
        black = np.zeros((96, 96, 3), np.uint8)
        return [pipeline.caption([black])[0].text] * len(test)
    told = describe_split(pipeline, test, EvaluateOptions())
    return [" ".join(word.text for word in words) for words in told]


def nearest_by_features(pipeline: CaptioningPipeline, test: CaptionedImages) -> list[str]:
    """The first caption of the training image whose mean feature has the smallest angle."""
    train_split = open_split(pipeline.run.folder, "train")
    known, asked = (mean_features(pipeline, split) for split in (train_split, test))
    nearest = (asked @ known.T).argmax(1).tolist()
    return [train_split.captions[number][0] for number in nearest]


def mean_features(pipeline: CaptioningPipeline, split: CaptionedImages) -> NDArray[np.float32]:
    """The mean of each image's places, of length 1. (N, F)"""
    places = encode_images(
        pipeline.model, split.images, pipeline.form, pipeline.side, pipeline.device
    )
    mean = torch.nn.functional.normalize(places[:, 0].float().mean(1))
    return mean.numpy()


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path("runs/captions"))
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=list(SYSTEMS))
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    pipelines = {name: trained(name, options.folder) for name in options.systems}
    first = next(iter(pipelines.values()))
    test = open_split(first.run.folder, "test")
    said = {name: captions_of(name, its, test) for name, its in pipelines.items()}
    splits = flickr8k_splits(warn)
    said |= without_captioner(splits["train"], splits["valid"], splits["test"])
    said["nearest by features"] = nearest_by_features(first, test)
    report(said, [[caption_text(text) for text in texts] for texts in test.captions])


def without_captioner(
    training: CaptionedSource, valid: CaptionedSource, test: CaptionedSource
) -> dict[str, list[str]]:
    """What needs no network."""
    known = list(dict.fromkeys(text for texts in training.captions for text in texts))
    count = len(test)
    found = {
        "constant, best BLEU-4": [constant_by_bleu(known, valid.captions)] * count,
        "constant, best CIDEr-D": [constant_by_cider(known, valid.captions)] * count,
        "nearest by 8x8 pixels": nearest_captions(training, test, 8),
    }
    return {name: [caption_text(text) for text in texts] for name, texts in found.items()}


def report(said: dict[str, list[str]], references: list[list[str]]) -> None:
    """A row a system, with the p-values of BLEU-4 and CIDEr-D."""
    said = {name: [caption_text(text) for text in texts] for name, texts in said.items()}
    names = [*(f"BLEU-{n}" for n in range(1, ORDER + 1)), CIDER]
    heads = "".join(f"{name:>9}" for name in names)
    print(f"{'':<24}{heads}{'p BLEU-4':>10}{'p CIDEr':>9}{'distinct':>10}")
    comparisons = {one.metric: one for one in compare_captions(list(said.items()), references)}
    for place, (name, texts) in enumerate(said.items()):
        scores = score_captions(texts, references, resamples=0)
        cells = "".join(f"{scores.value(key):9.2f}" for key in names[:-1])
        cells += f"{scores.value(CIDER):9.3f}"
        chances = [comparisons[key].p_values[place] for key in ("BLEU-4", CIDER)]
        shown = "".join(
            f"{'' if value is None else f'{value:.4f}':>{width}}"
            for value, width in zip(chances, (10, 9), strict=True)
        )
        print(f"{name:<24}{cells}{shown}{scores.distinct:10,}", flush=True)


if __name__ == "__main__":
    main()
