"""An optimiser, a schedule and an average for each player, with settings of its own."""

import dataclasses

import pytest
import torch

import landmark
from landmark.core.errors import UserError
from landmark.engine.checkpoint import load_tensors
from landmark.engine.run import Run
from landmark.engine.session import load_player
from landmark.objectives.adversarial import AdversarialConfig, AdversarialObjective
from landmark.optim.schedule import ScheduleConfig
from landmark.tasks.adversarial.run import assemble
from landmark.tasks.assembly import optimizers_for
from landmark.tasks.task import RunConfig
from landmark.tasks.training import load_config, resolve

CPU = torch.device("cpu")
SHORT = ["trainer.max_steps=4", "trainer.log_every=1", "trainer.validate_every=2", "threads=1"]
OWN = ["optimizers.generator.name=momentum", "schedules.generator.rate=0.05"]


def optimizers_of(tmp_path, *overrides):
    return assemble(resolve("gan-gaussian", overrides), tmp_path, CPU).optimizers


def test_settings_that_name_no_player_hold_for_all(tmp_path):
    generator, discriminator = optimizers_of(tmp_path, "optimizer.epsilon=0.001").values()
    assert generator.config == discriminator.config
    assert generator.config.epsilon == 0.001
    assert generator.schedule(7) == discriminator.schedule(7)


def test_a_player_differs_only_in_what_is_said_of_it(tmp_path):
    settings = ["optimizers.generator.betas=[0, 0.9]", "schedules.discriminator.rate=0.004"]
    found = optimizers_of(tmp_path, "optimizer.epsilon=0.001", *settings)
    generator, discriminator = found["generator"], found["discriminator"]
    assert (generator.config.betas, discriminator.config.betas) == ((0.0, 0.9), (0.5, 0.999))
    assert generator.config.epsilon == discriminator.config.epsilon == 0.001
    assert discriminator.schedule(7) == pytest.approx(2 * generator.schedule(7))


def test_each_player_is_trained_by_its_own_method_at_its_own_rate(tmp_path):
    run = landmark.train("gan-gaussian", tmp_path / "gan", [*SHORT, *OWN])
    first = next(record for record in run.read_log() if record["kind"] == "train")
    assert first["generator_rate"] == pytest.approx(25 * first["discriminator_rate"])
    state = load_tensors(run.find_checkpoint("latest"), "state.safetensors")
    kept = {
        player: {name.rpartition(".")[2] for name in state if f"optimizer.{player}." in name}
        for player in ("generator", "discriminator")
    }
    assert kept["generator"] == {"momentum_buffer"}
    assert kept["discriminator"] == {"step", "exp_avg", "exp_avg_sq"}
    assert load_config(run).optimizers == {"generator": {"name": "momentum"}}


def test_one_players_rate_changes_on_resuming_only_if_it_is_named(tmp_path):
    run = landmark.train("gan-gaussian", tmp_path / "gan", [*SHORT, *OWN])
    longer = ["trainer.max_steps=5", "trainer.log_every=1", "trainer.validate_every=2", "threads=1"]
    lower = [*longer, OWN[0], "schedules.generator.rate=0.01"]
    landmark.train("gan-gaussian", run.folder, lower, resume="auto")
    assert load_config(run).schedules == {"generator": {"rate": 0.01}}
    with pytest.raises(UserError, match=r"with schedules.generator.rate=0.01, not None"):
        landmark.train("gan-gaussian", run.folder, [*longer, OWN[0]], resume="auto")
    changed = [*lower, "optimizers.generator.name=sgd"]
    with pytest.raises(UserError, match=r"with optimizers.generator.name=momentum, not sgd"):
        landmark.train("gan-gaussian", run.folder, changed, resume="auto")


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("optimizers.critic.name=sgd", r"optimizers.critic: unknown player: choose from "),
        ("schedules.critic.rate=1", r"schedules.critic: .* choose from generator, discriminator"),
        (
            "optimizers.generator.betaz=[0, 0]",
            r"optimizers.generator: unknown key 'betaz': did you",
        ),
        ("schedules.generator.rate=-1", r"schedules.generator: rate: .*greater than 0 \(got -1\)"),
        (
            "trainer.ema_players=[critic]",
            r"there is no player 'critic': choose from generator, dis",
        ),
    ],
)
def test_what_no_player_can_take_is_refused_before_training(tmp_path, setting, message):
    with pytest.raises(UserError, match=message):
        landmark.train("gan-gaussian", tmp_path / "gan", [*SHORT, setting])
    assert not (tmp_path / "gan").exists()


def test_an_average_can_be_of_one_player(tmp_path):
    settings = [*SHORT, "trainer.ema_players=[generator]"]
    run = landmark.train("gan-gaussian", tmp_path / "gan", settings)
    folder = run.find_checkpoint("latest")
    model = load_tensors(folder, "model.safetensors")
    for player, is_averaged in (("generator", True), ("discriminator", False)):
        used = load_player(folder, player)
        equal = [torch.equal(used[name], model[f"{player}.{name}"]) for name in used]
        assert all(equal) != is_averaged
    again = Run(tmp_path / "gan").read_recipe()
    assert again["trainer"]["ema_players"] == ["generator"]


def test_naming_the_averaged_without_an_average_is_refused():
    with pytest.raises(UserError, match="ema_players needs an ema_decay"):
        resolve("gan-gaussian", ["trainer.ema_decay=null", "trainer.ema_players=[generator]"])


def test_noam_without_a_width_is_an_error_that_says_so():
    config = RunConfig(task="toy")  # noam, and no model whose width could be asked for
    network = torch.nn.Linear(2, 1)
    objective = AdversarialObjective(network, network, AdversarialConfig())
    with pytest.raises(UserError, match=r"schedule.name=noam .* this model has none: take inverse"):
        optimizers_for(config, objective)
    constant = dataclasses.replace(config, schedule=ScheduleConfig(name="constant", rate=0.1))
    assert optimizers_for(constant, objective)["generator"].schedule(5000) == 0.1
