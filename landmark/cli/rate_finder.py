"""`landmark rate-finder`: which learning rate to begin with."""

from collections.abc import Mapping
from typing import Any

from landmark.cli.flags import Flag, command, flags_of, parameter, read_options, union
from landmark.cli.options import JsonSwitch
from landmark.cli.outputs import Printer
from landmark.cli.training import data_overrides, task_of
from landmark.tasks.card import CARDS, FilesWritten, resolve
from landmark.tasks.rate_options import RateFinderOptions


def build_rate_finder() -> Any:
    """The command, with the data options of all tasks."""
    known = union([resolve(card.data_options) for card in CARDS.values()])
    flags = flags_of(RateFinderOptions) | known
    return command(
        lambda given: _find(given, known),
        "rate-finder",
        "Suggest a learning rate: train briefly with an increasing one (Smith 2017).",
        flags.values(),
        [parameter("as_json", JsonSwitch)],
    )


def _find(given: dict[str, Any], known: Mapping[str, Flag]) -> None:
    from landmark.cli.progress import showing
    from landmark.figures.figure import check_place, save_picture
    from landmark.figures.rate_finder import draw
    from landmark.tasks.rate_finder import find_rate

    printer = Printer(bool(given.pop("as_json", False)))
    data = {key: value for key, value in given.items() if key in known}
    if data:
        card = CARDS[task_of(given["recipe"], given.get("overrides", ()))]
        settings = data_overrides(card, data, known, given["recipe"])
        given["overrides"] = [*settings, *given.get("overrides", ())]
    options: RateFinderOptions = read_options(RateFinderOptions, given)
    if options.figure:
        check_place(options.figure)
    with showing() as report:
        test = find_rate(options, report)
    if options.figure:
        save_picture(draw(test), options.figure)
    printer.show(test)
    if options.figure and not printer.as_json:
        printer.show(FilesWritten(options.figure))
