"""`landmark figure NAME`: one piece of code that computes, saves and prints every figure."""

import json
import sys
from typing import Any

from landmark.cli.flags import command, flags_of, parameter, read_options, refuse_unknown
from landmark.cli.help import App
from landmark.cli.options import JsonSwitch
from landmark.cli.outputs import paths_in, refuse_overwriting
from landmark.figures import every_figure
from landmark.tasks.card import FigureEntry, resolve


def build_app() -> App:
    """A command a figure."""
    app = App(help="Plot attention, feature maps, gradients, losses and more.")
    app.callback()(_about)
    for name, entry in every_figure().items():
        app.command(name)(_command(entry))
    return app


def _about() -> None:
    """Plot attention, feature maps, gradients, losses and more."""


def _command(entry: FigureEntry) -> Any:
    module = resolve(entry.module)
    flags = flags_of(module.Options)

    def draw(given: dict[str, Any]) -> None:
        from landmark.cli.progress import showing
        from landmark.figures.figure import make_figure

        as_json = given.pop("as_json", False)
        options = read_options(module.Options, given)
        refuse_unknown(options)
        if options.output is not None:
            refuse_overwriting({"--output": options.output}, paths_in(options, {"output"}))
        with showing() as report:
            drawn = make_figure(entry.name, module, options, report)
        for warning in drawn.warnings:
            print(warning, file=sys.stderr)
        if as_json:
            print(json.dumps(drawn.json(), ensure_ascii=False))
        else:
            print("\n".join(drawn.lines()))

    switch = parameter("as_json", JsonSwitch)
    return command(draw, entry.name, entry.help, flags.values(), [switch])
