"""The commands of `landmark figure`."""

import typer

from landmark.cli.figure import attention, descent, loss, neighbour, prediction, recurrent, scaling
from landmark.cli.figure.image import evidence, kernel, layer, patch
from landmark.cli.translation import comparison

app = typer.Typer(help="Draw what happens inside networks.", rich_markup_mode=None)

app.command("attention")(attention.attention)
app.command("next")(prediction.following)
app.command("losses")(loss.losses)
app.command("neighbours")(neighbour.neighbours)
app.command("scaling")(scaling.scaling)
app.command("gradients")(recurrent.gradients)
app.command("gates")(recurrent.gates)
app.command("cells")(recurrent.cells)
app.command("alignments")(comparison.alignments)
app.command("exposure")(comparison.exposure)
app.command("sizes")(comparison.sizes)
app.command("kernels")(kernel.kernels)
app.command("filters")(kernel.filters)
app.command("maps")(layer.maps)
app.command("receptive")(layer.receptive)
app.command("saliency")(evidence.saliency)
app.command("occlusion")(evidence.occlusion)
app.command("patches")(patch.patches)
app.command("positions")(patch.positions)
app.command("paths")(descent.paths)
app.command("rates")(descent.rates)
app.command("momentum")(descent.momentum)
app.command("bias")(descent.bias)
app.command("updates")(descent.updates)
