"""A problem of the user's own: `module:factory`, trained by the same engine as every recipe.

`factory(seed)` returns an object with

- `parameters`: a module, or a list of `nn.Parameter`s; the object may be a module itself;
- `loss(step)`: a tensor of one number that depends on them, for update number `step` (from 1);
- `validate()`, if there is one: a number to choose the rate by, lower is better.

Random numbers that `loss` draws from torch are keyed by (seed, step).
"""

import dataclasses
import importlib
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn

from landmark.core.configuration import fingerprint, settings
from landmark.core.errors import UserError
from landmark.core.turn import Objective, Turn
from landmark.data.batch import Batch
from landmark.data.loader import Loader
from landmark.engine.trainer import Report
from landmark.optim.schedule import ScheduleConfig
from landmark.tasks.assembly import optimizers_for
from landmark.tasks.card import Card, register
from landmark.tasks.fine_tuning import Origin
from landmark.tasks.task import Assembly, RunConfig, Task


@settings
class ProblemRun(RunConfig):
    """A complete training of a user's own problem."""

    task: Literal["problem"] = "problem"
    problem: str
    """module:factory, importable from the current folder."""
    schedule: ScheduleConfig = dataclasses.field(
        default_factory=lambda: ScheduleConfig(name="constant", rate=1e-3, warmup_steps=0)
    )


class UserProblem:
    """What a factory made, checked: whatever is wrong with it is one clear line."""

    def __init__(self, name: str, made: Any) -> None:
        self.name, self.made = name, made
        if not callable(getattr(made, "loss", None)):
            raise UserError(f"{name}: what it returns has no method loss(step)")
        self.module = self._module()
        if not any(parameter.requires_grad for parameter in self.module.parameters()):
            raise UserError(f"{name}: has no parameters that need gradients: nothing to learn")

    @property
    def validates(self) -> bool:
        return callable(getattr(self.made, "validate", None))

    def _module(self) -> nn.Module:
        if isinstance(self.made, nn.Module):
            return self.made
        own = getattr(self.made, "parameters", None)
        if isinstance(own, nn.Module):
            return own
        own = list(own) if isinstance(own, (list, tuple)) else []
        if not own or not all(isinstance(parameter, nn.Parameter) for parameter in own):
            raise UserError(
                f"{self.name}: has no parameters: its attribute `parameters` must be a module "
                "or a list of nn.Parameter"
            )
        return nn.ParameterList(own)

    def loss(self, step: int) -> Tensor:
        """The loss of an update, which must be one number with a way to the parameters."""
        loss = _call(f"{self.name}: loss({step})", self.made.loss, step)
        if not isinstance(loss, Tensor):
            raise UserError(f"{self.name}: loss({step}) is not a tensor but {_kind(loss)}")
        if loss.dim():
            raise UserError(
                f"{self.name}: loss({step}) is not a scalar: its shape is {tuple(loss.shape)}; "
                "return its mean or sum"
            )
        if not loss.requires_grad:
            raise UserError(f"{self.name}: loss({step}) does not depend on the parameters")
        return loss

    def check_gradient(self) -> None:
        """Refuse a loss that no parameter has a part in; nothing is changed."""
        learnt = [p for p in self.module.parameters() if p.requires_grad]
        if all(g is None for g in torch.autograd.grad(self.loss(1), learnt, allow_unused=True)):
            raise UserError(f"{self.name}: loss(1) does not depend on the parameters")

    @torch.no_grad()
    def validate(self) -> float:
        value = _call(f"{self.name}: validate()", self.made.validate)
        try:
            return float(value)
        except (TypeError, ValueError, RuntimeError):
            raise UserError(f"{self.name}: validate() is not a number but {_kind(value)}") from None


def load_problem(name: str, seed: int) -> UserProblem:
    """Import the factory and call it."""
    module_name, _, function = name.partition(":")
    if not module_name or not function:
        raise UserError(f"{name!r} is not a problem: write module:factory, as my_module:build")
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, here)  # a console script does not look into the current folder
    try:
        module = importlib.import_module(module_name)
    except Exception as error:
        raise UserError(f"{name}: cannot be imported: {_reason(error)}") from None
    factory = getattr(module, function, None)
    if not callable(factory):
        raise UserError(f"{name}: the module {module_name} has no function {function}")
    return UserProblem(name, _call(f"{name}: factory({seed})", factory, seed))


def _call(what: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """A user's function; an error of its own is told in a line that says where it arose."""
    try:
        return function(*arguments)
    except Exception as error:
        raise UserError(f"{what} raised {_reason(error)}") from None


def _reason(error: Exception) -> str:
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({Path(place.filename).name}:{place.lineno})"


def _kind(thing: object) -> str:
    shape = f" of shape {tuple(thing.shape)}" if isinstance(thing, Tensor) else ""
    return f"{type(thing).__name__}{shape}"


class ProblemObjective(Objective):
    """One player on one loss; an update is the unit."""

    unit = "updates"

    def __init__(self, problem: UserProblem) -> None:
        self.problem = problem
        self.players = {"model": problem.module}

    def turns(self, batch: Batch, step: int) -> Iterator[Turn]:
        again = partial(self.problem.loss, step)
        yield Turn("model", again(), 1.0, again=again)

    def measure(self, batch: Batch) -> Mapping[str, tuple[float, float]]:
        return {"loss": (self.problem.validate(), 1.0)}


class _Nothing:
    """A problem has its data inside: batches that only count."""

    def plan(self, epoch: int) -> list[list[int]]:
        return [[0]]

    def collate(self, epoch: int, samples: Any) -> Batch:
        return Batch()


def prepare(
    config: ProblemRun, folder: Path, report: Report, origin: Origin | None = None
) -> ProblemRun:
    """Nothing to keep; but whatever is wrong with the problem shows here, before the first step."""
    torch.manual_seed(config.seed)
    problem = load_problem(config.problem, config.seed)
    problem.check_gradient()
    if problem.validates:
        problem.validate()
    return config


def assemble(config: ProblemRun, folder: Path, device: torch.device) -> Assembly:
    torch.manual_seed(config.seed)
    problem = load_problem(config.problem, config.seed)
    objective = ProblemObjective(problem)
    return Assembly(
        objective=objective,
        optimizers=optimizers_for(config, objective),
        source=Loader(_Nothing()),
        validation=Loader(_Nothing()) if problem.validates else None,
    )


def _digest(config: ProblemRun) -> str:
    """The name: what the user's code does is not ours to know."""
    return fingerprint(config.problem)


TASK = Task("problem", ProblemRun, _digest, prepare, assemble)
register(Card("problem", task="landmark.racing.user_problem:TASK"))
