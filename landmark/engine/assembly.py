"""The parts of one training, put together by a task and handed to the trainer."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from landmark.core.turn import Objective
from landmark.data.loader import Loader
from landmark.engine.source import Source
from landmark.engine.state import TrainingState
from landmark.optim.optimizer import ScheduledOptimizer

Stopping = Callable[[], object]
"""Whether the training has been told to stop. With several processes all must ask together."""
Evaluator = Callable[[int, Stopping], Mapping[str, float] | None]
"""A score that is no mean over batches: BLEU of translations, FID of samples, games won.

Called at every validation with the step and `stopping`, on all processes, with the players in
evaluation mode and the moving average in place. Each process may do a share of the work; all give
the same names, and the numbers of the first process count. A long evaluation asks `stopping()` now
and then and gives None if it was stopped: it is then done from its beginning when the training goes
on. Random numbers of torch are seeded by the step.
"""

Diagnosis = Callable[[TrainingState, Mapping[str, float]], str | None]
"""What is wrong with a training by its state and its latest validation, with what to try, in one
line; None: nothing. Asked after every validation; see trainer.on_collapse.
"""


@dataclass(frozen=True)
class Assembly:
    """The parts of one training, ready for the trainer."""

    objective: Objective
    optimizers: Mapping[str, ScheduledOptimizer]
    """One optimizer for each player."""
    source: Source
    validation: Loader | None = None
    evaluator: Evaluator | None = None
    remarks: Callable[[], Iterable[Mapping[str, Any]]] | None = None
    """Records to report after each validation: samples of what the evaluator has made."""
    diagnose: Diagnosis | None = None
