"""Numbers that are not finite, in data, loss and gradient: nothing updated, named, resumable."""

import math
import os
import subprocess
import sys

import pytest
import torch

from landmark.core.errors import TrainingError
from landmark.core.turn import Turn
from landmark.data.points import PointSamples
from landmark.engine.checkpoint import load_tensors, read_facts
from landmark.engine.run import Run
from landmark.engine.trainer import Trainer
from landmark.objectives.adversarial import AdversarialObjective
from landmark.tasks.training import train

GAN = [
    "threads=1", "data.batch_size=12", "data.batches=5", "trainer.max_steps=12",
    "trainer.log_every=3", "trainer.validate_every=4", "trainer.checkpoint_every=2",
]  # fmt: skip
BAD_STEP = 8  # the third batch of the second epoch


def tensors_of(folder, step=12):
    path = Run(folder).checkpoint_folder(step)
    names = sorted(file.name for file in path.glob("*.safetensors"))
    return {name: load_tensors(path, name) for name in names}


def assert_equal(one, two):
    assert one.keys() == two.keys()
    for name in one:
        assert one[name].keys() == two[name].keys()
        assert all(torch.equal(one[name][key], two[name][key]) for key in one[name]), name


def log_of(folder):
    times = {"seconds", "per_second"}
    return [{k: v for k, v in r.items() if k not in times} for r in Run(folder).read_log()]


def spoil_data(value):
    """Put a value into one sample of one batch, as a damaged file would."""
    collate = PointSamples.collate

    def spoilt(self, epoch, samples):
        batch = collate(self, epoch, samples)
        if epoch == 1 and 26 in list(samples):
            batch.real[list(samples).index(26)] = value
        return batch

    return PointSamples, "collate", spoilt


class Spoiler(torch.autograd.Function):
    """The same going forward; multiplies by a number going back."""

    @staticmethod
    def forward(ctx, x, value):
        ctx.value = value
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.value, None


def spoil_turn(change, player="discriminator"):
    """Change the loss of one player's turn at the bad step."""
    turns = AdversarialObjective.turns

    def spoilt(self, batch, step):
        for turn in turns(self, batch, step):
            if step == BAD_STEP and turn.player == player:
                turn = Turn(turn.player, change(turn.loss_sum), turn.weight, turn.metrics)
            yield turn

    return AdversarialObjective, "turns", spoilt


WAYS = {
    "data": spoil_data,
    "loss": lambda value: spoil_turn(lambda loss: loss * value),
    "gradient": lambda value: spoil_turn(lambda loss: Spoiler.apply(loss, value)),
}


@pytest.fixture(scope="module")
def unspoilt(tmp_path_factory):
    folder = tmp_path_factory.mktemp("numbers") / "whole"
    train("gan-gaussian", folder, GAN)
    return folder


@pytest.mark.parametrize("value", [math.nan, math.inf], ids=["nan", "inf"])
@pytest.mark.parametrize("way", WAYS)
def test_nothing_is_updated_the_batch_is_named_and_the_run_goes_on(
    unspoilt, tmp_path, monkeypatch, way, value
):
    seen = []
    update = Trainer.update

    def watched(trainer, parts):
        before = [p.detach().clone() for o in trainer.optimizers.values() for p in o.parameters]
        try:
            update(trainer, parts)
        except TrainingError:
            seen.append((before, [p for o in trainer.optimizers.values() for p in o.parameters]))
            raise

    what = "loss" if way == "data" else way
    said = rf"step 8: the {what} of discriminator is not finite in epoch 1, batch 2 \(samples 2"
    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "update", watched)
        patch.setattr(*WAYS[way](value))
        with pytest.raises(TrainingError, match=said):
            train("gan-gaussian", tmp_path / "run", GAN)
    ((before, after),) = seen
    assert all(torch.equal(old, new) for old, new in zip(before, after, strict=True))
    assert Run(tmp_path / "run").steps()[-1] == 6
    train("gan-gaussian", tmp_path / "run", GAN, resume="auto")
    assert_equal(tensors_of(unspoilt), tensors_of(tmp_path / "run"))
    assert log_of(unspoilt) == log_of(tmp_path / "run")


def test_bad_batches_are_left_out_when_that_is_asked_for(tmp_path, monkeypatch):
    records = []
    monkeypatch.setattr(*spoil_data(math.nan))
    settings = [*GAN, "trainer.skip_nonfinite=1"]
    run = train("gan-gaussian", tmp_path / "run", settings, report=records.append)
    skips = [record for record in run.read_log() if record["kind"] == "skip"]
    # the generator's own loss does not see the points: only the discriminator's move is left out
    assert [(skip["step"], skip["player"]) for skip in skips] == [(8, "discriminator")]
    assert "epoch 1, batch 2 (samples 24" in skips[0]["where"]
    assert run.finished()
    for tensors in tensors_of(run.folder).values():
        assert all(tensor.isfinite().all() for tensor in tensors.values())


def test_more_bad_batches_in_a_row_than_allowed_stop_the_run(tmp_path, monkeypatch):
    monkeypatch.setattr(*spoil_turn(lambda loss: loss * math.nan))
    monkeypatch.setattr(sys.modules[__name__], "BAD_STEP", 3)
    turns = AdversarialObjective.turns
    monkeypatch.setattr(
        AdversarialObjective, "turns", lambda self, batch, step: turns(self, batch, min(step, 3))
    )
    with pytest.raises(TrainingError, match="step 5: the loss of discriminator"):
        train("gan-gaussian", tmp_path / "run", [*GAN, "trainer.skip_nonfinite=2"])


def test_a_leap_of_the_loss_is_reported_with_its_batch_and_logged(tmp_path, monkeypatch):
    settings = [*GAN, "trainer.max_steps=70", "trainer.checkpoint_every=20"]
    monkeypatch.setattr(sys.modules[__name__], "BAD_STEP", 64)
    monkeypatch.setattr(*spoil_turn(lambda loss: loss * 20))
    monkeypatch.setattr(AdversarialObjective, "warns_of_spikes", True)
    run = train("gan-gaussian", tmp_path / "run", settings)
    (spike,) = [record for record in run.read_log() if record["kind"] == "spike"]
    assert (spike["step"], spike["player"]) == (64, "discriminator")
    assert spike["loss"] > 10 * spike["usual"] > 0
    assert spike["where"].startswith("epoch 12, batch 3 (samples")
    # what is usual is part of a checkpoint, so a resumed run reports the same
    assert read_facts(run.checkpoint_folder(60))["usual"]["discriminator"]["count"] == 60
    log = log_of(run.folder)
    train("gan-gaussian", run.folder, settings, resume="60")
    assert log_of(run.folder) == log


def test_the_scale_of_fp16_is_part_of_a_checkpoint(tmp_path, tiny):
    settings = [*tiny, "trainer.precision=fp16", "trainer.keep_last=9"]
    train("transformer-embedded", tmp_path / "whole", settings)
    facts = [read_facts(Run(tmp_path / "whole").checkpoint_folder(n)) for n in (4, 8, 12)]
    scales = [fact["scaler"]["scale"] for fact in facts]
    assert scales[0] < 65536  # sums of losses overflow at first: moves were left out
    again = Run(tmp_path / "whole")
    whole, log = tensors_of(again.folder), log_of(again.folder)
    train("transformer-embedded", again.folder, settings, resume="4")
    assert_equal(whole, tensors_of(again.folder))
    assert log_of(again.folder) == log
    assert read_facts(again.checkpoint_folder(12))["scaler"] == facts[-1]["scaler"]


def test_overflow_at_any_scale_ends_in_an_error(tmp_path, monkeypatch):
    turns = AdversarialObjective.turns

    def overflowing(self, batch, step):
        for turn in turns(self, batch, step):
            loss = Spoiler.apply(turn.loss_sum, math.inf)
            yield Turn(turn.player, loss, turn.weight, turn.metrics)

    monkeypatch.setattr(AdversarialObjective, "turns", overflowing)
    settings = [*GAN, "trainer.precision=fp16", "trainer.max_steps=100"]
    with pytest.raises(TrainingError, match=r"step 51: gradients overflowed in fp16 50 times"):
        train("gan-gaussian", tmp_path / "run", settings)


def test_a_users_numbers_that_are_not_finite_are_one_line_and_exit_code_two(
    landmark_command, tmp_path
):
    result = landmark_command(
        "train", "gan-gaussian", "--run", tmp_path / "run", *GAN, "data.mean=.inf"
    )
    assert result.returncode == 2
    assert len([line for line in result.stderr.splitlines() if "landmark:" in line]) == 1
    assert "Traceback" not in result.stderr


def test_a_bad_number_in_one_process_stops_all_before_the_update(tmp_path):
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    result = subprocess.run(
        [*launcher, __file__, str(tmp_path / "run")],
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        timeout=120,
        check=False,
    )
    assert result.stderr.count("step 8: the loss of discriminator is not finite") == 2
    assert Run(tmp_path / "run").steps()[-1] == 6


if __name__ == "__main__":
    from landmark.cli.main import run

    if os.environ["RANK"] == "1":
        setattr(*spoil_turn(lambda loss: loss * math.nan))
    sys.exit(run(["train", "gan-gaussian", "--run", sys.argv[1], *GAN]))
