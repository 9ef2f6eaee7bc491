"""What max pooling makes of shifts: the lecture's vertical edge, then trained networks.

    python benchmarks/image_claims/shift.py [--output FOLDER] [--seeds N] [SETTING …]

Three LeNets on 10,000 digits of MNIST that never move: pooling by the maximum, by the mean, and
the same without pooling's windows, where one pixel of four is taken as it is. Then held-out digits
are moved by 0 to 6 pixels, and the networks are asked again.
"""

import argparse
import json
import sys
from pathlib import Path

import numpy as np
import torch
from claim import Build, Claim, Row, building, say, try_claim
from torch import Tensor, nn

from landmark.core.errors import UserError
from landmark.data.images.corpus import open_split
from landmark.data.images.form import as_tensor
from landmark.engine.session import InterruptedTraining
from landmark.figures import style
from landmark.figures.figure import save_picture
from landmark.figures.images.viewer import ImageViewer, open_viewer
from landmark.models.convolutional.lenet import LeNet, LeNetConfig
from landmark.models.image import ImageNetwork, ImageNetworkConfig

MOST = 6  # pixels of a shift


class Sparse(nn.Module):
    """One pixel of each window as it is: what subsampling without pooling keeps."""

    def forward(self, maps: Tensor) -> Tensor:
        """(B, C, H, W) -> (B, C, H / 2, W / 2)"""
        return maps[:, :, ::2, ::2]


def without_pooling(config: ImageNetworkConfig) -> ImageNetwork:
    """A LeNet that takes one pixel of four."""
    assert isinstance(config, LeNetConfig)
    network = LeNet(config)
    for name, module in list(network.named_children()):
        if isinstance(module, (nn.MaxPool2d, nn.AvgPool2d)):
            setattr(network, name, Sparse())
    return network


CLAIM = Claim(
    "Max pooling alleviates the sensitivity of convolution to position",
    "Three LeNets on digits that do not move",
    None,
    "lenet5-digits",
    (
        "data.corpus=mnist", "data.limit=10000", "data.size=null", "augment={}", "trainer.epochs=6",
        "batches.size=64", "trainer.log_every=20", "trainer.validate_every=200",
        "trainer.checkpoint_every=200",
    ),
    {
        "max": Row("max pooling", ("model={architecture: lenet, pooling: max}",)),
        "average": Row("average pooling", ("model={architecture: lenet, pooling: average}",)),
        "none": Row(
            "one pixel of four", ("model={architecture: lenet, pooling: max}",), without_pooling
        ),
    },
)  # fmt: skip


def edge_example() -> None:
    """The lecture's image of a vertical edge, as it is and one pixel to either side."""
    kernel = torch.tensor([1.0, -1.0]).view(1, 1, 1, 2)
    print("the vertical edge of the lecture: what a row of the kernel [1, -1] and pooling find")
    for name, ones in (("as it is", 2), ("one pixel to the left", 1), ("one to the right", 3)):
        image = torch.tensor([1.0] * ones + [0.0] * (5 - ones)).repeat(4, 1).view(1, 1, 4, 5)
        found = nn.functional.conv2d(image, kernel)
        pooled = nn.functional.max_pool2d(found, 2)
        rows = [[int(value) for value in maps[0, 0, 0]] for maps in (image, found, pooled)]
        print(f"  {name:<24}X {rows[0]}  Y {rows[1]}  pooled {rows[2]}")


def shifted(images: Tensor, pixels: int, down: bool) -> Tensor:
    """Images moved right or down (below 0: left or up); black comes in. (B, C, H, W)"""
    side = 2 if down else 3
    moved = images.roll(pixels, side)
    if pixels:
        edge = slice(0, pixels) if pixels > 0 else slice(pixels, None)
        moved[(..., edge, slice(None)) if down else (..., edge)] = 0
    return moved


@torch.inference_mode()
def accuracies(viewer: ImageViewer, images: Tensor, labels: Tensor) -> list[float]:
    """The share still right after 0 to MOST pixels, in the mean over four directions."""
    found = []
    for pixels in range(MOST + 1):
        rights = []
        for sign, down in ((1, False), (-1, False), (1, True), (-1, True)):
            given = viewer.form.normalise(shifted(images, sign * pixels, down))
            guesses = torch.cat([viewer.network(part).argmax(1) for part in given.split(500)])
            rights.append(float((guesses == labels).float().mean()))
        found.append(sum(rights) / len(rights))
    return found


def measure(folder: Path, build: Build | None) -> list[float]:
    """Of one trained run, on the run's own held-out images."""
    with building(build):
        viewer = open_viewer(folder, device="cpu")
    images = open_split(viewer.config.data, folder, "valid")
    pixels = as_tensor(np.stack([images[number] for number in range(len(images))]))
    return accuracies(viewer, pixels, torch.from_numpy(images.labels))


def main() -> None:
    """The example, the trainings, and what they make of shifts."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("settings", nargs="*", help="of all trainings, as trainer.epochs=2")
    parser.add_argument("--output", type=Path, default=Path("runs/image-claims"))
    parser.add_argument("--seeds", type=int, default=1, help="how often each is trained")
    options = parser.parse_args()
    edge_example()
    folder = options.output / "shift"
    folder.mkdir(parents=True, exist_ok=True)
    seeds = range(1, options.seeds + 1)
    try_claim("training", CLAIM, folder, seeds, options.settings)
    found: dict[str, list[list[float]]] = {}
    for key, row in CLAIM.rows.items():
        say(f"  shifts: {row.title}")
        found[key] = [measure(folder / f"{key}-{seed}", row.build) for seed in seeds]
    means = {
        key: [sum(values) / len(values) for values in zip(*runs, strict=True)]
        for key, runs in found.items()
    }
    print(f"{'still right after a shift of':<30}" + "".join(f"{n:>8}" for n in range(MOST + 1)))
    for key, row in CLAIM.rows.items():
        print(f"{row.title:<30}" + "".join(f"{value:>8.1%}" for value in means[key]))
    (folder / "shift.json").write_text(json.dumps(found, indent=1))
    save(means, folder / "shift.png")
    print(folder / "shift.png")


def save(means: dict[str, list[float]], path: Path) -> None:
    """A line a network: accuracy by pixels of a shift."""
    figure, grid = style.panels(size=(5.5, 4.4))
    axes = grid[0, 0]
    for number, (key, values) in enumerate(means.items()):
        title = CLAIM.rows[key].title
        axes.plot(range(MOST + 1), values, "o-", label=title, color=style.colour(number))
    axes.set(xlabel="pixels that held-out digits are moved by", ylabel="still named right")
    style.tidy(axes)
    style.add_legend(axes, outside=True)
    style.heading(figure, "LeNets with three kinds of pooling on digits that are moved")
    seen = "Seen" if means["max"][MOST // 2] > means["none"][MOST // 2] else "Not seen"
    figure.supxlabel(f"Claim: {CLAIM.said}. {seen} here.", fontsize=8, wrap=True)
    save_picture(figure, path)


if __name__ == "__main__":
    try:
        main()
    except (UserError, InterruptedTraining) as error:
        sys.exit(str(error))
