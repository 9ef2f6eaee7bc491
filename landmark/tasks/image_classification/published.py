"""Published figures of image networks: layers, operations, errors.

`landmark show` puts these beside what is counted here. Numbers that a paper rounds or prints in
its own way are kept as printed.
"""

from typing import Any

from landmark.tasks.catalog import PaperLayer, PaperTable, ReportedError

_ALEXNET = PaperTable(
    "Krizhevsky et al. 2012, figure 2; parameters by its kernel shapes",
    tuple(
        PaperLayer(name, (module,), output, parameters)
        for name, module, output, parameters in (
            ("1: 96 of 11x11x3", "blocks.0.convolution", "55x55x96", "34,944"),
            ("2: 256 of 5x5x48", "blocks.1.convolution", "27x27x256", "307,456"),
            ("3: 384 of 3x3x256", "blocks.2.convolution", "13x13x384", "885,120"),
            ("4: 384 of 3x3x192", "blocks.3.convolution", "13x13x384", "663,936"),
            ("5: 256 of 3x3x192", "blocks.4.convolution", "13x13x256", "442,624"),
            ("6: dense", "dense.0.linear", "4096", "37,752,832"),
            ("7: dense", "dense.1.linear", "4096", "16,781,312"),
            ("8: softmax", "output", "1000", "4,097,000"),
        )
    ),
    "The caption counts 253,440 units in layer 1, but 55x55x96 are 290,400; "
    "the abstract's 650,000 are 659,272.",
)
_ALEXNET_LECTURE = PaperTable(
    "the lecture's table of complexity",
    (
        PaperLayer("Conv1", ("blocks.0.convolution",), "", "35K", "101M"),
        PaperLayer("Conv2", ("blocks.1.convolution",), "", "614K", "415M"),
        PaperLayer(
            "Conv3-5", tuple(f"blocks.{i}.convolution" for i in (2, 3, 4)), "", "3M", "445M"
        ),
        PaperLayer("Dense1", ("dense.0.linear",), "", "26M", "26M"),
        PaperLayer("Dense2", ("dense.1.linear",), "", "16M", "16M"),
    ),
    "Its total of 46M leaves out the output layer: 46,747,008.",
)
_LENET_1998 = PaperTable(
    "LeCun et al. 1998, section II.B; operations are its connections",
    (
        PaperLayer("C1", ("c1",), "28x28x6", "156", "122,304"),
        PaperLayer("S2", ("s2",), "14x14x6", "12", "5,880"),
        PaperLayer("C3", ("c3",), "10x10x16", "1,516", "151,600"),
        PaperLayer("S4", ("s4",), "5x5x16", "32", "2,000"),
        PaperLayer("C5", ("c5",), "1x1x120", "48,120", "48,120"),
        PaperLayer("F6", ("f6",), "84", "10,164", "10,164"),
        PaperLayer("Output", ("output",), "10", "840 fixed", "840"),
    ),
    "Connections count biases; C3 runs here as a dense convolution with zeros in it.",
)
_LENET_LECTURE = PaperTable(
    "the lecture's table of complexity",
    (
        PaperLayer("Conv1", ("c1",), "", "150", "1.2M"),
        PaperLayer("Conv2", ("c3",), "", "2.4K", "2.4M"),
        PaperLayer("Dense1", ("c5",), "", "0.48M", "0.48M"),
        PaperLayer("Dense2", ("f6",), "", "0.1M", "0.1M"),
    ),
    "All but its convolutions' parameters are ten times too large.",
)


def _vgg(columns: tuple[tuple[str, ...], ...]) -> PaperTable:
    """A column of table 1."""
    layers = tuple(
        PaperLayer(name, (f"blocks.{block}.{place}.convolution",))
        for block, names in enumerate(columns)
        for place, name in enumerate(names)
    )
    dense = (
        PaperLayer("FC-4096", ("dense.0.linear",), "4096", "102,764,544"),
        PaperLayer("FC-4096", ("dense.1.linear",), "4096"),
        PaperLayer("FC-1000", ("output",), "1000"),
    )
    return PaperTable(
        "Simonyan and Zisserman 2014, table 1",
        layers + dense,
        "The lecture's 102,764,544 are the first dense layer's, not the last one's.",
    )


def _column(*repeats: int, ones: bool = False) -> tuple[tuple[str, ...], ...]:
    widths = (64, 128, 256, 512, 512)
    blocks = [(f"conv3-{width}",) * count for width, count in zip(widths, repeats, strict=True)]
    if ones:
        blocks[2:] = [
            (*block, f"conv1-{w}") for block, w in zip(blocks[2:], widths[2:], strict=True)
        ]
    return tuple(blocks)


def _googlenet() -> PaperTable:
    blocks = (
        ("3a", "28x28x256", "159K", "128M"),
        ("3b", "28x28x480", "380K", "304M"),
        ("4a", "14x14x512", "364K", "73M"),
        ("4b", "14x14x512", "437K", "88M"),
        ("4c", "14x14x512", "463K", "100M"),
        ("4d", "14x14x528", "580K", "119M"),
        ("4e", "14x14x832", "840K", "170M"),
        ("5a", "7x7x832", "1072K", "54M"),
        ("5b", "7x7x1024", "1388K", "71M"),
    )
    return PaperTable(
        "Szegedy et al. 2015, table 1",
        (
            PaperLayer("convolution 7x7/2", ("stem.0",), "112x112x64", "2.7K", "34M"),
            PaperLayer("convolution 3x3", ("stem.3", "stem.4"), "56x56x192", "112K", "360M"),
            *(PaperLayer(f"inception ({n})", (f"body.{n}",), *rest) for n, *rest in blocks),
            PaperLayer("linear", ("classifier",), "1000", "1000K", "1M"),
        ),
        "7x7x3x64 weights are 9.4K, not 2.7K; the lecture's 163,696 parameters of 3a are exact.",
    )


def _resnet(operations: str) -> PaperTable:
    sides = (56, 28, 14, 7)
    return PaperTable(
        f"He et al. 2016, table 1: {operations} FLOPs in all",
        (
            PaperLayer("conv1", ("stem.convolution",), "112x112"),
            *(
                PaperLayer(f"conv{stage + 2}_x", (f"body.{stage}",), f"{side}x{side}")
                for stage, side in enumerate(sides)
            ),
            PaperLayer("fc", ("classifier",), "1000"),
        ),
        "The paper counts multiply-adds, and a bottleneck's stride on its first 1x1.",
    )


TABLES: dict[str, PaperTable] = {
    "lenet5-1998": _LENET_1998,
    "lenet5": _LENET_LECTURE,
    "alexnet": _ALEXNET,
    "alexnet-lecture": _ALEXNET_LECTURE,
    "vgg-a": _vgg(_column(1, 1, 2, 2, 2)),
    "vgg-a-lrn": _vgg(_column(1, 1, 2, 2, 2)),
    "vgg-b": _vgg(_column(2, 2, 2, 2, 2)),
    "vgg-c": _vgg(_column(2, 2, 2, 2, 2, ones=True)),
    "vgg-d": _vgg(_column(2, 2, 3, 3, 3)),
    "vgg-e": _vgg(_column(2, 2, 4, 4, 4)),
    "googlenet": _googlenet(),
    "resnet-18": _resnet("1.8 x 10^9"),
    "resnet-34": _resnet("3.6 x 10^9"),
    "resnet-50": _resnet("3.8 x 10^9"),
    "resnet-101": _resnet("7.6 x 10^9"),
    "resnet-152": _resnet("11.3 x 10^9"),
}
"""By the name of the network."""

MACS: dict[str, int] = {
    "alexnet": 724_406_816,
    "alexnet-one-tower": 714_188_480,
    "vgg-a": 7_609_090_048,
    "vgg-a-lrn": 7_609_090_048,
    "vgg-b": 11_308_466_176,
    "vgg-c": 11_770_888_192,
    "vgg-d": 15_470_264_320,
    "vgg-e": 19_632_062_464,
    "googlenet": 1_582_671_872,
    "googlenet-bn": 1_498_376_192,
    "inception-v3": 5_713_216_096,
}
"""Multiply-accumulates for one image, where others have counted them."""

_DENSE = "whole image, one scale"
ERRORS: dict[str, ReportedError] = {
    "alexnet": ReportedError(40.7, 18.2, "10 crops"),
    "vgg-a": ReportedError(29.6, 10.4, _DENSE),
    "vgg-a-lrn": ReportedError(29.7, 10.5, _DENSE),
    "vgg-b": ReportedError(28.7, 9.9, _DENSE),
    "vgg-c": ReportedError(27.3, 8.8, _DENSE),
    "vgg-d": ReportedError(25.6, 8.1, _DENSE),
    "vgg-e": ReportedError(25.5, 8.0, _DENSE),
    "googlenet": ReportedError(None, 10.07, "1 crop"),
    "inception-bn": ReportedError(25.2, 7.82, "1 crop"),
    "inception-v3": ReportedError(21.2, 5.6, "1 crop"),
    "inception-v4": ReportedError(20.0, 5.0, "1 crop"),
    "inception-resnet-v2": ReportedError(19.9, 4.9, "1 crop"),
    "resnet-18": ReportedError(27.88, None, "10 crops, shortcuts A"),
    "resnet-34": ReportedError(24.52, 7.46, "10 crops, shortcuts B"),
    "resnet-50": ReportedError(22.85, 6.71, "10 crops, shortcuts B"),
    "resnet-101": ReportedError(21.75, 6.05, "10 crops, shortcuts B"),
    "resnet-152": ReportedError(21.43, 5.71, "10 crops, shortcuts B"),
    "vit-ti16": ReportedError(27.8, 8.9, "1 crop, DeiT's training"),
    "vit-s16": ReportedError(20.1, 5.0, "1 crop, DeiT's training"),
    "vit-b16": ReportedError(18.2, 4.4, "1 crop, DeiT's training"),
}
"""Of single networks, as their papers have them; they did not measure alike.

ResNet's shortcuts that widen are A (zeros) or B (projections); ours are B. Of a ResNet-18 the paper
has A's error alone (table 2); of a ResNet-34 it has both, A's is 25.03 / 7.76 (table 3).
"""


def published(name: str) -> dict[str, Any]:
    """What is published of a network, for its entry in the catalogue."""
    return {
        "published_macs": MACS.get(name),
        "error": ERRORS.get(name),
        "table": TABLES.get(name),
    }
