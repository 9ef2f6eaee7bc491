"""The commands of `landmark figure`."""

import typer

from landmark.cli.figure import attention, loss, neighbour, prediction, recurrent, scaling
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
