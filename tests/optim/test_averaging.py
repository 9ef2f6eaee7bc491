import pytest
import torch
from torch import nn

from landmark.optim.averaging import MovingAverage, average_weights


def one_weight(value: float) -> nn.Linear:
    module = nn.Linear(1, 1, bias=False)
    nn.init.constant_(module.weight, value)
    return module


def test_the_moving_average_follows_its_formula() -> None:
    module = one_weight(1.0)
    average = MovingAverage({"model": module}, 0.6)
    expected = 1.0
    for update in range(1, 40):
        nn.init.constant_(module.weight, float(update % 7))
        average.update()
        decay = min(0.6, (1 + update) / (10 + update))
        expected = decay * expected + (1 - decay) * (update % 7)
        assert average.average["model.weight"].item() == pytest.approx(expected, rel=1e-5)
        assert module.weight.item() == update % 7  # the live weight is left alone


def test_every_parameter_of_every_player_is_averaged_once() -> None:
    generator, discriminator = nn.Linear(2, 3), nn.Linear(3, 1)
    generator.twin = nn.Linear(2, 3)
    generator.twin.weight = generator.weight  # tied
    average = MovingAverage({"generator": generator, "discriminator": discriminator}, 0.9)
    assert set(average.average) == {
        "generator.weight",
        "generator.bias",
        "generator.twin.bias",
        "discriminator.weight",
        "discriminator.bias",
    }


def test_in_place_holds_the_averages_and_then_restores_the_weights() -> None:
    module = one_weight(0.0)
    average = MovingAverage({"model": module}, 0.5)
    nn.init.constant_(module.weight, 11.0)
    average.update()
    smoothed = 11 * (1 - 2 / 11)  # the first decay is 2/11
    parameter = module.weight
    with average.in_place():
        assert module.weight is parameter
        assert module.weight.item() == pytest.approx(smoothed)
    assert module.weight.item() == 11.0
    assert average.average["model.weight"].item() == pytest.approx(smoothed)


def test_in_place_restores_after_an_error_too() -> None:
    module = one_weight(0.0)
    average = MovingAverage({"model": module}, 0.5)
    nn.init.constant_(module.weight, 3.0)

    def fail() -> None:
        with average.in_place():
            assert module.weight.item() == 0.0
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert module.weight.item() == 3.0


def test_averaging_goes_on_after_a_visit_in_place() -> None:
    modules = one_weight(1.0), one_weight(1.0)
    averages = [MovingAverage({"model": module}, 0.9) for module in modules]
    for update in range(5):
        for number, (module, average) in enumerate(zip(modules, averages, strict=True)):
            nn.init.constant_(module.weight, float(update))
            average.update()
            if number:
                with average.in_place():
                    pass
    assert torch.equal(averages[0].average["model.weight"], averages[1].average["model.weight"])


def test_average_weights_is_the_mean() -> None:
    torch.manual_seed(0)
    checkpoints = [{"a": torch.randn(3, 4), "b": torch.randn(2)} for _ in range(5)]
    result = average_weights(checkpoints)
    for name in ("a", "b"):
        expected = torch.stack([checkpoint[name].double() for checkpoint in checkpoints]).mean(0)
        assert torch.equal(result[name], expected.float())


def test_average_weights_keeps_types_and_inputs_and_does_not_lose_small_parts() -> None:
    checkpoints = [{"a": torch.tensor([value])} for value in (1e8, 1.0, -1e8, 1.0)]
    assert average_weights(checkpoints)["a"].item() == 0.5
    assert checkpoints[0]["a"].item() == 1e8
    half = [{"a": torch.tensor([value], dtype=torch.bfloat16)} for value in (1.0, 2.0)]
    assert average_weights(half)["a"].dtype == torch.bfloat16
    double = {"a": torch.tensor([1.0], dtype=torch.float64)}
    average_weights([double, double])
    assert double["a"].item() == 1.0


def test_what_batch_norms_measured_is_averaged_with_the_weights() -> None:
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    module.register_buffer("unsaved", torch.zeros(1), persistent=False)
    average = MovingAverage({"model": module}, 0.5)
    expected, norm = module[1].running_var.clone(), module[1]
    for update in range(1, 4):
        module(torch.randn(8, 3) * update)
        average.update()
        decay = min(0.5, (1 + update) / (10 + update))
        expected = decay * expected + (1 - decay) * norm.running_var
        torch.testing.assert_close(average.average["model.1.running_var"], expected)
    live = norm.running_var.clone()
    with average.in_place():
        torch.testing.assert_close(norm.running_var, expected)
    assert torch.equal(norm.running_var, live)
    counts = {"model.1.num_batches_tracked", "model.unsaved"}  # no numbers to average
    assert not counts & average.average.keys()
