"""Generative adversarial networks on points whose density is known."""

from landmark.data.points import GaussianConfig, GridConfig, RingConfig
from landmark.engine.settings import TrainerConfig
from landmark.models.adversarial.maxout import MaxoutGanConfig
from landmark.models.adversarial.perceptron import LinearGeneratorConfig, PerceptronGanConfig
from landmark.models.adversarial.players import Players
from landmark.objectives.adversarial import AdversarialConfig
from landmark.optim.optimizer import OptimizerConfig
from landmark.optim.schedule import ScheduleConfig
from landmark.tasks.adversarial.run import AdversarialRun
from landmark.tasks.catalog import Network, System, add_system, recipe

add_system(
    System(
        "gan",
        "Goodfellow et al., Generative Adversarial Nets, arXiv 1406.2661",
        2014,
        "generation",
        (
            Network(
                "gan-2014",
                Players,
                MaxoutGanConfig(),
                Players.judge_one,
                3_735_425,
                note="for MNIST; generator 2,503,984, discriminator 1,231,441",
            ),
        ),
        what="a generator trained against a discriminator",
    )
)


def _adam() -> OptimizerConfig:
    return OptimizerConfig(betas=(0.5, 0.999), epsilon=1e-8)


def _trainer(max_steps: int, monitor: str, ema_decay: float) -> TrainerConfig:
    return TrainerConfig(
        max_steps=max_steps,
        log_every=max_steps // 20,
        validate_every=max_steps // 10,
        checkpoint_every=max_steps // 2,
        monitor=monitor,
        ema_decay=ema_decay,
        ema_players=("generator",),
    )


@recipe(
    "gan-gaussian", system="gan", summary="the smallest GAN, on a one-dimensional Gaussian: seconds"
)
def gan_gaussian() -> AdversarialRun:
    return AdversarialRun(
        optimizer=_adam(),
        schedule=ScheduleConfig(name="cosine", rate=2e-3, warmup_steps=0),
        trainer=_trainer(2000, "divergence", 0.99),
    )


@recipe(
    "gan-line",
    system="gan",
    summary="a linear generator, whose density is known: how far the game is from its end",
)
def gan_line() -> AdversarialRun:
    return AdversarialRun(
        data=GaussianConfig(noise_size=1, batches=200),
        model=LinearGeneratorConfig(),
        objective=AdversarialConfig(loss="non-saturating", r1=0.1),
        optimizer=_adam(),
        schedule=ScheduleConfig(name="cosine", rate=5e-3, warmup_steps=0),
        schedules={"generator": {"rate": 2e-2}},
        trainer=_trainer(3000, "divergence", 0.99),
    )


def _modes(
    data: RingConfig | GridConfig, r1: float, num_layers: int, max_steps: int, square_decay: float
) -> AdversarialRun:
    """The R1 penalty finds the modes; depth and a long training leave few samples between them."""
    return AdversarialRun(
        data=data,
        model=PerceptronGanConfig(hidden_size=128, num_layers=num_layers),
        objective=AdversarialConfig(r1=r1),
        optimizer=OptimizerConfig(betas=(0.5, square_decay), epsilon=1e-8),
        schedule=ScheduleConfig(name="cosine", rate=3e-3, warmup_steps=0),
        trainer=_trainer(max_steps, "mode_divergence", 0.995),
    )


@recipe(
    "gan-ring",
    system="gan",
    summary="8 Gaussians on a ring: does the GAN find all modes?",
    minutes=1.8,
)
def gan_ring() -> AdversarialRun:
    ring = RingConfig(noise_size=2, prior="uniform")
    return _modes(ring, r1=0.005, num_layers=5, max_steps=12_000, square_decay=0.99)


@recipe(
    "gan-grid",
    system="gan",
    summary="25 Gaussians on a grid: does the GAN find all modes?",
    minutes=5.2,
)
def gan_grid() -> AdversarialRun:
    grid = GridConfig(noise_size=2, prior="uniform")
    return _modes(grid, r1=0.1, num_layers=5, max_steps=40_000, square_decay=0.99)
