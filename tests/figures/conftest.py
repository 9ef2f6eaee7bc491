"""Figures made as the command line makes them."""

from collections.abc import Callable
from typing import Any

import pytest

from landmark.cli.flags import read_options
from landmark.core.errors import UserError
from landmark.figures import every_figure
from landmark.figures.figure import FigureResult, make_figure
from landmark.tasks.card import resolve


@pytest.fixture
def make() -> Callable[..., FigureResult]:
    """Make a figure by its name, with these options."""

    def call(name: str, **given: Any) -> FigureResult:
        module = resolve(every_figure()[name].module)
        return make_figure(name, module, read_options(module.Options, given))

    return call


@pytest.fixture
def refused(make) -> Callable[..., str]:
    """Ask for a figure that must be refused; what is said."""

    def call(name: str, **given: Any) -> str:
        with pytest.raises(UserError) as caught:
            make(name, **given)
        return str(caught.value)

    return call
