"""A figure made as the command makes it: options by flag, then a picture, rows and JSON."""

import json
from importlib import import_module
from typing import Any

from landmark.cli.flags import read_options
from landmark.figures import every_figure
from landmark.figures.figure import FigureResult, make_figure


def module_of(name: str) -> Any:
    """The module of a registered figure."""
    return import_module(every_figure()[name].module)


def make(name: str, **given: Any) -> FigureResult:
    """Make a figure; a list is what repeatable flags give."""
    module = module_of(name)
    drawn = make_figure(name, module, read_options(module.Options, given))
    assert drawn.path.stat().st_size > 0
    assert drawn.lines()[-1] == str(drawn.path)
    return drawn


def as_json(drawn: FigureResult) -> dict[str, Any]:
    """What --json prints, without the file's name."""
    record = json.loads(json.dumps(drawn.json(), ensure_ascii=False))
    assert record.pop("figure") == str(drawn.path)
    return dict(record)
