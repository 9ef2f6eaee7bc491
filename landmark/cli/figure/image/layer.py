"""`landmark figure maps` and `receptive`: what layers make of an image, and how far they see."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from landmark.cli.figure.record import print_json
from landmark.cli.options import Checkpoint, Device, Json, RunFolder

if TYPE_CHECKING:
    from torch import Tensor, nn

    from landmark.probes.image.receptive import FieldLayer

Image = Annotated[
    str, typer.Argument(help="A file, or an image of the run's own data, as valid:3.")
]
_ROWS, _COLUMNS = 8, 8  # of an overview


def maps(
    run: RunFolder,
    image: Image = "valid:1",
    layer: Annotated[
        str | None, typer.Option(help="One layer's maps; default: some of many layers.")
    ] = None,
    output: Annotated[Path, typer.Option(help="The figure.")] = Path("maps.png"),
    as_json: Json = False,
    checkpoint: Checkpoint = None,
    device: Device = "auto",
) -> None:
    """Draw the feature maps that a network makes of an image, of one layer or of many."""
    from landmark.pipelines.inspection.viewer import open_viewer
    from landmark.plots.figure import check_figure
    from landmark.plots.image.feature_map import save_maps, save_overview
    from landmark.probes.image.layer import feature_maps, list_layers, overview

    check_figure(output)
    viewer = open_viewer(run, checkpoint, device)
    view = viewer.view(image)
    layers = list_layers(viewer.network, view.given)
    title = f"{run.name or run}, {view.name}"
    if layer is not None:
        found = feature_maps(viewer.network, view.given, layer)[0]
        save_maps(view.shown, layer, found, title, output)
    else:
        shown = [
            (entry.name, feature_maps(viewer.network, view.given, entry.name)[0])
            for entry in overview(layers, _ROWS)
        ]
        save_overview(view.shown, shown, _COLUMNS, title, output)
    if as_json:
        print_json(figure=str(output), image=view.name, layer=layer, layers=layers)
        return
    width = max(8, *(len(entry.name) + 2 for entry in layers))
    print(f"{'layer':<{width}}{'kind':<22}{'maps':>6}{'size':>10}")
    for entry in layers:
        size = f"{entry.width}x{entry.height}"
        print(f"{entry.name:<{width}}{entry.kind:<22}{entry.channels:>6}{size:>10}")
    print(output)


def receptive(
    network: Annotated[str, typer.Argument(help="A run directory, or a network, as resnet-50.")],
    image: Annotated[
        str | None, typer.Option(help="A picture to draw on; of a run, valid:3 is one.")
    ] = None,
    gradients: Annotated[
        bool, typer.Option("--gradients", help="Check by gradients, and draw how strong they are.")
    ] = False,
    output: Annotated[Path, typer.Option(help="The figure.")] = Path("receptive.png"),
    as_json: Json = False,
    checkpoint: Checkpoint = None,
) -> None:
    """Draw how many pixels the units of each layer see, by arithmetic and by gradients."""
    from landmark.plots.figure import check_figure
    from landmark.plots.image.receptive import chosen, save_fields
    from landmark.probes.image.receptive import (
        effective_size,
        gradient_field,
        reached,
        receptive_fields,
    )

    check_figure(output)
    module, shown, given = _open(network, image, gradients, checkpoint)
    channels, height, width = shown.shape
    layers = receptive_fields(module, (channels, height, width))
    strengths = {}
    if gradients:
        for layer in chosen(layers):
            strengths[layer.name] = gradient_field(module, given, layer.name)
    name = Path(network).name or network
    save_fields(layers, shown, strengths, f"{name}: receptive fields at {width}x{height}", output)
    if as_json:
        found = {
            name: {"box": reached(strength), "effective": effective_size(strength)}
            for name, strength in strengths.items()
        }
        print_json(figure=str(output), image=[height, width], layers=layers, gradients=found)
        return
    _print_fields(layers, strengths)
    print(output)


def _open(
    network: str, image: str | None, gradients: bool, checkpoint: str | None
) -> "tuple[nn.Module, Tensor, Tensor]":
    """A run's network or a fresh one by name; the picture, and what gradients are taken at."""
    import torch

    from landmark.pipelines.inspection.viewer import open_viewer, read_picture
    from landmark.tasks.catalog import NETWORKS, load_catalog

    if Path(network).is_dir():
        viewer = open_viewer(Path(network), checkpoint, "cpu")
        view = viewer.view(image) if image else viewer.any_view()
        return viewer.network, view.shown, view.given
    load_catalog()
    entry = NETWORKS[network]
    # Without gradients, shapes are enough.
    with torch.device("cpu" if gradients else "meta"):
        torch.manual_seed(1)
        module = entry.build().eval()
    side, channels = _image_shape(module, network)
    shown = read_picture(Path(image) if image else None, side, channels)
    # Several random images: a max pooling lets the gradient to one of its places at a time.
    given = torch.randn(4, channels, side, side, generator=torch.Generator().manual_seed(1))
    return module, shown, given


def _image_shape(module: "nn.Module", network: str) -> tuple[int, int]:
    """Pixels a side and channels of what a network reads."""
    from landmark.core.errors import UserError
    from landmark.models.image import ImageNetwork, ImageNetworkConfig

    config = getattr(module, "config", None)
    if not isinstance(module, ImageNetwork) or not isinstance(config, ImageNetworkConfig):
        raise UserError(f"{network}: does not look at images: choose one that does, as resnet-50")
    return config.image_size, config.channels


def _print_fields(layers: "list[FieldLayer]", strengths: "dict[str, Tensor]") -> None:
    """A line a layer; of those with a gradient, the box it reached and what it moved noticeably."""
    from landmark.probes.image.receptive import effective_size, reached

    width = max(8, *(len(layer.name) + 2 for layer in layers))
    head = f"{'layer':<{width}}{'units':>10}{'sees':>12}{'every':>8}{'from':>8}"
    print(head + (f"{'gradient':>12}{'effective':>11}" if strengths else ""))
    for layer in layers:
        rows, columns = layer.output
        down, across = layer.field.height, layer.field.width
        line = (
            f"{layer.name:<{width}}{f'{columns}x{rows}':>10}{f'{across.size}x{down.size}':>12}"
            f"{across.step:>8}{across.start:>8}"
        )
        if layer.name in strengths:
            _, _, height, breadth = reached(strengths[layer.name])
            effective = effective_size(strengths[layer.name])
            line += f"{f'{breadth}x{height}':>12}{effective:>11.1f}"
        print(line)
