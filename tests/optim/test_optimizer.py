import copy

import pytest
import torch
from torch import nn

from landmark.core.configuration import Provenance, build
from landmark.core.errors import UserError
from landmark.optim.optimizer import OptimizerConfig, ScheduledOptimizer


def network() -> nn.Module:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 3))
    model.matrices = {"0": 1}  # what Muon takes
    return model


def rates(step: int) -> float:
    return 0.05 / step


def learn(model: nn.Module, step: int, update) -> None:
    """One step on data that depends on the step only."""
    data = torch.randn(11, 5, generator=torch.Generator().manual_seed(step))
    model.zero_grad()
    model(data).square().mean().backward()
    update()


def ours(model: nn.Module, config: OptimizerConfig) -> ScheduledOptimizer:
    return ScheduledOptimizer(model, config, rates)


def step_ours(optimizer: ScheduledOptimizer, model: nn.Module, step: int) -> None:
    assert optimizer.set_rate(step) == rates(step)
    learn(model, step, optimizer.torch.step)


REFERENCES = {
    "adam": lambda p: torch.optim.Adam(p, lr=0, fused=False),
    "adam with decay": lambda p: torch.optim.Adam(
        p, lr=0, betas=(0.8, 0.95), eps=1e-6, weight_decay=0.1, fused=False
    ),
    "adamw": lambda p: torch.optim.AdamW(p, lr=0, weight_decay=0.1, fused=False),
    "sgd": lambda p: torch.optim.SGD(p, lr=0, fused=False),
    "sgd with momentum": lambda p: torch.optim.SGD(
        p, lr=0, momentum=0.9, weight_decay=0.1, fused=False
    ),
    "sgd after Nesterov": lambda p: torch.optim.SGD(
        p, lr=0, momentum=0.9, nesterov=True, fused=False
    ),
    "momentum": lambda p: torch.optim.SGD(p, lr=0, momentum=0.9, fused=False),
    "nesterov": lambda p: torch.optim.SGD(p, lr=0, momentum=0.8, nesterov=True, fused=False),
    "adagrad": lambda p: torch.optim.Adagrad(p, lr=0, foreach=False),
    "rmsprop": lambda p: torch.optim.RMSprop(p, lr=0, alpha=0.9, foreach=False),
    "centred rmsprop": lambda p: torch.optim.RMSprop(
        p, lr=0, alpha=0.8, eps=1e-4, centered=True, weight_decay=0.1, foreach=False
    ),
    "adadelta": lambda p: torch.optim.Adadelta(p, lr=0, rho=0.95, eps=1e-6, foreach=False),
    "adamax": lambda p: torch.optim.Adamax(p, lr=0, foreach=False),
    "amsgrad": lambda p: torch.optim.Adam(p, lr=0, amsgrad=True, fused=False),
}
CONFIGS = {
    "adam": OptimizerConfig(),
    "adam with decay": OptimizerConfig(betas=(0.8, 0.95), epsilon=1e-6, weight_decay=0.1),
    "adamw": OptimizerConfig(name="adamw", weight_decay=0.1),
    "sgd": OptimizerConfig(name="sgd"),
    "sgd with momentum": OptimizerConfig(name="sgd", momentum=0.9, weight_decay=0.1),
    "sgd after Nesterov": OptimizerConfig(name="sgd", momentum=0.9, nesterov=True),
    "momentum": OptimizerConfig(name="momentum"),
    "nesterov": OptimizerConfig(name="nesterov", momentum=0.8),
    "adagrad": OptimizerConfig(name="adagrad"),
    "rmsprop": OptimizerConfig(name="rmsprop"),
    "centred rmsprop": OptimizerConfig(
        name="rmsprop", square_decay=0.8, square_epsilon=1e-4, centered=True, weight_decay=0.1
    ),
    "adadelta": OptimizerConfig(name="adadelta"),
    "adamax": OptimizerConfig(name="adamax"),
    "amsgrad": OptimizerConfig(name="amsgrad"),
}
UNLIKE_TORCH = {
    "averaged-momentum": OptimizerConfig(name="averaged-momentum"),
    "adam, not corrected": OptimizerConfig(bias_correction=False),
    "muon": OptimizerConfig(name="muon", weight_decay=0.1),
    "adamw, written out": OptimizerConfig(name="adamw", weight_decay=0.1, readable=True),
}


@pytest.mark.parametrize("method", CONFIGS)
def test_fused_steps_equal_torchs_plain_ones(method: str) -> None:
    mine, its = network(), network()
    optimizer, reference = ours(mine, CONFIGS[method]), REFERENCES[method](its.parameters())
    start = copy.deepcopy(mine.state_dict())
    for step in range(1, 21):
        step_ours(optimizer, mine, step)
        reference.param_groups[0]["lr"] = rates(step)
        learn(its, step, reference.step)
    for name, value in its.state_dict().items():
        assert not torch.allclose(value, start[name])
        torch.testing.assert_close(mine.state_dict()[name], value, rtol=1e-5, atol=1e-6)


def test_adam_is_the_papers_algorithm() -> None:
    model = nn.Linear(1, 1, bias=False)
    optimizer = ours(model, OptimizerConfig())
    weight = model.weight.item()
    first = second = 0.0
    for step, gradient in enumerate([0.3, -2.0, 0.01, 5.0], 1):
        model.weight.grad = torch.tensor([[gradient]])
        optimizer.set_rate(step)
        optimizer.torch.step()
        first = 0.9 * first + 0.1 * gradient
        second = 0.999 * second + 0.001 * gradient**2
        unbiased = first / (1 - 0.9**step), second / (1 - 0.999**step)
        weight -= rates(step) * unbiased[0] / (unbiased[1] ** 0.5 + 1e-8)
        assert model.weight.item() == pytest.approx(weight, rel=1e-5)


@pytest.mark.parametrize("method", CONFIGS | UNLIKE_TORCH)
def test_a_saved_state_continues_bit_exactly(method: str) -> None:
    model, config = network(), (CONFIGS | UNLIKE_TORCH)[method]
    optimizer = ours(model, config)
    for step in range(1, 6):
        step_ours(optimizer, model, step)
    weights = copy.deepcopy(model.state_dict())
    saved = {name: tensor.clone() for name, tensor in optimizer.state_dict().items()}
    again = network()
    again.load_state_dict(weights)
    restored = ours(again, config)
    restored.load_state_dict(saved)
    fresh = network()
    fresh.load_state_dict(weights)
    forgetful = ours(fresh, config)
    for step in range(6, 11):
        step_ours(optimizer, model, step)
        step_ours(restored, again, step)
        step_ours(forgetful, fresh, step)
    for name, value in model.state_dict().items():
        assert torch.equal(again.state_dict()[name], value)
        if method != "sgd":  # which has nothing to remember
            assert not torch.equal(fresh.state_dict()[name], value)


def test_a_loaded_state_is_a_copy() -> None:
    model = network()
    optimizer = ours(model, OptimizerConfig())
    step_ours(optimizer, model, 1)
    saved = optimizer.state_dict()
    before = {name: tensor.clone() for name, tensor in saved.items()}
    twin = network()
    restored = ours(twin, OptimizerConfig())
    restored.load_state_dict(saved)
    step_ours(restored, twin, 2)
    assert all(torch.equal(saved[name], before[name]) for name in saved)


def test_state_is_named_by_parameter() -> None:
    model = network()
    optimizer = ours(model, OptimizerConfig())
    assert optimizer.state_dict() == {}
    step_ours(optimizer, model, 1)
    assert set(optimizer.state_dict()) == {
        f"{name}.{key}"
        for name in ("0.weight", "0.bias", "2.weight", "2.bias")
        for key in ("step", "exp_avg", "exp_avg_sq")
    }


def test_the_state_of_another_model_is_refused() -> None:
    model = network()
    optimizer = ours(model, OptimizerConfig())
    with pytest.raises(UserError, match=r"'9\.weight'"):
        optimizer.load_state_dict({"9.weight.exp_avg": torch.zeros(1)})


@pytest.mark.parametrize(
    "values", [{"betas": (0.9, 1.0)}, {"epsilon": 0.0}, {"weight_decay": -1}, {"name": "adamm"}]
)
def test_values_out_of_range_are_refused(values: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="validation error"):
        OptimizerConfig(**values)


def kernels(memory_format: torch.memory_format) -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.Conv2d(4, 5, 3)).to(memory_format=memory_format)


def look(model: nn.Module, step: int, update) -> None:
    images = torch.randn(2, 3, 7, 7, generator=torch.Generator().manual_seed(step))
    model.zero_grad()
    model(images).square().mean().backward()
    update()


@pytest.mark.parametrize("method", ["adam", "sgd with momentum", "adagrad", "rmsprop", "adamax"])
def test_a_state_goes_on_with_kernels_in_another_order_in_memory(method: str) -> None:
    """It is saved row by row; fused kernels would take it for channels-last without a word."""
    ours_, plain = kernels(torch.channels_last), kernels(torch.contiguous_format)
    reference = ours(plain, CONFIGS[method])
    first = ours(ours_, CONFIGS[method])
    for step in (1, 2):
        for optimizer, model in ((first, ours_), (reference, plain)):
            optimizer.set_rate(step)
            look(model, step, optimizer.torch.step)
    saved = {name: value.contiguous() for name, value in first.state_dict().items()}
    second = ours(ours_, CONFIGS[method])
    second.load_state_dict(saved)
    for optimizer, model in ((second, ours_), (reference, plain)):
        optimizer.set_rate(3)
        look(model, 3, optimizer.torch.step)
    for name, value in plain.state_dict().items():
        torch.testing.assert_close(ours_.state_dict()[name], value, rtol=1e-4, atol=1e-6)


def test_frozen_parameters_are_left_alone() -> None:
    model = network()
    model[0].requires_grad_(False)
    optimizer = ours(model, OptimizerConfig(weight_decay=0.5))
    assert optimizer.names == ["2.weight", "2.bias"]
    before = copy.deepcopy(model.state_dict())
    step_ours(optimizer, model, 1)
    for name, value in model.state_dict().items():
        assert torch.equal(value, before[name]) == name.startswith("0.")


def test_looking_ahead_needs_momentum() -> None:
    with pytest.raises(ValueError, match="nesterov needs a momentum"):
        OptimizerConfig(name="sgd", nesterov=True)


def test_another_method_leaves_aside_what_is_not_its_own() -> None:
    """So that the name alone changes the method of a recipe that looks ahead."""
    own = OptimizerConfig(name="adam", momentum=0.9, nesterov=True, square_decay=0.5)
    assert ours(network(), own).torch.param_groups[0]["betas"] == (0.9, 0.999)
    assert "momentum" not in ours(network(), own).torch.param_groups[0]


def test_a_network_without_anything_to_learn_is_refused() -> None:
    frozen = network().requires_grad_(False)
    with pytest.raises(UserError, match="Adam: there are no parameters to optimise"):
        ours(frozen, OptimizerConfig())


def test_momentum_that_grows_is_torchs_with_that_momentum_at_each_step():
    config = OptimizerConfig(name="sgd", momentum=0.5, final_momentum=0.7, momentum_steps=4)
    torch.manual_seed(1)
    mine, theirs = nn.Linear(5, 3), nn.Linear(5, 3)
    theirs.load_state_dict(mine.state_dict())
    optimizer = ours(mine, config)
    reference = torch.optim.SGD(theirs.parameters(), lr=0, momentum=0.5, fused=False)
    for step in range(1, 8):
        step_ours(optimizer, mine, step)
        reference.param_groups[0]["lr"] = rates(step)
        reference.param_groups[0]["momentum"] = 0.5 + 0.05 * min(step, 4)
        learn(theirs, step, reference.step)
    torch.testing.assert_close(mine.weight, theirs.weight)
    assert optimizer.torch.param_groups[0]["momentum"] == pytest.approx(0.7)


def test_momentum_that_grows_needs_one_to_begin_with():
    with pytest.raises(UserError, match="final_momentum is for name=sgd"):
        build(OptimizerConfig, {"name": "sgd", "final_momentum": 0.7}, Provenance("test"))
