"""Entries of a race: the paper's problems, any other recipe, or a user's problem."""

import dataclasses
import json
from collections.abc import Sequence

from landmark.core.configuration import Provenance, as_values, build, override
from landmark.core.errors import UserError
from landmark.core.registry import nearest
from landmark.engine.settings import TrainerConfig
from landmark.optim.optimizer import OptimizerConfig
from landmark.racing.races import RACES, USUAL_RATES, Competitor, Race
from landmark.racing.user_problem import ProblemRun
from landmark.tasks.task import RunConfig
from landmark.tasks.training import resolve

SHORT_STEPS = 200
"""Updates of a training where no race says how many: --steps names another number."""
_DECADES = (0.1, 1.0, 10.0, 100.0)
"""The search where nobody knows which rates are usual: shares of each method's usual one."""
_LINE_SEARCH = Competitor(
    "lbfgs", ("optimizer.name=lbfgs", "optimizer.iterations=10"), 1.0, pace=12
)
_SET_BY_THE_RACE = {
    "seed": "--seeds says how many",
    "optimizer.name": "--methods names them",
    "schedule.rate": "--rates names them",
    "trainer.max_steps": "--steps is that",
}


@dataclasses.dataclass(frozen=True)
class Entry:
    """A race to be held: the problem's configuration, who takes part and for how many updates."""

    name: str
    config: RunConfig
    race: Race
    steps: int


def enter_recipe(
    recipe: str, overrides: Sequence[str] = (), *, full: bool = False, steps: int | None = None
) -> Entry:
    """A recipe with its own race; any other with the usual methods, in their published form."""
    _check_overrides(overrides)
    race = RACES.get(recipe)
    if race:
        steps = steps or (race.full_steps if full else race.steps)
        short = () if full else race.short
    else:
        config = resolve(recipe, overrides)
        race = _usual_race(recipe, config.optimizer)
        steps = steps or (config.trainer.max_steps if full else SHORT_STEPS)
        # The paper's schedule of the Transformer has no peak to search for: its shape by the peak.
        noam = config.schedule.name == "noam"
        short = ("schedule.name=inverse-sqrt",) if noam else ()
    config = resolve(recipe, [*short, *overrides, f"trainer.max_steps={steps}"])
    return Entry(recipe, config, race, steps)


def enter_problem(
    problem: str, overrides: Sequence[str] = (), *, steps: int | None = None
) -> Entry:
    """A user's own problem (`module:factory`) with the usual methods and L-BFGS."""
    _check_overrides(overrides)
    steps = steps or SHORT_STEPS
    start = ProblemRun(problem=problem, trainer=TrainerConfig(max_steps=steps))
    origin = Provenance(f"problem {problem}")
    config = build(ProblemRun, override(as_values(start), overrides, origin), origin)
    race = _usual_race(problem, config.optimizer)
    race = dataclasses.replace(race, racers=(*race.racers, _LINE_SEARCH))
    return Entry(problem, config, race, steps)


def _check_overrides(overrides: Sequence[str]) -> None:
    """Refuse what the race itself sets."""
    for assignment in overrides:
        key = assignment.partition("=")[0]
        if key in _SET_BY_THE_RACE:
            raise UserError(
                f"override {assignment!r}: the race sets {key}: {_SET_BY_THE_RACE[key]}"
            )


def _usual_race(name: str, own: OptimizerConfig) -> Race:
    """All methods at their usual rates; of a recipe's own settings only its weight decay holds."""
    settings = {
        "betas": [0.9, 0.999],
        "epsilon": 1e-8,
        "weight_decay": own.weight_decay,
        "decay": own.decay,
    }
    racers = tuple(
        Competitor(
            method,
            (f"optimizer={json.dumps({'name': method, **settings})}",),
            rate,
            search=_DECADES,
        )
        for method, rate in USUAL_RATES.items()
    )
    return Race(name, "", SHORT_STEPS, SHORT_STEPS, racers)


def choose_racers(race: Race, methods: Sequence[str] | None) -> list[Competitor]:
    """Those of the race that are named, in that order; all if none is."""
    known = {racer.name: racer for racer in race.racers}
    if not methods:
        return list(race.racers)
    for method in methods:
        if method not in known:
            raise UserError(f"unknown method {method!r}: {nearest(method, known)}")
    return [known[method] for method in dict.fromkeys(methods)]
