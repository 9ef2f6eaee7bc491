import math

import pytest
import torch

from landmark.optim.schedule import ScheduleConfig, build_plateau, learning_rate


def rate(step: int, max_steps: int = 1000, hidden_size: int = 512, **changes: object) -> float:
    return learning_rate(ScheduleConfig(**changes), step, hidden_size, max_steps)


@pytest.mark.parametrize("step", [1, 2, 1000, 3999, 4000, 4001, 100_000])
def test_noam_is_the_papers_equation_3(step: int) -> None:
    expected = 512**-0.5 * min(step**-0.5, step * 4000**-1.5)
    assert rate(step) == pytest.approx(expected, rel=1e-12)


def test_noam_peaks_at_the_end_of_the_warmup_with_the_base_models_0_0007() -> None:
    assert rate(4000) == pytest.approx(0.000698771, rel=1e-5)
    assert rate(3999) < rate(4000) > rate(4001)
    assert rate(4000, rate=2.0, hidden_size=128) == pytest.approx(4 * rate(4000))


def test_inverse_square_root_grows_to_its_peak_and_halves_at_four_times_the_warmup() -> None:
    shape = {"name": "inverse-sqrt", "rate": 0.002, "warmup_steps": 100}
    assert rate(1, **shape) == pytest.approx(0.002 / 100)
    assert rate(50, **shape) == pytest.approx(0.001)
    assert rate(100, **shape) == pytest.approx(0.002)
    assert rate(400, **shape) == pytest.approx(0.001)
    assert rate(10_000, **shape) == pytest.approx(0.0002)


def test_inverse_square_root_has_the_shape_of_noam() -> None:
    peak = 512**-0.5 * 4000**-0.5
    for step in (1, 100, 4000, 9999):
        assert rate(step, name="inverse-sqrt", rate=peak) == pytest.approx(rate(step))


def test_cosine_goes_from_its_peak_to_its_floor() -> None:
    shape = {"name": "cosine", "rate": 0.4, "warmup_steps": 200}
    assert rate(100, **shape) == pytest.approx(0.2)
    assert rate(200, **shape) == pytest.approx(0.4)
    assert rate(400, **shape) == pytest.approx(0.2 * (1 + math.cos(math.pi / 4)))
    assert rate(600, **shape) == pytest.approx(0.2)
    assert rate(1000, **shape) == pytest.approx(0, abs=1e-12)
    assert rate(5000, **shape) == pytest.approx(0, abs=1e-12)
    assert rate(1000, floor=0.1, **shape) == pytest.approx(0.04)
    assert rate(200, floor=0.1, **shape) == pytest.approx(0.4)


def test_constant_stays_after_its_warmup() -> None:
    shape = {"name": "constant", "rate": 0.01, "warmup_steps": 10}
    assert [rate(step, **shape) for step in (1, 5, 10, 11, 100_000)] == pytest.approx(
        [0.001, 0.005, 0.01, 0.01, 0.01]
    )


@pytest.mark.parametrize("name", ["noam", "inverse-sqrt", "cosine", "constant"])
def test_without_warmup_the_first_step_has_the_peak_rate(name: str) -> None:
    rates = [rate(step, name=name, rate=0.5, warmup_steps=0) for step in range(1, 30)]
    assert rates[0] == max(rates)
    assert rates[0] == pytest.approx(0.5 * (512**-0.5 if name == "noam" else 1))


def torchs_rates(build, updates: int) -> list[float]:
    """The rates of the updates under one of torch's schedulers."""
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.1)
    scheduler = build(optimizer)
    rates = []
    for _ in range(updates):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return rates


def test_step_is_torchs_multi_step_decay() -> None:
    expected = torchs_rates(
        lambda it: torch.optim.lr_scheduler.MultiStepLR(it, [100, 150], gamma=0.1), 200
    )
    shape = {"name": "step", "rate": 0.1, "warmup_steps": 0, "max_steps": 200}
    assert [rate(step, **shape) for step in range(1, 201)] == pytest.approx(expected)
    shape |= {"milestones": (0.75,), "factor": 0.5}
    assert [rate(step, **shape) for step in (150, 151)] == pytest.approx([0.1, 0.05])


@pytest.mark.parametrize("warmup_fraction", [0.3, 0.45])
def test_one_cycle_is_torchs(warmup_fraction: float) -> None:
    expected = torchs_rates(
        lambda it: torch.optim.lr_scheduler.OneCycleLR(
            it, 0.4, total_steps=101, pct_start=warmup_fraction, cycle_momentum=False
        ),
        100,
    )
    shape = {"name": "one-cycle", "rate": 0.4, "warmup_fraction": warmup_fraction, "max_steps": 101}
    assert [rate(step, **shape) for step in range(1, 101)] == pytest.approx(expected)


@pytest.mark.parametrize("mode", ["min", "max"])
@pytest.mark.parametrize(
    "options",
    [
        {"patience": 0},
        {"patience": 3, "threshold": 0.05},
        {"patience": 1, "cooldown": 2, "factor": 0.5},
        {"patience": 0, "floor": 0.01},
    ],
)
def test_plateau_is_torchs_reduction_on_a_plateau(mode: str, options: dict[str, float]) -> None:
    generator = torch.Generator().manual_seed(3)
    falling = 2 * 0.9 ** torch.arange(40) + 0.2 * torch.rand(40, generator=generator)
    scores = (falling if mode == "min" else 4 - falling).tolist()
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.1)
    theirs = {"factor": 0.1, "threshold": 1e-4, "cooldown": 0, **options}
    floor = theirs.pop("floor", 0.0)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(
        optimizer, mode, min_lr=0.1 * floor, eps=0, **theirs
    )
    share = build_plateau(ScheduleConfig(name="plateau", **options))
    costs = scores if mode == "min" else [-score for score in scores]
    for count, score in enumerate(scores, 1):
        scheduler.step(score)
        assert 0.1 * share(costs[:count]) == pytest.approx(optimizer.param_groups[0]["lr"])
    assert optimizer.param_groups[0]["lr"] < 0.1


def test_only_a_plateau_goes_by_validations() -> None:
    assert build_plateau(ScheduleConfig(name="cosine")) is None
    assert rate(50, name="plateau", rate=0.1, warmup_steps=10) == pytest.approx(0.1)
