"""The corridor's system and its recipe."""

from landmark.engine.settings import TrainerConfig
from landmark.optim.optimizer import OptimizerConfig
from landmark.optim.schedule import ScheduleConfig
from landmark.tasks.catalog import System, add_system, recipe
from tests.toy.run import CorridorRun

add_system(System("corridor", "A toy of the tests", 2020, "control"))


@recipe("corridor", system="corridor", summary="an actor and a critic: a second")
def corridor() -> CorridorRun:
    return CorridorRun(
        optimizer=OptimizerConfig(name="adam"),
        optimizers={"actor": {"name": "momentum"}},
        schedule=ScheduleConfig(name="constant", rate=0.01, warmup_steps=0),
        schedules={"actor": {"rate": 0.05}},
        trainer=TrainerConfig(
            max_steps=12,
            log_every=3,
            validate_every=5,
            checkpoint_every=4,
            monitor="reward",
            higher_is_better=True,
            ema_decay=0.9,
            ema_players=["actor"],
        ),
    )
