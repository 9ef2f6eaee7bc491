"""The lectures' claims on convolutional networks, tried in small: one claim, one command.

    python benchmarks/image_claims/run.py CLAIM [--output FOLDER] [--seeds N] [SETTING …]

Trainings of minutes on MNIST or the quarter of CIFAR-10 that differ in one thing. They show which
way a thing works at this size, not how it works on ImageNet. What max pooling makes of shifts is
shift.py.
"""

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path

from claim import Claim, Means, Row, try_claim
from network import dense_end, dense_end_with_dropout

from landmark.core.errors import UserError
from landmark.engine.session import InterruptedTraining

_OFTEN = ("trainer.log_every=20", "trainer.validate_every=100", "trainer.checkpoint_every=10000")
_MNIST = ("data.corpus=mnist", "data.limit=10000", *_OFTEN)
# Without smoothing, so that the losses of training and of validation are the same measure.
_CIFAR = (
    "data.corpus=cifar10-jpeg", "data.validation=0.1", "objective.label_smoothing=0", *_OFTEN
)  # fmt: skip
_DIGITS = ("data.size=16", *_OFTEN)
_PLAIN_AUGMENT = ("augment={}",)
_CROPS = ("augment={padding: 4, flip: true}",)
_ADAM = (
    "optimizer={name: adamw, weight_decay: 0.0005, decay: matrices, betas: [0.9, 0.999]}",
    "schedule={name: cosine, rate: 0.001, warmup_steps: 100}",
)
_DESCENT = (
    "optimizer={name: sgd, momentum: 0.9, nesterov: true, weight_decay: 0.0001, decay: matrices}",
    "schedule={name: cosine, rate: 0.1, warmup_steps: 200}",
)
_SAME = 0.01  # accuracies that differ by less are the same
_CLIPPED = ("trainer.clip_norm=5.0",)


def _model(**shape: object) -> str:
    """A network as one setting."""
    return "model={" + ", ".join(f"{key}: {_written(value)}" for key, value in shape.items()) + "}"


def _written(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(list(value)) if isinstance(value, tuple) else str(value)


def _alexnet(**shape: object) -> str:
    """An AlexNet for images of 32 pixels: five convolutions, two hidden dense layers."""
    small = {
        "architecture": "alexnet", "image_size": 32, "widths": (24, 48, 64, 64, 48),
        "dense_width": 512, "towers": 1, "first_kernel": 5, "first_stride": 1,
        "first_padding": 2, "dropout": 0.5,
    }  # fmt: skip
    return _model(**{**small, **shape})


def _resnet(blocks: int, residual: bool, size: int = 32) -> str:
    return _model(
        architecture="resnet", image_size=size, blocks=(blocks,) * 3, width=16, bottleneck=False,
        stem="cifar", shortcut="A", residual=residual,
    )  # fmt: skip


def _highway(depths: tuple[int, ...], widths: tuple[int, ...], gated: bool, size: int = 28) -> str:
    return _model(
        architecture="highway", image_size=size, depths=depths, widths=widths, gated=gated
    )


def _least(means: Means, name: str) -> str:
    """The row whose number is the lowest."""
    return min(means, key=lambda row: means[row][name])


def _gap(numbers: Mapping[str, float]) -> float:
    """How much worse the loss is on held-out images: overfitting."""
    return numbers["valid_loss"] - numbers["train_loss"]


CLAIMS: dict[str, Claim] = {
    "relu": Claim(
        "ReLU converges faster than units that saturate",
        "LeNet on MNIST with ReLU, tanh and sigmoid",
        lambda means: _least(means, "mean_train_loss") == "relu",
        "lenet5-digits",
        (*_MNIST, "data.size=null", "trainer.epochs=4", *_PLAIN_AUGMENT, "batches.size=64"),
        {
            name: Row(name, (_model(architecture="lenet", activation=name, pooling="max"),))
            for name in ("relu", "tanh", "sigmoid")
        },
        drawn=("train",),
        minutes="1",
    ),
    "dropout": Claim(
        "Dropout: less overfitting",
        "A network on CIFAR-10 with and without dropout",
        lambda means: _gap(means["with"]) < _gap(means["without"]),
        "resnet20-cifar",
        (*_CIFAR, "data.limit=2500", "trainer.epochs=30", *_PLAIN_AUGMENT, *_ADAM, *_CLIPPED),
        {
            key: Row(title, (_highway((2, 2, 2), (32, 56, 88), False, 32),), build)
            for key, title, build in (
                ("without", "no dropout", dense_end),
                ("with", "dropout 0.5", dense_end_with_dropout),
            )
        },
        minutes="6",
    ),
    "overlap": Claim(
        "Overlapping pooling is a little better",
        "A small AlexNet on CIFAR-10 with pooling windows of 3 and of 2",
        lambda means: means["overlapping"]["last"] > means["apart"]["last"],
        "resnet20-cifar",
        (*_CIFAR, "trainer.epochs=12", *_CROPS, *_ADAM, *_CLIPPED),
        {  # 31 pixels give 15, 7 and 3 a side with either, so that the dense layers are alike
            "overlapping": Row("windows of 3, stride 2", (_alexnet(pool_window=3, image_size=31),)),
            "apart": Row("windows of 2, stride 2", (_alexnet(pool_window=2, image_size=31),)),
        },
        minutes="9",
    ),
    "depth": Claim(
        "Deep and narrow is better than shallow and wide",
        "Networks of 3, 6 and 12 layers with equal parameters on CIFAR-10",
        lambda means: means["deep"]["last"] > means["shallow"]["last"],
        "resnet20-cifar",
        (*_CIFAR, "trainer.epochs=5", *_CROPS, *_ADAM, *_CLIPPED),
        {  # about 141,000 parameters each
            "shallow": Row("1, 1, 1 layers", (_highway((1, 1, 1), (32, 80, 160), False, 32),)),
            "middle": Row("2, 2, 2 layers", (_highway((2, 2, 2), (28, 51, 81), False, 32),)),
            "deep": Row("4, 4, 4 layers", (_highway((4, 4, 4), (22, 36, 50), False, 32),)),
        },
        minutes="6",
    ),
    "pooling": Claim(
        "Global average pooling breaks the curse of the last layer",
        "Global average pooling and dense layers on CIFAR-10",
        lambda means: means["pooled"]["last"] >= means["dense"]["last"],
        "resnet20-cifar",
        (*_CIFAR, "trainer.epochs=5", *_PLAIN_AUGMENT, *_ADAM, *_CLIPPED),
        {
            key: Row(title, (_highway((2, 2, 2), (32, 56, 88), False, 32),), build)
            for key, title, build in (
                ("pooled", "global average pooling", None),
                ("dense", "dense layers", dense_end),
                ("dense-dropout", "dense layers, dropout", dense_end_with_dropout),
            )
        },
        minutes="7",
    ),
    "tenth": Claim(
        "A tenth of AlexNet's parameters reaches the same accuracy",
        "AlexNet, a narrower one and ResNet-20 on CIFAR-10",
        lambda means: means["narrow"]["last"] >= means["alexnet"]["last"] - _SAME,
        "resnet20-cifar",
        (*_CIFAR, "trainer.epochs=6", *_CROPS, *_ADAM, *_CLIPPED),
        {
            "alexnet": Row("AlexNet for 32 pixels", (_alexnet(),)),
            "narrow": Row(
                "the same, narrower", (_alexnet(widths=(16, 24, 32, 32, 24), dense_width=64),)
            ),
            "resnet": Row("ResNet-20", (_resnet(3, True), "schedule.rate=0.003")),
        },
        minutes="8",
    ),
    "residual": Claim(
        "Residual connections let deep networks learn what plain ones cannot",
        "Plain and residual networks of 20 and 56 layers on digits",
        lambda means: means["residual-56"]["train_loss"] < means["plain-56"]["train_loss"],
        "lenet5-digits",
        (*_DIGITS, "trainer.epochs=20", *_PLAIN_AUGMENT, *_DESCENT),
        {
            f"{kind}-{depth}": Row(
                f"{kind}, {depth} layers", (_resnet((depth - 2) // 6, kind == "residual", 16),)
            )
            for depth in (20, 56)
            for kind in ("plain", "residual")
        },
        drawn=("train",),
        minutes="4",
    ),
    "highway": Claim(
        "Highways let deep networks learn what plain ones cannot",
        "Plain and highway networks of 11 and 32 layers on MNIST",
        lambda means: means["highway-32"]["train_loss"] < means["plain-32"]["train_loss"],
        "lenet5-digits",
        (*_MNIST, "data.size=null", "trainer.epochs=3", *_PLAIN_AUGMENT, *_ADAM, *_CLIPPED),
        {  # a gate has weights of its own: the plain networks are wider, with as many in all
            f"{kind}-{depth}": Row(
                f"{kind}, {depth} layers", (_highway(depths, widths, kind == "highway"),)
            )
            for depth, depths, wider in (
                (11, (3, 3, 4), (22, 21, 21)),
                (32, (11, 10, 10), (22, 22, 23)),
            )
            for kind, widths in (("plain", wider), ("highway", (16, 16, 16)))
        },
        drawn=("train",),
        minutes="7",
    ),
}


def main() -> None:
    """Try one claim."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("claim", choices=list(CLAIMS), help="what is tried")
    parser.add_argument("settings", nargs="*", help="of all trainings, as trainer.epochs=2")
    parser.add_argument("--output", type=Path, default=Path("runs/image-claims"))
    parser.add_argument("--seeds", type=int, default=1, help="how often each is trained")
    options = parser.parse_intermixed_args()
    folder = options.output / options.claim
    folder.mkdir(parents=True, exist_ok=True)
    seeds = range(1, options.seeds + 1)
    try_claim(options.claim, CLAIMS[options.claim], folder, seeds, options.settings)


if __name__ == "__main__":
    try:
        main()
    except (UserError, InterruptedTraining) as error:
        sys.exit(str(error))
