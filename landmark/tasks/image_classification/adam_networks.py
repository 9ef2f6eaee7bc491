"""Adam's system: its paper, and the networks that were trained there."""

from landmark.models import dense
from landmark.models.convolutional import plain
from landmark.models.vision import build_network
from landmark.tasks.catalog import Network, System, add_system
from landmark.tasks.image_classification.convolutional import look_once

_PUBLISHED = {"dense-mnist": 1_796_010}
_NOTES = {
    "logistic-mnist": "figure 1",
    "dense-mnist": "figure 2",
    "plain-cifar10": "figure 3, c64-c64-c128-1000; the paper does not say how it is padded",
}

add_system(
    System(
        "adam",
        "Kingma and Ba, Adam: A Method for Stochastic Optimization, arXiv 1412.6980",
        2014,
        "optimisation",
        tuple(
            Network(name, build_network, config, look_once, _PUBLISHED.get(name), _NOTES[name])
            for name, config in {**dense.VARIANTS, **plain.VARIANTS}.items()
        ),
        "optimizer, compared with others as in its paper",
    )
)
