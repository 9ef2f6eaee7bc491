import pytest
import torch

import landmark
from landmark.core.errors import UserError
from landmark.data.loader import Place
from landmark.data.points import MixtureConfig, SpiralConfig
from landmark.tasks.adversarial.run import assemble
from landmark.tasks.training import identity, resolve

CPU = torch.device("cpu")


def test_both_players_have_an_optimiser_of_their_own(tmp_path):
    assembly = assemble(resolve("gan-gaussian"), tmp_path, CPU)
    assert set(assembly.optimizers) == set(assembly.objective.players)
    for name, player in assembly.objective.players.items():
        own = {id(parameter) for parameter in player.parameters()}
        assert {id(parameter) for parameter in assembly.optimizers[name].parameters} == own


def test_validation_draws_other_points_than_training(tmp_path):
    assembly = assemble(resolve("gan-gaussian"), tmp_path, CPU)
    training = next(assembly.source.stream(Place()))[0]
    validation = next(iter(assembly.validation.once()))
    assert not torch.equal(training.real, validation.real)
    assert len(list(assembly.validation.once())) == 8


def test_identity_follows_the_distribution():
    base = identity(resolve("gan-gaussian"))
    assert identity(resolve("gan-gaussian", ["data.mean=5"])) != base


def test_another_distribution_replaces_the_recipes():
    assert resolve("gan-ring", ["data.distribution=spiral"]).data == SpiralConfig(
        noise_size=2, prior="uniform"
    )
    mixture = ["data.means=[-4, 0, 1]", "data.distribution=mixture"]
    assert resolve("gan-gaussian", mixture).data == MixtureConfig(means=(-4, 0, 1))
    with pytest.raises(UserError, match=r"override 'data.modes=3': unknown key 'data.modes'"):
        resolve("gan-ring", ["data.distribution=spiral", "data.modes=3"])


def test_a_short_game_leaves_a_finished_run_and_both_losses(tmp_path):
    settings = ["trainer.max_steps=4", "trainer.log_every=2", "trainer.validate_every=2"]
    run = landmark.train("gan-gaussian", tmp_path / "gan", settings)
    assert run.finished()
    records = [record for record in run.read_log() if record["kind"] == "train"]
    assert [record["step"] for record in records] == [2, 4]
    assert all({"generator_loss", "discriminator_loss"} <= record.keys() for record in records)
    assert run.read_recipe()["assets"] == {}
