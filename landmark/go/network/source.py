"""Networks by the folders of their runs, and searches led by them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from landmark.core.configuration import Provenance, build, override
from landmark.core.errors import UserError
from landmark.go.rollout.policy import RolloutPolicy
from landmark.go.search.parameters import SearchSettings
from landmark.go.search.searcher import Searcher

if TYPE_CHECKING:  # players without a network need no torch
    from landmark.go.network.evaluator import NetworkEvaluator, TrainedNetwork

OpenNetwork = Callable[[Path], "TrainedNetwork"]
"""Opens a run; a function of a module, so that other processes find it."""
USUAL: Mapping[str, Any] = {"selection": "puct", "exploration": 1.25, "expand_after": 1}
"""Settings of a search with a network, unless others are given."""
_NETWORK, _VALUE = "network", "value_network"


@dataclass(frozen=True)
class NetworkSource:
    """Where a player's network comes from, or its two."""

    path: Path
    value_path: Path | None
    open_network: OpenNetwork

    def evaluator(self) -> "NetworkEvaluator":
        """The networks, opened once in a process."""
        return _evaluator(self)

    def check(self, size: int, needs_value: bool = False) -> None:
        """Refuse a network that does not know moves, this board, or results where they count."""
        evaluator = self.evaluator()
        if not evaluator.has_policy:
            raise UserError(f"{self.path}: the network knows no moves: give it as {_VALUE}")
        if evaluator.size != size:
            raise UserError(
                f"{self.path}: the network plays on {evaluator.size}x{evaluator.size} boards, "
                f"not on {size}x{size}"
            )
        if needs_value and not evaluator.has_value:
            raise UserError(
                f"{self.path}: the network knows no results: playout_share=1, or another run as "
                f"{_VALUE}"
            )


@cache
def _evaluator(source: NetworkSource) -> "NetworkEvaluator":
    from landmark.go.network.evaluator import NetworkEvaluator

    value = None if source.value_path is None else source.open_network(source.value_path)
    return NetworkEvaluator(source.open_network(source.path), value)


def take_source(
    assignments: Sequence[str], open_network: OpenNetwork | None, place: str
) -> tuple[NetworkSource | None, list[str]]:
    """`network=RUN` and `value_network=RUN` of assignments, and the others."""
    paths: dict[str, Path] = {}
    others = []
    for text in assignments:
        name, sign, value = text.partition("=")
        if name not in (_NETWORK, _VALUE):
            others.append(text)
        elif not sign or not value:
            raise UserError(f"{place}: {name} names the folder of a run, as {name}=runs/go")
        else:
            paths[name] = Path(value)
    if not paths:
        return None, others
    if _NETWORK not in paths:
        raise UserError(f"{place}: {_VALUE} goes with {_NETWORK}, which knows the moves")
    if open_network is None:
        raise UserError(f"{place}: networks cannot be opened from here")
    return NetworkSource(paths[_NETWORK], paths.get(_VALUE), open_network), others


def search_settings(
    assignments: Sequence[str],
    source: NetworkSource | None,
    origin: Provenance,
    values: Mapping[str, Any] | None = None,
) -> SearchSettings:
    """Settings from `name=value`, those that fit a network where there is one."""
    usual = {**(USUAL if source else {}), **(values or {})}
    settings = build(SearchSettings, override(usual, list(assignments), origin), origin)
    if source is None and (settings.selection == "puct" or settings.playout_share > 0):
        name = "selection=puct" if settings.selection == "puct" else "playout_share"
        raise UserError(f"{origin.default}: {name} needs a network, as network=runs/go")
    return settings


def open_searcher(settings: SearchSettings, source: NetworkSource | None, size: int) -> Searcher:
    """A search on a board, led by a network where there is one."""
    path = settings.rollout_policy
    rollouts = None if path is None else RolloutPolicy.load(path)
    if source is None:
        return Searcher(settings, rollout_policy=rollouts)
    source.check(size, needs_value=settings.playout_share < 1)
    return Searcher(settings, source.evaluator(), rollout_policy=rollouts)
