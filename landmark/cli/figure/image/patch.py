"""`landmark figure patches` and `positions`: inside a Vision Transformer."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from landmark.cli.figure.image.layer import Image
from landmark.cli.figure.record import print_json
from landmark.cli.options import Checkpoint, Device, Json, RunFolder

if TYPE_CHECKING:
    from landmark.models.transformer.vit import ViT
    from landmark.pipelines.inspection.viewer import ImageViewer

MOST_SIDE = 24  # patches a side whose positions one picture shows
_PLACE = re.compile(r"(\d+),(\d+)")


def patches(
    run: RunFolder,
    image: Image = "valid:1",
    layer: Annotated[int | None, typer.Option(help="From 1; default: the last.")] = None,
    patch: Annotated[
        str | None,
        typer.Option(help="Whose view, as row,column from 1; default: what is read in the end."),
    ] = None,
    output: Annotated[Path, typer.Option(help="The figure.")] = Path("patches.png"),
    as_json: Json = False,
    checkpoint: Checkpoint = None,
    device: Device = "auto",
) -> None:
    """Draw where a Vision Transformer looks: each head of a layer, and the flow through all."""
    from landmark.core.errors import UserError
    from landmark.pipelines.inspection.viewer import open_viewer
    from landmark.plots.figure import check_figure
    from landmark.plots.image.patch import save_patches
    from landmark.probes.image.patch import (
        describe_patch_heads,
        patch_attention,
        patch_view,
        read_view,
        rollout,
    )

    check_figure(output)
    place = _place(patch)
    viewer = open_viewer(run, checkpoint, device)
    network = _transformer(viewer, run)
    view = viewer.view(image)
    weights = patch_attention(network, view.given)
    number = layer or len(weights)
    if not 1 <= number <= len(weights):
        raise UserError(f"layer {number}: the network has the layers 1 to {len(weights)}")
    heads = describe_patch_heads(weights, network.config.patch_size)
    if place is None:
        flow, seen = read_view(rollout(weights)), read_view(weights[number - 1])
    else:
        flow, seen = (patch_view(w, *place) for w in (rollout(weights), weights[number - 1]))
    views = [(f"layer {number}, head {head}", view) for head, view in enumerate(seen, 1)]
    whose = "what is read in the end" if place is None else f"patch {patch}"
    title = f"{run.name or run}, {view.name}: attention of {whose}"
    save_patches(view.shown, flow, views, heads, place, title, output)
    if as_json:
        print_json(
            figure=str(output), image=view.name, layer=number, patch=patch,
            rollout=flow.tolist(), views=seen.tolist(), heads=heads,
        )  # fmt: skip
        return
    print(f"{'layer':>5}{'head':>6}{'distance':>13}{'class token':>13}{'entropy':>12}")
    for head in heads:
        print(
            f"{head.layer:>5}{head.head:>6}{head.distance:>10.1f} px{head.to_class:>13.0%}"
            f"{head.entropy:>7.2f} bits"
        )
    print(output)


def positions(
    run: RunFolder,
    output: Annotated[Path, typer.Option(help="The figure.")] = Path("positions.png"),
    as_json: Json = False,
    checkpoint: Checkpoint = None,
) -> None:
    """Draw how alike the positions of a Vision Transformer are: a square a patch."""
    from landmark.core.errors import UserError
    from landmark.pipelines.inspection.viewer import open_viewer
    from landmark.plots.figure import check_figure
    from landmark.plots.image.patch import save_positions
    from landmark.probes.image.patch import position_similarity

    check_figure(output)
    viewer = open_viewer(run, checkpoint, "cpu")
    network = _transformer(viewer, run)
    found = position_similarity(network.embedding.position.detach()[0])
    side = len(found)
    if side > MOST_SIDE:
        raise UserError(f"{side}x{side} patches are too many for one picture: {MOST_SIDE} at most")
    title = f"{run.name or run}: how alike the positions of {side}x{side} patches are"
    save_positions(found, title, output)
    if as_json:
        print_json(figure=str(output), side=side, similarity=found.tolist())
        return
    # Neighbours in a row, in a column, and all pairs, to see in two numbers what is learnt.
    grid = range(side)
    across = [float(found[r, c, r, c + 1]) for r in grid for c in range(side - 1)]
    down = [float(found[r, c, r + 1, c]) for r in range(side - 1) for c in grid]
    everywhere = (float(found.sum()) - side**2) / max(1, side**4 - side**2)
    print(f"{side}x{side} patches; mean cosine of two positions:")
    for name, values in (("beside each other", across), ("below each other", down)):
        if values:
            print(f"  {name:<18}{sum(values) / len(values):>7.3f}")
    print(f"  {'any two':<18}{everywhere:>7.3f}")
    print(output)


def _place(patch: str | None) -> tuple[int, int] | None:
    from landmark.core.errors import UserError

    if patch is None:
        return None
    match = _PLACE.fullmatch(patch)
    if not match:
        raise UserError(f"--patch {patch}: is no place: write row,column, as 3,5")
    return int(match[1]) - 1, int(match[2]) - 1


def _transformer(viewer: "ImageViewer", run: Path) -> "ViT":
    from landmark.core.errors import UserError
    from landmark.models.transformer.vit import ViT

    if not isinstance(viewer.network, ViT):
        raise UserError(f"{run}: is no Vision Transformer: see `landmark figure saliency`")
    return viewer.network
