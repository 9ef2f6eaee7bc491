"""The paper's races: problem, length, optimizers and learning rates.

After section 6 of Kingma and Ba 2014, arXiv 1412.6980. What is not said of a method is its own
default; what is not said of a problem is its recipe's.
"""

from dataclasses import dataclass, replace

from landmark.optim.optimizer import SPARSE_METHODS

SEARCH = (0.1, 0.3, 1.0, 3.0)
_RECORDS, _VALIDATIONS = 50, 10  # of one training


@dataclass(frozen=True)
class Competitor:
    """A method that takes part."""

    name: str
    settings: tuple[str, ...]
    """What of a recipe it changes, as dotted overrides."""
    rate: float
    """The rate that is usual for it on this problem: the search is around it."""
    pace: int = 1
    """How many updates of the others one of its own costs, in evaluations of the loss."""
    search: tuple[float, ...] = SEARCH
    """The rates that are tried, as shares of the usual one."""

    @property
    def rates(self) -> tuple[float, ...]:
        """The rates that are tried."""
        return tuple(float(f"{self.rate * share:.6g}") for share in self.search)


@dataclass(frozen=True)
class Race:
    """One problem, trained by many methods."""

    recipe: str
    figure: str
    """Which experiment of the paper this is."""
    steps: int
    """Updates of a short race: about ten seconds a training on one core."""
    full_steps: int
    """Updates of a race as long as the paper's."""
    racers: tuple[Competitor, ...]
    short: tuple[str, ...] = ()
    """What of the recipe is smaller in a short race, as dotted overrides."""

    def overrides(self, racer: Competitor, rate: float, seed: int, steps: int) -> list[str]:
        """All that turns the problem into one training of this race, `steps` updates long."""
        own = max(1, round(steps / racer.pace))
        return [
            *racer.settings,
            f"schedule.rate={rate!r}",
            f"seed={seed}",
            f"trainer.max_steps={own}",
            f"trainer.log_every={max(1, own // _RECORDS)}",
            f"trainer.validate_every={max(1, own // _VALIDATIONS)}",
            f"trainer.checkpoint_every={max(1, own // _VALIDATIONS)}",
            "trainer.keep_last=1",
            "trainer.average_last=0",
            "trainer.patience=null",
            "trainer.skip_nonfinite=0",
        ]


USUAL_RATES = {
    "sgd": 0.1,
    "momentum": 0.03,
    "nesterov": 0.03,
    "adagrad": 0.01,
    "rmsprop": 1e-3,
    "adadelta": 1.0,
    "adam": 1e-3,
    "adamw": 1e-3,
    "adamax": 2e-3,
    "amsgrad": 1e-3,
}
"""Each method, and the rate that is usual for it."""
_FALLING = 10.0
"""Where rates fall as 1 / sqrt(t), they begin so many times higher."""


def _racers(scale: float = 1.0, **factors: float) -> tuple[Competitor, ...]:
    """All methods, each at so many times its usual rate, or at its own factor of that."""
    return tuple(
        Competitor(
            name,
            (f"optimizer.name={name}",),
            float(f"{rate * scale * factors.get(name, 1.0):.6g}"),
        )
        for name, rate in USUAL_RATES.items()
    )


def _on_words() -> tuple[Competitor, ...]:
    """Sparse gradients for those that take them. A word's weights are seldom moved, so far then."""
    return tuple(
        replace(racer, settings=(*racer.settings, "model.sparse=true"))
        if racer.name in SPARSE_METHODS
        else racer
        for racer in _racers(10 * _FALLING, sgd=3, momentum=3, nesterov=3)
    )


def _line_search() -> Competitor:
    """Batches of four times the size, and about a dozen evaluations on each."""
    settings = ("optimizer.name=lbfgs", "optimizer.iterations=10", "batches.size=512")
    return Competitor("lbfgs", settings, 1.0, pace=48)


def _corrected_or_not() -> tuple[Competitor, ...]:
    """Figure 4: decays of both moments, with bias correction and without, over wide rates."""
    return tuple(
        Competitor(
            f"adam-{beta1}-{beta2}{'' if corrected else '-uncorrected'}",
            (
                "optimizer.name=adam",
                f"optimizer.betas=[{beta1}, {beta2}]",
                f"optimizer.bias_correction={str(corrected).lower()}",
            ),
            1e-3,
            search=(0.1, 1.0, 10.0, 100.0),
        )
        for beta1 in (0.0, 0.9)
        for beta2 in (0.99, 0.999, 0.9999)
        for corrected in (True, False)
    )


_SMALLER_CIFAR = ("model.widths=[16, 16, 32]", "model.dense_width=250")
RACES: dict[str, Race] = {
    race.recipe: race
    for race in (
        Race("race-logistic", "figure 1, MNIST", 920, 20_700, _racers(_FALLING)),
        Race("race-bag-of-words", "figure 1, SST-2 for IMDB", 920, 16_110, _on_words()),
        Race("race-mlp", "figure 2a", 460, 92_000, _racers()),
        Race(
            "race-mlp-deterministic",
            "figure 2b, L-BFGS for SFO",
            480,
            92_000,
            (*_racers(), _line_search()),
            short=("model.widths=[500, 500]",),
        ),
        Race(
            "race-cifar",
            "figure 3",
            282,
            1128,
            _racers(momentum=0.3, nesterov=0.3),
            short=_SMALLER_CIFAR,
        ),
        Race("race-vae", "figure 4", 600, 58_800, _corrected_or_not()),
        Race("race-transformer", "not in the paper", 300, 3000, _racers(30.0)),
    )
}
"""By the names of their recipes."""
