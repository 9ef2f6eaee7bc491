"""Sharded training: the same steps with half of everything in each process, or a refusal."""

import json
import os
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
import torch
from torch import nn

import landmark
from benchmarks.faults.group import TRANSLATOR, differences
from benchmarks.faults.journal import follow, run_together
from benchmarks.faults.sharded import step_in_two_processes
from landmark.core.errors import UserError
from landmark.core.turn import Objective, Turn
from landmark.data.batch import Batch
from landmark.engine import distributed, sharding
from landmark.engine.assembly import Assembly
from landmark.engine.checkpoint import load_tensors
from landmark.engine.run import Run
from landmark.engine.settings import TrainerConfig
from landmark.engine.trainer import Trainer
from landmark.optim.optimizer import OptimizerConfig, ScheduledOptimizer
from landmark.tasks.training import train
from tests.engine.test_distributed import WAYS, Shared

TRANSLATION = [
    *TRANSLATOR, "model.dropout=0", "trainer.max_steps=50", "trainer.ema_decay=0.9",
    "trainer.clip_norm=0.5", "trainer.accumulate=2", "trainer.checkpoint_every=25",
    "trainer.validate_every=25",
]  # fmt: skip
GAUSSIAN = ["threads=1", "trainer.max_steps=50", "data.batch_size=30", "trainer.validate_every=25"]
PLAN = {
    "translator": ("transformer-embedded", TRANSLATION),
    "gan": ("gan-gaussian", GAUSSIAN),
    "adamax": ("gan-gaussian", [*GAUSSIAN, "optimizer.name=adamax"]),
}


class Stacked(Shared):
    """The same with a stack of blocks, which are sharded one by one."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(4, 4), nn.Tanh()) for _ in range(2))

    def encode(self, tokens: torch.Tensor) -> torch.Tensor:
        x = super().encode(tokens)
        for block in self.blocks:
            x = block(x)
        return x


def ones(tokens: torch.Tensor) -> torch.Tensor:
    return torch.ones(len(tokens), 4)


@dataclass
class Tokens(Batch):
    tokens: torch.Tensor


class Called(Objective):
    """One player, called in a way of its own."""

    def __init__(self, kind, call):
        self.players, self.call = {"model": kind()}, call

    def turns(self, batch, step):
        loss = self.call(self.players["model"], batch.tokens).square().sum()
        yield Turn("model", loss, len(batch.tokens))

    def measure(self, batch):
        return {}


class Duel(Objective):
    """Two players, of which neither is called by its forward."""

    def __init__(self):
        self.players = {"maker": Stacked(), "judge": Shared()}

    def turns(self, batch, step):
        made, judge = self.players["maker"].encode(batch.tokens), self.players["judge"].inner
        yield Turn("judge", judge(made.detach()).square().sum(), len(made))
        yield Turn("maker", (1 - judge(made)).square().sum(), len(made))

    def measure(self, batch):
        return {}


STACKED_WAYS = {
    **WAYS,
    "a block alone": lambda model, tokens: model.blocks[1](ones(tokens)),
    "blocks in reverse": lambda m, tokens: m.blocks[0](m.blocks[1](m.embedding(tokens))),
    "a block twice": lambda m, tokens: m.blocks[0](m.blocks[0](m.encode(tokens))),
    "forward and a method": lambda model, tokens: (
        model(tokens).tanh()[:, :4] + model.encode(tokens)
    ),
}
RIGHT = {
    **{f"{name}, no blocks": partial(Called, Shared, way) for name, way in WAYS.items()},
    **{name: partial(Called, Stacked, way) for name, way in STACKED_WAYS.items()},
    "two players": Duel,
}
REFUSED = {
    "a part of a block": partial(Called, Stacked, lambda m, tokens: m.blocks[0][0](ones(tokens))),
    "a block's weight": partial(Called, Stacked, lambda m, t: ones(t) @ m.blocks[0][0].weight),
}
PARTS = [[torch.arange(3), torch.arange(2, 5)], [torch.arange(4, 9), torch.arange(5, 10)]]
"""What each of two processes trains on, in two parts."""


def moved(objective: Objective, parts: list[torch.Tensor], sharded: bool) -> list[torch.Tensor]:
    """All weights after two updates by the trainer."""
    optimizers = {}
    for name, player in objective.players.items():
        momentum = OptimizerConfig(name="sgd", momentum=0.9)
        optimizers[name] = ScheduledOptimizer(player, momentum, lambda step: 0.05)
        if sharded:
            sharding.shard(player)
            optimizers[name].adopt(player, sharded=True)
    assembly = Assembly(objective, optimizers, None)
    trainer = Trainer(TrainerConfig(), assembly, torch.device("cpu"), 1)
    for _ in range(2):
        trainer.update([Tokens(part) for part in parts])
    weights = [p.detach() for m in objective.players.values() for p in m.parameters()]
    return [sharding.whole(weight) for weight in weights]


def built(build) -> Objective:
    torch.manual_seed(0)
    return build()


def judge_every_way() -> dict[str, str]:
    """Runs in each of two processes: whether they move as one does."""
    parts = [part for process in PARTS for part in process]
    expected = {name: moved(built(build), parts, False) for name, build in RIGHT.items()}
    verdicts = {}
    with distributed.process_group(torch.device("cpu"), timeout=60):
        for name, build in {**RIGHT, **REFUSED}.items():
            try:
                weights = moved(built(build), PARTS[distributed.rank()], True)
            except RuntimeError as error:
                verdicts[name] = f"refused: {error}"
                continue
            pairs = list(zip(weights, expected.get(name, weights), strict=True))
            apart = max((one - other).abs().max().item() for one, other in pairs)
            verdicts[name] = "right" if apart < 1e-5 else f"wrong by {apart:.1g}"
    return verdicts


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """Unsharded runs of one process."""
    folder = tmp_path_factory.mktemp("alone")
    for name, (recipe, settings) in PLAN.items():
        train(recipe, folder / name, settings)
    return folder


@pytest.fixture(scope="module")
def together(tmp_path_factory):
    """Sharded runs of two processes (`broken` stops half-way and goes on), and their journals."""
    folder = tmp_path_factory.mktemp("sharded")
    plan = [(name, *PLAN[name]) for name in PLAN]
    half = [*TRANSLATION, "trainer.max_steps=25"]
    plan.append(("broken", "transformer-embedded", half))
    plan.append(("broken", "transformer-embedded", [*TRANSLATION, "--resume"]))
    commands = [
        ["train", recipe, *words, "trainer.sharded=true", "--run-directory", str(folder / name)]
        for name, recipe, words in plan
    ]
    journals = run_together(folder / "journal", commands, program="tests.engine.test_sharding")
    assert all(entry["code"] == 0 for journal in journals for entry in journal)
    return folder, journals


def latest(folder):
    return Run(folder).find_checkpoint("latest")


@pytest.mark.parametrize("name", PLAN)
def test_sharded_training_takes_the_same_steps(together, alone, name):
    folder, _ = together
    one, two = latest(alone / name), latest(folder / name)
    for file in ("model.safetensors", "average.safetensors"):
        expected = load_tensors(one, file)
        torch.testing.assert_close(load_tensors(two, file), expected, atol=1e-5, rtol=0)
    logs = [Run(runs / name).read_log() for runs in (alone, folder)]
    valid = [[r for r in log if r["kind"] == "valid"] for log in logs]
    for mine, theirs in zip(*valid, strict=True):
        assert theirs == pytest.approx(mine, abs=1e-4)


@pytest.mark.parametrize("name", PLAN)
def test_each_process_holds_half_of_weights_and_moments(together, alone, name):
    _, journals = together
    held = [journal[list(PLAN).index(name)]["held"] for journal in journals]
    whole = sum(t.numel() for t in load_tensors(latest(alone / name), "model.safetensors").values())
    for what, total in (("weights", whole), ("moments", 2 * whole)):
        assert held[0][what] + held[1][what] == total
        assert max(rank[what] for rank in held) < 0.52 * total


@pytest.mark.parametrize("name", PLAN)
def test_a_sharded_checkpoint_is_laid_out_as_any_other(together, alone, name):
    folder, _ = together
    one, two = latest(alone / name), latest(folder / name)
    files = {path.name for path in one.iterdir()}
    assert {path.name for path in two.iterdir()} == files
    for file in files - {"manifest.json"}:
        shapes = [{k: v.shape for k, v in load_tensors(run, file).items()} for run in (one, two)]
        assert shapes[0] == shapes[1]


def test_one_process_uses_what_was_trained_sharded(together, alone):
    folder, _ = together
    sentence = "the old woman sees the dog"
    one, other = (
        landmark.load(runs / "translator").translate([sentence])[0] for runs in (alone, folder)
    )
    assert one.tokens == other.tokens
    assert one.score == pytest.approx(other.score, abs=1e-4)


def test_a_sharded_run_that_goes_on_is_bit_equal_to_an_unbroken_one(together):
    folder, _ = together
    assert differences(folder / "translator", folder / "broken") == []


def test_every_way_of_calling_a_sharded_model_is_right_or_refused(together):
    folder, _ = together
    for rank in (0, 1):
        verdicts = json.loads((folder / "journal" / f"ways-{rank}.json").read_text())
        assert {name: verdicts[name] for name in RIGHT} == dict.fromkeys(RIGHT, "right")
        for name in REFUSED:
            assert verdicts[name].startswith("refused: "), (name, verdicts[name])


@pytest.mark.parametrize("setting", ["trainer.precision=fp16", "trainer.compile=true"])
def test_what_does_not_go_with_sharding_is_refused_in_one_line(tmp_path, setting):
    with pytest.raises(UserError, match=r"sharded goes with neither compile nor precision fp16$"):
        train("gan-gaussian", tmp_path / "run", [*GAUSSIAN, "trainer.sharded=true", setting])


def test_the_base_transformer_takes_a_step_with_half_of_it_in_each_process(tmp_path):
    """The big one takes a minute: `python -m benchmarks.faults.sharded`."""
    ranks = step_in_two_processes("base", tmp_path, tokens=100)
    for figures in ranks:
        assert figures["parameters"] == 63_082_496
        assert figures["weights"] == pytest.approx(figures["parameters"] / 2, rel=0.01)
        assert figures["moments"] == pytest.approx(figures["parameters"], rel=0.01)
    assert ranks[0]["weights_apart"] < 1e-5  # of a step of 1e-3
    assert ranks[0]["gradients_apart"] < 1e-5


if __name__ == "__main__":
    torch.set_num_threads(1)
    place = Path(sys.argv[1])
    (place / f"ways-{os.environ['RANK']}.json").write_text(json.dumps(judge_every_way()))
    follow(place)
