import pytest
import torch
import torch.nn.functional as F
from torch.utils._python_dispatch import TorchDispatchMode

from landmark.layers import projection
from landmark.layers.projection import projected_cross_entropy, token_losses

TOKENS, WIDTH, VOCABULARY = 37, 6, 23


def inputs(dtype: torch.dtype = torch.float64) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    hidden = torch.randn(TOKENS, WIDTH, dtype=dtype, generator=generator) * 3
    weight = torch.randn(VOCABULARY, WIDTH, dtype=dtype, generator=generator)
    labels = torch.randint(VOCABULARY, (TOKENS,), generator=generator)
    return hidden.requires_grad_(), weight.requires_grad_(), labels


def reference(
    hidden: torch.Tensor, weight: torch.Tensor, labels: torch.Tensor, smoothing: float
) -> torch.Tensor:
    return F.cross_entropy(hidden @ weight.T, labels, label_smoothing=smoothing, reduction="sum")


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.9])
@pytest.mark.parametrize("chunk", [1, VOCABULARY, 5 * VOCABULARY + 3, 37 * VOCABULARY, 1 << 21])
def test_loss_and_gradients_equal_torchs_cross_entropy(
    monkeypatch: pytest.MonkeyPatch, chunk: int, smoothing: float
) -> None:
    monkeypatch.setattr(projection, "_CHUNK_ELEMENTS", chunk)
    hidden, weight, labels = inputs()
    ours = projected_cross_entropy(hidden, weight, labels, smoothing)
    (ours.loss_sum * 0.7).backward()
    expected_hidden, expected_weight, _ = inputs()
    expected = reference(expected_hidden, expected_weight, labels, smoothing)
    (expected * 0.7).backward()
    plain = reference(expected_hidden, expected_weight, labels, 0.0)
    exact = {"rtol": 1e-10, "atol": 1e-10}
    torch.testing.assert_close(ours.loss_sum, expected, **exact)
    torch.testing.assert_close(ours.nll_sum, plain, **exact)
    torch.testing.assert_close(hidden.grad, expected_hidden.grad, **exact)
    torch.testing.assert_close(weight.grad, expected_weight.grad, **exact)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_a_bias_is_added_to_the_logits_and_learns(smoothing: float) -> None:
    hidden, weight, labels = inputs()
    bias = torch.linspace(-1, 1, VOCABULARY, dtype=torch.float64).requires_grad_()
    ours = projected_cross_entropy(hidden, weight, labels, smoothing, bias=bias)
    ours.loss_sum.backward()
    other_hidden, other_weight, _ = inputs()
    other_bias = bias.detach().clone().requires_grad_()
    logits = F.linear(other_hidden, other_weight, other_bias)
    expected = F.cross_entropy(logits, labels, label_smoothing=smoothing, reduction="sum")
    expected.backward()
    exact = {"rtol": 1e-10, "atol": 1e-10}
    torch.testing.assert_close(ours.loss_sum, expected, **exact)
    for mine, theirs in ((hidden, other_hidden), (weight, other_weight), (bias, other_bias)):
        torch.testing.assert_close(mine.grad, theirs.grad, **exact)
    assert ours.correct == (logits.argmax(1) == labels).sum()


def test_correct_counts_the_right_guesses() -> None:
    hidden, weight, labels = inputs()
    guesses = (hidden @ weight.T).argmax(1)
    labels[:10] = guesses[:10]
    expected = int((guesses == labels).sum())
    assert 10 <= expected < TOKENS
    assert projected_cross_entropy(hidden, weight, labels, 0.1).correct.item() == expected


def test_only_the_loss_to_minimise_carries_a_gradient() -> None:
    loss = projected_cross_entropy(*inputs(), 0.1)
    assert loss.loss_sum.requires_grad
    assert not loss.nll_sum.requires_grad
    assert not loss.correct.requires_grad


def test_huge_logits_do_not_overflow() -> None:
    hidden, weight, labels = inputs()
    ours = projected_cross_entropy(hidden * 1e4, weight, labels, 0.1)
    expected = reference(hidden * 1e4, weight, labels, 0.1)
    torch.testing.assert_close(ours.loss_sum, expected)


def test_no_tokens_is_no_loss() -> None:
    hidden = torch.zeros(0, WIDTH, requires_grad=True)
    weight = torch.randn(VOCABULARY, WIDTH, requires_grad=True)
    loss = projected_cross_entropy(hidden, weight, torch.zeros(0, dtype=torch.int64), 0.1)
    loss.loss_sum.backward()
    assert loss.loss_sum.item() == 0
    assert not weight.grad.any()


class LargestTensor(TorchDispatchMode):
    """Watches every operation and keeps the size of the largest tensor that one made."""

    def __init__(self) -> None:
        super().__init__()
        self.elements, self.operations = 0, []

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        result = operation(*args, **(kwargs or {}))
        self.operations.append(operation.overloadpacket.__name__)
        if isinstance(result, torch.Tensor):
            self.elements = max(self.elements, result.numel())
        return result


def test_logits_of_all_tokens_are_never_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(projection, "_CHUNK_ELEMENTS", 4 * VOCABULARY)
    hidden, weight, labels = inputs()
    with LargestTensor() as largest:
        projected_cross_entropy(hidden, weight, labels, 0.1).loss_sum.backward()
    assert 4 * VOCABULARY <= largest.elements <= max(hidden.numel(), weight.numel())
    assert largest.elements < TOKENS * VOCABULARY
    with LargestTensor() as plain:
        reference(hidden, weight, labels, 0.1).backward()
    assert plain.elements == TOKENS * VOCABULARY  # the watch does see what it should see


def test_a_chunk_of_logits_stays_within_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []
    measure = projection._measure

    def watched(logits: torch.Tensor, labels: torch.Tensor, smoothing: float) -> torch.Tensor:
        sizes.append(logits.numel())
        return measure(logits, labels, smoothing)

    monkeypatch.setattr(projection, "_measure", watched)
    monkeypatch.setattr(projection, "_CHUNK_ELEMENTS", 7 * VOCABULARY + 5)
    projected_cross_entropy(*inputs(), 0.1)
    assert max(sizes) == 7 * VOCABULARY
    assert sum(sizes) == TOKENS * VOCABULARY


def test_measuring_without_gradients_multiplies_only_once() -> None:
    with torch.no_grad(), LargestTensor() as watch:
        loss = projected_cross_entropy(*inputs(), 0.0)
    products = [name for name in watch.operations if "mm" in name]
    assert len(products) == 1
    assert not loss.loss_sum.requires_grad


@pytest.mark.parametrize("chunk", [4 * VOCABULARY, 1 << 21])
def test_under_bf16_autocast_it_is_as_close_as_the_plain_loss(
    monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    monkeypatch.setattr(projection, "_CHUNK_ELEMENTS", chunk)
    generator = torch.Generator().manual_seed(0)
    hidden = torch.randn(2000, WIDTH, generator=generator)
    weight = torch.randn(VOCABULARY, WIDTH, generator=generator)
    labels = torch.randint(VOCABULARY, (2000,), generator=generator)

    def gradients(loss, autocast: bool):
        states, matrix = hidden.clone().requires_grad_(), weight.clone().requires_grad_()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast):
            value = loss(states, matrix)
        value.backward()
        assert matrix.grad.dtype == torch.float32
        return value.detach(), states.grad, matrix.grad

    def ours(states: torch.Tensor, matrix: torch.Tensor) -> torch.Tensor:
        return projected_cross_entropy(states, matrix, labels, 0.1).loss_sum

    exact = gradients(lambda states, matrix: reference(states, matrix, labels, 0.1), False)
    plain = gradients(lambda states, matrix: reference(states, matrix, labels, 0.1), True)
    for mine, its, true in zip(gradients(ours, True), plain, exact, strict=True):
        mine_off = (mine - true).norm() / true.norm()
        its_off = (its - true).norm() / true.norm()
        assert mine_off < max(1.5 * its_off, 1e-3)
        assert mine_off < 0.01


@pytest.mark.parametrize("biased", [False, True])
def test_losses_of_single_tokens_in_pieces_have_the_gradient_of_the_whole(monkeypatch, biased):
    monkeypatch.setattr(projection, "_CHUNK_ELEMENTS", 3 * VOCABULARY)
    hidden, weight, labels = inputs(torch.float32)
    bias = torch.linspace(-1, 1, VOCABULARY).requires_grad_() if biased else None
    learnt = [hidden, weight] + ([bias] if bias is not None else [])
    token_losses(hidden, weight, labels, bias).pow(2).sum().backward()
    found = [tensor.grad.clone() for tensor in learnt]
    for tensor in learnt:
        tensor.grad = None
    logits = F.linear(hidden, weight, bias)
    F.cross_entropy(logits, labels, reduction="none").pow(2).sum().backward()
    wanted = [tensor.grad for tensor in learnt]
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-4)
