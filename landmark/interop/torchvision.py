"""torchvision's networks: what their tensors are called, and how their images are prepared.

Its published weights of one network differ in how images are prepared, so they are listed here.
Its GoogLeNet and Inception-v3 take images in ImageNet's colours and change them to run from -1 to
1 (`transform_input`); here they are normalised so at once.
"""

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from landmark.data.images.decoding import Interpolation
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
from landmark.models.convolutional import alexnet, googlenet, inception, resnet, vgg
from landmark.models.convolutional.unit import ConvolutionUnit
from landmark.models.image import ImageNetwork, ImageNetworkConfig
from landmark.models.transformer import vit

RESNETS = {name: resnet.VARIANTS[name] for name in (f"resnet-{n}" for n in (18, 34, 50, 101, 152))}
VGGS = {
    name: vgg.VARIANTS[name]
    for name in (f"vgg-{layout}{norm}" for layout in "abde" for norm in ("", "-bn"))
}
INCEPTION_SCALED = 342  # its middle 299 are 0.875 of it
_BLOCKS = {
    "5": "branch1x1 branch5x5_1 branch5x5_2 branch3x3dbl_1 branch3x3dbl_2 branch3x3dbl_3"
    " branch_pool",
    "6a": "branch3x3 branch3x3dbl_1 branch3x3dbl_2 branch3x3dbl_3",
    "6": "branch1x1 branch7x7_1 branch7x7_2 branch7x7_3 branch7x7dbl_1 branch7x7dbl_2"
    " branch7x7dbl_3 branch7x7dbl_4 branch7x7dbl_5 branch_pool",
    "7a": "branch3x3_1 branch3x3_2 branch7x7x3_1 branch7x7x3_2 branch7x7x3_3 branch7x7x3_4",
    "7": "branch1x1 branch3x3_1 branch3x3_2a branch3x3_2b branch3x3dbl_1 branch3x3dbl_2"
    " branch3x3dbl_3a branch3x3dbl_3b branch_pool",
}
"""The convolutions of Inception-v3's blocks, in the order in which ours has them."""


@dataclass(frozen=True)
class PublishedWeights:
    """Weights that torchvision publishes, and how it prepares images for them."""

    name: str
    resize: int
    """Pixels of an image's shorter side before the centre crop."""
    image_size: int
    """Size of the centre crop in pixels."""
    digest: str
    """First characters of the file's SHA-256."""

    @property
    def interpolation(self) -> Interpolation:
        """How images are resized: of the SWAG weights bicubically."""
        return "bicubic" if "SWAG" in self.name else "bilinear"


WEIGHTS: dict[str, tuple[PublishedWeights, ...]] = {
    "alexnet-one-tower": (PublishedWeights("IMAGENET1K_V1", 256, 224, "7be5be79"),),
    "vgg-a": (PublishedWeights("IMAGENET1K_V1", 256, 224, "8a719046"),),
    "vgg-b": (PublishedWeights("IMAGENET1K_V1", 256, 224, "19584684"),),
    "vgg-d": (PublishedWeights("IMAGENET1K_V1", 256, 224, "397923af"),),
    "vgg-e": (PublishedWeights("IMAGENET1K_V1", 256, 224, "dcbb9e9d"),),
    "vgg-a-bn": (PublishedWeights("IMAGENET1K_V1", 256, 224, "6002323d"),),
    "vgg-b-bn": (PublishedWeights("IMAGENET1K_V1", 256, 224, "abd245e5"),),
    "vgg-d-bn": (PublishedWeights("IMAGENET1K_V1", 256, 224, "6c64b313"),),
    "vgg-e-bn": (PublishedWeights("IMAGENET1K_V1", 256, 224, "c79401a0"),),
    "googlenet-bn": (PublishedWeights("IMAGENET1K_V1", 256, 224, "1378be20"),),
    "inception-v3": (PublishedWeights("IMAGENET1K_V1", 342, 299, "0cc3c7bd"),),
    "resnet-18": (PublishedWeights("IMAGENET1K_V1", 256, 224, "f37072fd"),),
    "resnet-34": (PublishedWeights("IMAGENET1K_V1", 256, 224, "b627a593"),),
    "resnet-50": (
        PublishedWeights("IMAGENET1K_V1", 256, 224, "0676ba61"),
        PublishedWeights("IMAGENET1K_V2", 232, 224, "11ad3fa6"),
    ),
    "resnet-101": (
        PublishedWeights("IMAGENET1K_V1", 256, 224, "63fe2227"),
        PublishedWeights("IMAGENET1K_V2", 232, 224, "cd907fc2"),
    ),
    "resnet-152": (
        PublishedWeights("IMAGENET1K_V1", 256, 224, "394f9c45"),
        PublishedWeights("IMAGENET1K_V2", 232, 224, "f82ba261"),
    ),
    "vit-b16": (
        PublishedWeights("IMAGENET1K_V1", 256, 224, "c867db91"),
        PublishedWeights("IMAGENET1K_SWAG_E2E_V1", 384, 384, "9ac1b537"),
        PublishedWeights("IMAGENET1K_SWAG_LINEAR_V1", 224, 224, "4e70ced5"),
    ),
    "vit-b32": (PublishedWeights("IMAGENET1K_V1", 256, 224, "d86f8d99"),),
    "vit-l16": (
        PublishedWeights("IMAGENET1K_V1", 242, 224, "852ce7e3"),
        PublishedWeights("IMAGENET1K_SWAG_E2E_V1", 512, 512, "4f3808c9"),
        PublishedWeights("IMAGENET1K_SWAG_LINEAR_V1", 224, 224, "4d563306"),
    ),
    "vit-l32": (PublishedWeights("IMAGENET1K_V1", 256, 224, "c7638314"),),
    "vit-h14": (
        PublishedWeights("IMAGENET1K_SWAG_E2E_V1", 518, 518, "80465313"),
        PublishedWeights("IMAGENET1K_SWAG_LINEAR_V1", 224, 224, "c1eb923e"),
    ),
}
"""Of each network of ours."""


def read_torchvision(state: State, where: Path, wanted: str | None = None) -> Recognised:
    """A state dict of torchvision as a network of ours."""
    # The first versions of its ViT called a feed-forward network's layers linear_1 and linear_2.
    renamed = {
        name.replace(".mlp.linear_1.", ".mlp.0.").replace(".mlp.linear_2.", ".mlp.3."): tensor
        for name, tensor in state.items()
    }
    return read_network(FAMILIES, renamed, where, wanted)


def units_in(network: ImageNetwork, part: str) -> Iterator[str]:
    """The names of the convolution units in a part, in their order."""
    for name, module in network.get_submodule(part).named_modules():
        if isinstance(module, ConvolutionUnit):
            yield f"{part}.{name}".rstrip(".")


def names_of_units(network: ImageNetwork, units: Mapping[str, str]) -> Names:
    """Of convolution units, which are called `conv` and `bn` inside a layer there."""
    layers = {}
    for ours, theirs in units.items():
        layers[f"{ours}.convolution"], layers[f"{ours}.norm"] = f"{theirs}.conv", f"{theirs}.bn"
    return names_of_layers(network, layers)


def _alexnet_names(network: ImageNetwork) -> Names:
    layers = counted(network, "blocks", "features")
    layers |= {f"dense.{n}.linear": f"classifier.{1 + 3 * n}" for n in (0, 1)}
    return names_of_layers(network, layers | {"output": "classifier.6"})


def _vgg_names(network: ImageNetwork) -> Names:
    layers = counted(network, "blocks", "features")
    layers |= {f"dense.{n}.linear": f"classifier.{3 * n}" for n in (0, 1)}
    return names_of_layers(network, layers | {"output": "classifier.6"})


def _googlenet_names(network: ImageNetwork) -> Names:
    assert isinstance(network, googlenet.GoogLeNet)
    stem = units_in(network, "stem")
    units = dict(zip(stem, ("conv1", "conv2", "conv3"), strict=True))
    for block, _ in network.body.named_children():
        for ours in units_in(network, f"body.{block}"):
            branch, place = ours.split(".")[-2:]
            theirs = f"inception{block}.branch{int(branch) + 1}"
            units[ours] = theirs if branch == "0" else f"{theirs}.{place}"
    layers = {"classifier": "fc"}
    for number, block in enumerate(network.auxiliary, 1):
        units[f"auxiliary.{block}.convolution.0"] = f"aux{number}.conv"
        layers[f"auxiliary.{block}.hidden"] = f"aux{number}.fc1"
        layers[f"auxiliary.{block}.output"] = f"aux{number}.fc2"
    return names_of_units(network, units) | names_of_layers(network, layers)


def inception_v3_names(network: ImageNetwork) -> Names:
    """timm calls them the same."""
    assert isinstance(network, inception.InceptionV3)
    stem = ("1a_3x3", "2a_3x3", "2b_3x3", "3b_1x1", "4a_3x3")
    units = dict(zip(units_in(network, "stem"), (f"Conv2d_{name}" for name in stem), strict=True))
    for block, _ in network.body.named_children():
        branches = (_BLOCKS[block] if block in _BLOCKS else _BLOCKS[block[0]]).split()
        theirs = (f"Mixed_{block}.{branch}" for branch in branches)
        units |= zip(units_in(network, f"body.{block}"), theirs, strict=True)
    layers = {"classifier": "fc"}
    if network.auxiliary is not None:
        units |= {f"auxiliary.convolutions.{n}": f"AuxLogits.conv{n}" for n in (0, 1)}
        layers["auxiliary.output"] = "AuxLogits.fc"
    return names_of_units(network, units) | names_of_layers(network, layers)


def resnet_names(network: ImageNetwork) -> Names:
    """timm calls them the same."""
    assert isinstance(network, resnet.ResNet)
    layers = {"stem.convolution": "conv1", "stem.norm": "bn1", "classifier": "fc"}
    for name, block in network.named_modules():
        if not isinstance(block, resnet.ResidualBlock):
            continue
        _, stage, place = name.split(".")
        theirs = f"layer{int(stage) + 1}.{place}"
        for unit in range(len(block.residual)):
            layers[f"{name}.residual.{unit}.convolution"] = f"{theirs}.conv{unit + 1}"
            layers[f"{name}.residual.{unit}.norm"] = f"{theirs}.bn{unit + 1}"
        if isinstance(block.shortcut, ConvolutionUnit):
            layers[f"{name}.shortcut.convolution"] = f"{theirs}.downsample.0"
            layers[f"{name}.shortcut.norm"] = f"{theirs}.downsample.1"
    return names_of_layers(network, layers)


def _vit_names(network: ImageNetwork) -> Names:
    assert isinstance(network, vit.ViT)
    layers = {"embedding.projection": "conv_proj", "norm": "encoder.ln", "classifier": "heads.head"}
    names = {"embedding.token": "class_token", "embedding.position": "encoder.pos_embedding"}
    for number in range(len(network.blocks)):
        ours, theirs = f"blocks.{number}", f"encoder.layers.encoder_layer_{number}"
        layers[f"{ours}.around_attention.norm"] = f"{theirs}.ln_1"
        layers[f"{ours}.attention.output"] = f"{theirs}.self_attention.out_proj"
        layers[f"{ours}.around_feedforward.norm"] = f"{theirs}.ln_2"
        layers[f"{ours}.feedforward.expand"] = f"{theirs}.mlp.0"
        layers[f"{ours}.feedforward.contract"] = f"{theirs}.mlp.3"
        for kind in ("weight", "bias"):
            joined = f"{theirs}.self_attention.in_proj_{kind}"
            names[f"{ours}.attention.input.{kind}"] = joined
    return names_of_layers(network, layers) | names


def fit_grid(positions: str) -> Callable[[ImageNetworkConfig, State], ImageNetworkConfig]:
    """The image size that a ViT's table of positions is for."""

    def adapt(config: ImageNetworkConfig, state: State) -> ImageNetworkConfig:
        assert isinstance(config, vit.ViTConfig)
        table = state.get(positions)
        if table is None or table.ndim != 3 or table.shape[1] < 2:
            return config
        side = math.isqrt(table.shape[1] - 1)
        return dataclasses.replace(config, image_size=side * config.patch_size)

    return adapt


def with_auxiliary(layer: str) -> Callable[[ImageNetworkConfig, State], ImageNetworkConfig]:
    """Whether a file has auxiliary heads."""

    def adapt(config: ImageNetworkConfig, state: State) -> ImageNetworkConfig:
        assert isinstance(config, googlenet.GoogLeNetConfig | inception.InceptionV3Config)
        return dataclasses.replace(config, auxiliary=f"{layer}.weight" in state)

    return adapt


def inception_v3_family() -> Family:
    """timm's is the same."""
    return Family(
        {"inception-v3": inception.VARIANTS["inception-v3"]},
        inception_v3_names,
        "Conv2d_1a_3x3.conv",
        "fc",
        resize=INCEPTION_SCALED,
        colours=HALVES,
        adapt=with_auxiliary("AuxLogits.fc"),
    )


FAMILIES = (
    Family(
        {"alexnet-one-tower": alexnet.VARIANTS["alexnet-one-tower"]},
        _alexnet_names,
        "features.0",
        "classifier.6",
    ),
    Family(VGGS, _vgg_names, "features.0", "classifier.6"),
    Family(
        {"googlenet-bn": googlenet.VARIANTS["googlenet-bn"]},
        _googlenet_names,
        "conv1.conv",
        "fc",
        colours=HALVES,
        adapt=with_auxiliary("aux1.fc2"),
    ),
    inception_v3_family(),
    Family(RESNETS, resnet_names, "conv1", "fc"),
    Family(
        vit.VARIANTS,
        _vit_names,
        "conv_proj",
        "heads.head",
        adapt=fit_grid("encoder.pos_embedding"),
    ),
)
