"""`landmark figure kernels` and `filters`: learnt kernels, and the lecture's hand-made ones."""

from pathlib import Path
from typing import Annotated, Any

import typer

from landmark.cli.figure.record import print_json
from landmark.cli.options import Checkpoint, Device, Json, RunFolder

MOST_PIXELS = 320  # a side of an image that kernels are shown on


def kernels(
    run: RunFolder,
    layer: Annotated[str | None, typer.Option(help="A convolution; default: the first.")] = None,
    components: Annotated[
        int | None,
        typer.Option(help="In place of the kernels, so many of their principal components."),
    ] = None,
    output: Annotated[Path, typer.Option(help="The figure.")] = Path("kernels.png"),
    as_json: Json = False,
    checkpoint: Checkpoint = None,
    device: Device = "auto",
) -> None:
    """Draw the kernels of a convolution as small pictures, as AlexNet's figure 3."""
    from landmark.pipelines.inspection.viewer import open_viewer
    from landmark.plots.figure import check_figure
    from landmark.plots.image.kernel import save_components, save_kernels
    from landmark.probes.image.kernel import kernels as find_kernels
    from landmark.probes.image.kernel import principal_kernels

    check_figure(output)
    viewer = open_viewer(run, checkpoint, device)
    name, weights = find_kernels(viewer.network, layer)
    count, channels, height, width = weights.shape
    what = f"{name}: {count} kernels of {height}x{width}x{channels}"
    facts: dict[str, Any] = {"layer": name, "shape": list(weights.shape)}
    if components is None:
        save_kernels(weights, f"{run.name or run}, {what}", output)
    else:
        found, shares = principal_kernels(weights, components)
        title = f"{run.name or run}, {what}: principal components"
        save_components(found, shares, title, output)
        facts["shares"] = shares.tolist()
    if as_json:
        print_json(figure=str(output), **facts)
        return
    print(what)
    if components is not None:
        print(f"{components} components have {sum(facts['shares']):.1%} of the variance")
    print(output)


def filters(
    image: Annotated[
        Path | None, typer.Argument(help="A picture; default: a flower.", show_default=False)
    ] = None,
    kernel: Annotated[
        list[str] | None, typer.Option(help="One of the lecture's; default: all eight.")
    ] = None,
    output: Annotated[Path, typer.Option(help="The figure.")] = Path("filters.png"),
    as_json: Json = False,
) -> None:
    """Draw an image under the lecture's hand-made kernels: identity, edge, blur and the others."""
    from landmark.core.errors import UserError
    from landmark.core.registry import nearest
    from landmark.pipelines.inspection.viewer import read_picture
    from landmark.plots.figure import check_figure
    from landmark.plots.image.filter import save_filters
    from landmark.probes.image.filter import HAND_MADE, apply_kernel
    from landmark.probes.image.filter import kernel as hand_made

    check_figure(output)
    names = list(dict.fromkeys(kernel or HAND_MADE))
    for name in names:
        if name not in HAND_MADE:
            raise UserError(f"there is no kernel {name!r}: {nearest(name, HAND_MADE)}")
    picture = read_picture(image)
    step = -(-max(picture.shape[1:]) // MOST_PIXELS)
    picture = picture[:, ::step, ::step]  # a kernel of 3 pixels cannot be seen on a huge image
    filtered = [(name, apply_kernel(picture, hand_made(name))) for name in names]
    save_filters(picture, filtered, output)
    means = {name: float(pixels.mean()) for name, pixels in filtered}
    if as_json:
        ninths = {name: HAND_MADE[name] for name in names}
        before = float(picture.mean())
        print_json(figure=str(output), kernels_in_ninths=ninths, mean=before, means=means)
        return
    print(f"{'kernel':<12}{'brightness':>10}")
    print(f"{'(image)':<12}{picture.mean():>10.3f}")
    for name, mean in means.items():
        print(f"{name:<12}{mean:>10.3f}")
    print(output)
