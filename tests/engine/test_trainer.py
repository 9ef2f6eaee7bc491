"""The loop: the same step in any layout, two players, faults stopped before they do harm."""

import math
import shutil

import pytest
import torch
from torch import nn

from benchmarks.faults.group import torchrun
from benchmarks.faults.journal import run_together
from landmark.core.errors import TrainingError, UserError
from landmark.core.turn import Objective, Turn
from landmark.data.batch import AdversarialBatch
from landmark.data.loader import Loader
from landmark.data.points import GaussianConfig, PointSamples
from landmark.engine.assembly import Assembly
from landmark.engine.checkpoint import load_tensors
from landmark.engine.run import Run
from landmark.engine.settings import TrainerConfig
from landmark.engine.trainer import Trainer
from landmark.models.adversarial.perceptron import Perceptron
from landmark.objectives.adversarial import AdversarialConfig, AdversarialObjective
from landmark.optim.optimizer import OptimizerConfig, ScheduledOptimizer
from landmark.tasks.training import train

CPU = torch.device("cpu")


class Regression(Objective):
    """Least squares on the points of a batch: the smallest objective, for looking at the loop."""

    def __init__(self, spoil=None):
        torch.manual_seed(0)
        self.model = nn.Linear(4, 1)
        self.players = {"model": self.model}
        self.spoil = spoil

    def turns(self, batch, step):
        loss = (self.model(batch.noise) - batch.real).square().sum()
        if self.spoil:
            loss = self.spoil(loss, step)
        yield Turn("model", loss, len(batch.real))

    def measure(self, batch):
        loss = (self.model(batch.noise) - batch.real).square().sum().item()
        return {"loss": (loss, len(batch.real))}


def trainer_of(
    objective,
    config=None,
    rate=0.01,
    report=lambda record: None,
    accumulate=1,
    evaluator=None,
    **options,
):
    samples = PointSamples(GaussianConfig(batch_size=7, batches=5), seed=3)
    defaults = {"max_steps": 8, "accumulate": accumulate}
    config = config or TrainerConfig(**{**defaults, **options})
    sgd = OptimizerConfig(name="sgd")
    optimizers = {
        name: ScheduledOptimizer(player, sgd, lambda step: rate)
        for name, player in objective.players.items()
    }
    loader = Loader(samples, accumulate=accumulate)
    assembly = Assembly(objective, optimizers, loader, Loader(samples), evaluator)
    return Trainer(config, assembly, CPU, 1, report)


def weights_of(folder):
    return load_tensors(Run(folder).find_checkpoint("latest"), "model.safetensors")


def test_one_update_is_plain_gradient_descent_on_the_mean_loss():
    objective = Regression()
    trainer = trainer_of(objective)
    (batch,) = next(trainer.assembly.source.stream(trainer.state.place))
    reference = nn.Linear(4, 1)
    reference.load_state_dict(objective.model.state_dict())
    loss = nn.functional.mse_loss(reference(batch.noise), batch.real)
    loss.backward()
    trainer.update([batch])
    for ours, theirs in zip(objective.model.parameters(), reference.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs - 0.01 * theirs.grad)


@pytest.mark.parametrize("accumulate", [2, 4, 9])
def test_accumulated_parts_of_unequal_size_give_the_same_steps(accumulate):
    results = []
    for parts in (1, accumulate):  # 7 samples in 9 parts: two are stand-ins
        objective = Regression()
        list(trainer_of(objective, accumulate=parts).fit())
        results.append([p.detach().clone() for p in objective.model.parameters()])
    torch.testing.assert_close(results[0], results[1], atol=1e-6, rtol=0)


def test_clipping_scales_the_mean_gradient_to_the_norm():
    clipped, free = Regression(), Regression()
    before = [p.detach().clone() for p in free.model.parameters()]
    for objective, clip in ((clipped, 0.5), (free, None)):
        trainer = trainer_of(objective, clip_norm=clip)
        trainer.update(next(trainer.assembly.source.stream(trainer.state.place)))

    def move(objective):
        parameters = objective.model.parameters()
        return torch.cat([(p - b).flatten() for p, b in zip(parameters, before, strict=True)])

    assert move(free).norm() > 0.005
    torch.testing.assert_close(move(clipped).norm().item(), 0.5 * 0.01, rtol=1e-4, atol=0)
    torch.testing.assert_close(move(clipped) / 0.005, move(free) / move(free).norm())


@pytest.mark.parametrize("norm", [None, 3.0])
def test_clipping_by_value_cuts_off_each_number_as_torch_does(norm):
    objective = Regression()
    trainer = trainer_of(objective, clip_value=0.7, clip_norm=norm, accumulate=2)
    parts = next(trainer.assembly.source.stream(trainer.state.place))
    reference = Regression().model
    for part in parts:
        loss = (reference(part.noise) - part.real).square().sum()
        (loss / sum(len(part.real) for part in parts)).backward()
    if norm:
        torch.nn.utils.clip_grad_norm_(reference.parameters(), norm)
    before = torch.cat([p.grad.flatten() for p in reference.parameters()])
    torch.nn.utils.clip_grad_value_(reference.parameters(), 0.7)
    trainer.update(parts)
    for ours, theirs in zip(objective.model.parameters(), reference.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs - 0.01 * theirs.grad)
    assert (before.abs() > 0.7).any()  # some are cut off, and some are not
    assert (before.abs() < 0.7).any()


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_loss_that_is_not_finite_stops_before_the_update(value):
    objective = Regression(spoil=lambda loss, step: loss * value if step == 4 else loss)
    trainer = trainer_of(objective)
    with pytest.raises(TrainingError, match=r"step 4: the loss .* epoch 0, batch 3 \(samples 21"):
        list(trainer.fit())
    spoilt = [p.detach().clone() for p in objective.model.parameters()]
    healthy = Regression()
    list(trainer_of(healthy, TrainerConfig(max_steps=3)).fit())
    assert trainer.state.step == 3
    torch.testing.assert_close(spoilt, list(healthy.model.parameters()), rtol=0, atol=0)


def test_a_gradient_that_is_not_finite_stops_before_the_update():
    class Spoiler(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, gradient):
            return gradient * math.nan

    objective = Regression(spoil=lambda loss, step: Spoiler.apply(loss) if step == 2 else loss)
    steps = trainer_of(objective).fit()
    next(steps)
    before = [p.detach().clone() for p in objective.model.parameters()]
    with pytest.raises(TrainingError, match="step 2: the gradient is not finite"):
        next(steps)
    torch.testing.assert_close(before, list(objective.model.parameters()), rtol=0, atol=0)


def test_validation_early_stopping_and_the_monitor():
    records = []
    options = {"validate_every": 2, "patience": 2, "max_steps": 100}
    trainer = trainer_of(Regression(), rate=1e-30, report=records.append, **options)
    list(trainer.fit())
    validations = [record for record in records if record["kind"] == "valid"]
    assert [record["step"] for record in validations] == [2, 4, 6]
    assert [record["best"] for record in validations] == [True, False, False]
    with pytest.raises(
        TrainingError, match=r"trainer.monitor is 'bleu', but validation gives loss"
    ):
        list(trainer_of(Regression(), validate_every=1, monitor="bleu").fit())


def test_bf16_and_fp16_train_and_fp16_skips_steps_that_overflow():
    for precision in ("bf16", "fp16"):
        objective = Regression()
        list(trainer_of(objective, precision=precision).fit())
        assert all(p.isfinite().all() for p in objective.model.parameters())
    spoilt = Regression(spoil=lambda loss, step: loss * 1e30 if step == 1 else loss)
    trainer = trainer_of(spoilt, precision="fp16", max_steps=1)
    before = [p.detach().clone() for p in spoilt.model.parameters()]
    scale = trainer.scaler.get_scale()
    list(trainer.fit())
    torch.testing.assert_close(before, list(spoilt.model.parameters()), rtol=0, atol=0)
    assert trainer.scaler.get_scale() < scale


class Watched(AdversarialObjective):
    """Notes both players' weights and losses at every turn."""

    def turns(self, batch, step):
        self.seen = []
        for turn in super().turns(batch, step):
            made = self.generator(batch.noise)
            score = self.discriminator(made)
            self.seen.append((turn.player, turn.loss_sum.item(), self.snapshot(), score.detach()))
            yield turn
        self.seen.append(("end", 0.0, self.snapshot(), None))

    def snapshot(self):
        return {n: [p.detach().clone() for p in m.parameters()] for n, m in self.players.items()}


def test_each_turn_moves_its_player_only_and_the_next_sees_the_move():
    torch.manual_seed(0)
    objective = Watched(Perceptron(4, 8, 1), Perceptron(1, 8, 1), AdversarialConfig())
    trainer = trainer_of(objective, rate=0.1)
    trainer.update(next(trainer.assembly.source.stream(trainer.state.place)))
    (first, _, start, _), (second, loss, middle, score), (_, _, end, _) = objective.seen
    assert (first, second) == ("discriminator", "generator")
    same = lambda a, b: all(torch.equal(x, y) for x, y in zip(a, b, strict=True))  # noqa: E731
    assert same(start["generator"], middle["generator"])
    assert not same(start["discriminator"], middle["discriminator"])
    assert not same(middle["generator"], end["generator"])
    assert same(middle["discriminator"], end["discriminator"])
    # the generator's loss was computed with the discriminator that had just been updated
    expected = nn.functional.softplus(-score).sum().item()
    assert loss == pytest.approx(expected, rel=1e-6)


def test_a_gan_learns_a_gaussian_through_the_same_loop(tmp_path):
    records = []
    train(
        "gan-gaussian",
        tmp_path / "gan",
        ["threads=1", "data.batch_size=128"],
        report=records.append,
    )
    last = [record for record in records if record["kind"] == "valid"][-1]
    assert last["made_mean"] == pytest.approx(4.0, abs=0.25)
    assert last["made_std"] == pytest.approx(1.25, abs=0.3)


LAYOUT = [
    "model.dropout=0",
    "trainer.max_steps=50",
    "trainer.validate_every=25",
    "trainer.checkpoint_every=50",
]


@pytest.fixture(scope="module")
def undivided(tmp_path_factory, tiny):
    folder = tmp_path_factory.mktemp("layout") / "one"
    train("transformer-embedded", folder, tiny + LAYOUT)
    return folder


def test_four_accumulated_parts_train_the_same_translator(undivided, tmp_path, tiny):
    train("transformer-embedded", tmp_path / "four", [*tiny, *LAYOUT, "trainer.accumulate=4"])
    expected, divided = weights_of(undivided), weights_of(tmp_path / "four")
    torch.testing.assert_close(divided, expected, atol=1e-5, rtol=0)


METHODS = {"adamax": "exp_inf", "muon": "momentum_buffer"}  # and what each remembers
PLAYERS = ["threads=1", "trainer.max_steps=50", "data.batch_size=30", "optimizer.name=sgd"]


def with_method(method, tiny):
    """The recipe and its settings, for one process or two."""
    steps = ["trainer.max_steps=20", f"optimizer.name={method}"]
    return ["transformer-embedded", *tiny, *LAYOUT, *steps]


@pytest.fixture(scope="module")
def two(tmp_path_factory, tiny):
    """Runs of two processes, launched once for all of them, and the journals by the run's name."""
    folder = tmp_path_factory.mktemp("two")
    few = [*tiny, "data.valid_pairs=1", "trainer.max_steps=5"]
    plan = {
        "translator": ["transformer-embedded", *tiny, *LAYOUT],
        "players": ["gan-gaussian", *PLAYERS],
        "few": ["transformer-embedded", *few],
    }
    plan |= {method: with_method(method, tiny) for method in METHODS}
    commands = [["train", *words, "--run", str(folder / name)] for name, words in plan.items()]
    journals = run_together(folder / "journal", commands)
    entries = {name: [journal[i] for journal in journals] for i, name in enumerate(plan)}
    assert all(entry["code"] == 0 for pair in entries.values() for entry in pair)
    return folder, entries


def test_two_processes_train_the_same_translator(undivided, two):
    divided = two[0] / "translator"
    torch.testing.assert_close(weights_of(divided), weights_of(undivided), atol=1e-5, rtol=0)
    logs = [Run(folder).read_log() for folder in (undivided, divided)]
    valid = [[r["loss"] for r in log if r["kind"] == "valid"] for log in logs]
    assert valid[0] == pytest.approx(valid[1], abs=1e-5)


def test_two_processes_train_the_same_two_players(two, tmp_path):
    train("gan-gaussian", tmp_path / "one", PLAYERS)
    one, both = weights_of(tmp_path / "one"), weights_of(two[0] / "players")
    torch.testing.assert_close(both, one, atol=1e-5, rtol=0)


@pytest.mark.parametrize(("method", "memory"), METHODS.items())
def test_two_processes_step_with_another_method_as_one_does(two, tmp_path, tiny, method, memory):
    recipe, *settings = with_method(method, tiny)
    train(recipe, tmp_path / "one", settings)
    one, both = weights_of(tmp_path / "one"), weights_of(two[0] / method)
    torch.testing.assert_close(both, one, atol=1e-5, rtol=0)
    folder = Run(two[0] / method).find_checkpoint("latest")
    assert any(name.endswith(f".{memory}") for name in load_tensors(folder, "state.safetensors"))


def test_a_process_without_validation_sentences_keeps_in_step(two):
    log = Run(two[0] / "few").read_log()
    assert [record["step"] for record in log if record["kind"] == "valid"] == [5]


def test_only_the_first_process_speaks(two):
    folder, entries = two
    for name, (first, second) in entries.items():
        assert first["stdout"].split() == [str(folder / name)]
        assert second["stdout"] == ""


def test_a_mistake_with_several_processes_is_answered_without_a_traceback(tmp_path, tiny):
    settings = [*tiny, "data.corpus=files", "data.source=[nowhere.en]", "data.target=[x.de]"]
    words = ["landmark", "train", "transformer-embedded", *settings, "--run-directory"]
    with torchrun([*words, tmp_path / "two"], tmp_path / "said.txt") as group:
        assert group.finish()
    assert "landmark: nowhere.en: cannot be read" in group.text()
    assert "/recipes/training.py" not in group.text()  # no frame of ours in a traceback
    assert not (tmp_path / "two").exists()


@pytest.mark.skipif(not shutil.which("g++"), reason="needs a compiler: apt-get install g++")
def test_compiled_players_take_the_same_steps(tmp_path):
    settings = ["threads=1", "trainer.max_steps=3", "data.batch_size=16", "optimizer.name=sgd"]
    train("gan-gaussian", tmp_path / "plain", settings)
    train("gan-gaussian", tmp_path / "compiled", [*settings, "trainer.compile=true"])
    plain, compiled = weights_of(tmp_path / "plain"), weights_of(tmp_path / "compiled")
    torch.testing.assert_close(compiled, plain, atol=1e-5, rtol=0)


def test_a_batch_names_where_it_comes_from():
    batch = AdversarialBatch(
        torch.zeros(1, 1), torch.zeros(1, 4), epoch=2, index=9, samples=tuple(range(8))
    )
    assert batch.origin == "epoch 2, batch 9 (samples 0, 1, 2, 3, 4 and 3 more)"


def test_a_plateau_without_validation_is_refused():
    objective, samples = Regression(), trainer_of(Regression()).assembly.source.samples
    optimizer = ScheduledOptimizer(
        objective.model, OptimizerConfig(name="sgd"), lambda step: 0.1, plateau=len
    )
    assembly = Assembly(objective, {"model": optimizer}, Loader(samples))
    with pytest.raises(UserError, match="this training has none"):
        Trainer(TrainerConfig(), assembly, CPU, 1)
