"""timm's networks: what their tensors are called, and how their images are prepared.

Beside its weights on the Hub lies a config.json, which says how images are prepared and what the
classes are called; without it, this is what most of its weights of that kind expect.
"""

from pathlib import Path

from landmark.interop.image_network import (
    HALVES,
    Family,
    Names,
    Recognised,
    State,
    counted,
    names_of_layers,
    read_network,
)
from landmark.interop.torchvision import (
    INCEPTION_SCALED,
    RESNETS,
    VGGS,
    fit_grid,
    inception_v3_family,
    names_of_units,
    resnet_names,
    units_in,
)
from landmark.models.convolutional import inception_v4
from landmark.models.image import ImageNetwork
from landmark.models.transformer import vit

_SPREAD_OUT = (
    "branch0", "branch1_0", "branch1_1a", "branch1_1b", "branch2_0", "branch2_1", "branch2_2",
    "branch2_3a", "branch2_3b", "branch3.1",
)  # fmt: skip
"""The convolutions of Inception-v4's last blocks, in the order in which ours has them."""


def read_timm(state: State, where: Path, wanted: str | None = None) -> Recognised:
    """A state dict of timm as a network of ours."""
    return read_network(FAMILIES, state, where, wanted)


def _vgg_names(network: ImageNetwork) -> Names:
    """The dense layers are convolutions there, over all of what they read."""
    layers = counted(network, "blocks", "features")
    layers |= {f"dense.{n}.linear": f"pre_logits.fc{n + 1}" for n in (0, 1)}
    return names_of_layers(network, layers | {"output": "head.fc"})


def _branches(network: ImageNetwork, block: str, theirs: str) -> dict[str, str]:
    """The units of a block of branches: one that is a branch alone has no place in it."""
    units = {}
    for ours in units_in(network, block):
        branch, place = ours.removeprefix(f"{block}.branches.").split(".")
        chain = network.get_submodule(f"{block}.branches.{branch}")
        alone = len(list(chain.children())) == 1
        units[ours] = f"{theirs}.branch{branch}" + ("" if alone else f".{place}")
    return units


def _inception_v4_names(network: ImageNetwork) -> Names:
    assert isinstance(network, inception_v4.InceptionV4)
    units = {f"stem.{place}": f"features.{place}" for place in range(3)}
    units |= {"stem.3.branches.1.0": "features.3.conv", "stem.5.branches.0.0": "features.5.conv"}
    units |= _branches(network, "stem.4", "features.4")
    kinds = [(f"body.0.{n}" for n in range(4)), ["body.1"], (f"body.2.{n}" for n in range(7))]
    blocks = [*(block for kind in kinds for block in kind), "body.3"]
    for place, block in enumerate(blocks, 6):
        units |= _branches(network, block, f"features.{place}")
    for number in range(3):
        theirs = (f"features.{6 + len(blocks) + number}.{branch}" for branch in _SPREAD_OUT)
        units |= zip(units_in(network, f"body.4.{number}"), theirs, strict=True)
    head = names_of_layers(network, {"classifier": "last_linear"})
    return names_of_units(network, units) | head


def _inception_resnet_names(network: ImageNetwork) -> Names:
    assert isinstance(network, inception_v4.InceptionResNetV2)
    stem = (f"conv2d_{name}" for name in ("1a", "2a", "2b", "3b", "4a"))
    units = dict(zip(units_in(network, "stem"), stem, strict=True))
    for block, theirs in (("0", "mixed_5b"), ("2", "mixed_6a"), ("4", "mixed_7a")):
        units |= _branches(network, f"body.{block}", theirs)
    units["body.6.0"] = "conv2d_7b"
    residuals = {f"body.1.{n}": f"repeat.{n}" for n in range(10)}
    residuals |= {f"body.3.{n}": f"repeat_1.{n}" for n in range(20)}
    residuals |= {f"body.5.{n}": f"repeat_2.{n}" for n in range(9)} | {"body.5.9": "block8"}
    layers = {"classifier": "classif"}
    for ours, theirs in residuals.items():
        units |= _branches(network, f"{ours}.branches", theirs)
        layers[f"{ours}.projection"] = f"{theirs}.conv2d"
    return names_of_units(network, units) | names_of_layers(network, layers)


def _vit_names(network: ImageNetwork) -> Names:
    assert isinstance(network, vit.ViT)
    layers = {"embedding.projection": "patch_embed.proj", "norm": "norm", "classifier": "head"}
    for number in range(len(network.blocks)):
        here = f"blocks.{number}"
        layers[f"{here}.around_attention.norm"] = f"{here}.norm1"
        layers[f"{here}.attention.input"] = f"{here}.attn.qkv"
        layers[f"{here}.attention.output"] = f"{here}.attn.proj"
        layers[f"{here}.around_feedforward.norm"] = f"{here}.norm2"
        layers[f"{here}.feedforward.expand"] = f"{here}.mlp.fc1"
        layers[f"{here}.feedforward.contract"] = f"{here}.mlp.fc2"
    tables = {"embedding.token": "cls_token", "embedding.position": "pos_embed"}
    return names_of_layers(network, layers) | tables


FAMILIES = (
    Family(VGGS, _vgg_names, "features.0", "head.fc"),
    inception_v3_family(),
    Family(
        {"inception-v4": inception_v4.VARIANTS["inception-v4"]},
        _inception_v4_names,
        "features.0.conv",
        "last_linear",
        resize=INCEPTION_SCALED,
        colours=HALVES,
    ),
    Family(
        {"inception-resnet-v2": inception_v4.VARIANTS["inception-resnet-v2"]},
        _inception_resnet_names,
        "conv2d_1a.conv",
        "classif",
        resize=INCEPTION_SCALED,
        colours=HALVES,
    ),
    Family(RESNETS, resnet_names, "conv1", "fc"),
    Family(
        vit.VARIANTS,
        _vit_names,
        "patch_embed.proj",
        "head",
        resize=249,  # its middle 224 are 0.9 of it
        colours=HALVES,
        adapt=fit_grid("pos_embed"),
    ),
)
