import math

import pytest
import torch
from torch import nn

from landmark.layers.attention import MultiHeadAttention, attention_weights
from landmark.layers.cache import GapMask, KeyValueCache
from landmark.layers.packing import Packing

WIDTH, HEADS = 24, 3
SOURCE = torch.tensor([5, 2, 7, 1])
TARGET = torch.tensor([3, 6, 1, 4])
CLOSE = {"rtol": 1e-5, "atol": 1e-5}


def attention_pair() -> tuple[MultiHeadAttention, nn.MultiheadAttention]:
    """Ours and torch's with the same random weights and biases."""
    torch.manual_seed(0)
    reference = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)
    ours = MultiHeadAttention(WIDTH, HEADS)
    for parameter in reference.parameters():
        nn.init.normal_(parameter, std=0.3)
    with torch.no_grad():
        ours.input.weight.copy_(reference.in_proj_weight)
        ours.input.bias.copy_(reference.in_proj_bias)
        ours.output.weight.copy_(reference.out_proj.weight)
        ours.output.bias.copy_(reference.out_proj.bias)
    return ours, reference


def is_padding(lengths: torch.Tensor) -> torch.Tensor:
    return torch.arange(int(lengths.max())) >= lengths[:, None]


def padded(lengths: torch.Tensor, seed: int) -> torch.Tensor:
    """Random states; padding is filled with large noise that must never be looked at."""
    generator = torch.Generator().manual_seed(seed)
    grid = torch.randn(len(lengths), int(lengths.max()), WIDTH, generator=generator)
    return torch.where(is_padding(lengths)[..., None], 100 * grid, grid)


def run(ours: MultiHeadAttention, use: str, x: torch.Tensor, memory: torch.Tensor) -> torch.Tensor:
    """Packed states x of TARGET's lengths through one of the three uses."""
    packing = Packing(TARGET)
    if use == "cross":
        return ours(x, packing, memory, Packing(SOURCE))
    return ours(x, packing, causal=use == "causal")


@pytest.mark.parametrize("observed", [False, True], ids=["fused", "observed"])
@pytest.mark.parametrize("use", ["self", "causal", "cross"])
def test_equals_torch_multihead_attention(use: str, observed: bool) -> None:
    ours, reference = attention_pair()
    ours.observer = (lambda weights: None) if observed else None
    x, memory = padded(TARGET, 1), padded(SOURCE, 2)
    real = ~is_padding(TARGET)
    keys, lengths = (memory, SOURCE) if use == "cross" else (x, TARGET)
    longest = int(TARGET.max())
    future = torch.ones(longest, longest, dtype=torch.bool).triu(1) if use == "causal" else None
    expected, _ = reference(
        x, keys, keys, key_padding_mask=is_padding(lengths), attn_mask=future, need_weights=False
    )
    result = run(ours, use, x[real], memory[~is_padding(SOURCE)])
    torch.testing.assert_close(result, expected[real], **CLOSE)


@pytest.mark.parametrize("use", ["self", "causal", "cross"])
def test_observed_weights_equal_torchs_for_every_head(use: str) -> None:
    ours, reference = attention_pair()
    seen: list[torch.Tensor] = []
    ours.observer = seen.append
    x, memory = padded(TARGET, 1), padded(SOURCE, 2)
    real = ~is_padding(TARGET)
    keys, lengths = (memory, SOURCE) if use == "cross" else (x, TARGET)
    longest = int(TARGET.max())
    future = torch.ones(longest, longest, dtype=torch.bool).triu(1) if use == "causal" else None
    _, expected = reference(
        x,
        keys,
        keys,
        key_padding_mask=is_padding(lengths),
        attn_mask=future,
        average_attn_weights=False,
    )
    run(ours, use, x[real], memory[~is_padding(SOURCE)])
    assert len(seen) == 1
    assert not seen[0].requires_grad
    per_query = seen[0].transpose(1, 2)[real]  # (N, H, S)
    torch.testing.assert_close(per_query, expected.transpose(1, 2)[real], **CLOSE)


@pytest.mark.parametrize("use", ["self", "causal", "cross"])
def test_both_paths_agree_in_values_and_gradients(use: str) -> None:
    ours, _ = attention_pair()
    results = []
    for observer in (None, lambda weights: None):
        ours.observer = observer
        ours.zero_grad()
        x = padded(TARGET, 1)[~is_padding(TARGET)].requires_grad_()
        memory = padded(SOURCE, 2)[~is_padding(SOURCE)].requires_grad_()
        output = run(ours, use, x, memory)
        (output * torch.linspace(-1, 1, output.numel()).view_as(output)).sum().backward()
        results.append([output, x.grad, *(p.grad for p in ours.parameters())])
        assert (memory.grad is not None) == (use == "cross")
        if use == "cross":
            results[-1].append(memory.grad)
    for fused, observed in zip(*results, strict=True):
        assert fused.abs().max() > 1e-3
        torch.testing.assert_close(fused, observed, **CLOSE)


@pytest.mark.parametrize("use", ["self", "causal", "cross"])
def test_weights_are_a_distribution_over_the_visible_positions_only(use: str) -> None:
    ours, _ = attention_pair()
    seen: list[torch.Tensor] = []
    ours.observer = seen.append
    run(ours, use, padded(TARGET, 1)[~is_padding(TARGET)], padded(SOURCE, 2)[~is_padding(SOURCE)])
    lengths = SOURCE if use == "cross" else TARGET
    for sentence in range(len(TARGET)):
        for query in range(int(TARGET[sentence])):
            visible = query + 1 if use == "causal" else int(lengths[sentence])
            weights = seen[0][sentence, :, query]
            assert (weights[:, :visible] > 0).all()
            assert (weights[:, visible:] == 0).all()
            torch.testing.assert_close(weights.sum(-1), torch.ones(HEADS))


def test_the_lectures_numbers_112_and_96_become_0_88_and_0_12() -> None:
    query = torch.ones(1, 1, 1, 64)
    key = torch.tensor([112 / 64, 96 / 64])[None, None, :, None].expand(1, 1, 2, 64)
    scores = (query @ key.transpose(-2, -1)).flatten()
    assert scores.tolist() == [112.0, 96.0]
    weights = attention_weights(query, key).flatten()
    assert [round(weight, 2) for weight in weights.tolist()] == [0.88, 0.12]
    torch.testing.assert_close(weights, torch.tensor([14.0, 12.0]).softmax(0))


@pytest.mark.parametrize("observed", [False, True], ids=["fused", "observed"])
def test_the_lectures_numbers_through_the_module(observed: bool) -> None:
    attention = MultiHeadAttention(64, 1)
    with torch.no_grad():
        attention.input.weight.copy_(torch.eye(64).repeat(3, 1))
        attention.output.weight.copy_(torch.eye(64))
    attention.observer = (lambda weights: None) if observed else None
    memory = torch.stack((torch.full((64,), 112 / 64), torch.full((64,), 96 / 64)))
    one, two = Packing(torch.tensor([1])), Packing(torch.tensor([2]))
    mixed = attention(torch.ones(1, 64), one, memory, two)
    share = 1 / (1 + math.exp(-2))  # softmax(14, 12) = 0.8808, 0.1192
    expected = share * 112 / 64 + (1 - share) * 96 / 64
    torch.testing.assert_close(mixed, torch.full((1, 64), expected), **CLOSE)


@pytest.mark.parametrize("observed", [False, True], ids=["fused", "observed"])
def test_causal_mask_hides_the_future(observed: bool) -> None:
    ours, _ = attention_pair()
    ours.observer = (lambda weights: None) if observed else None
    packing = Packing(torch.tensor([6, 4]))
    x = torch.randn(10, WIDTH)
    before = ours(x, packing, causal=True)
    changed = x.clone()
    changed[3] += 5.0  # the fourth token of the first sentence
    after = ours(changed, packing, causal=True)
    moved = (after - before).abs().amax(1)
    assert (moved[3:6] > 1e-3).all()
    assert moved[:3].max() < 1e-6
    assert moved[6:].max() < 1e-6
    without_mask = (ours(changed, packing) - ours(x, packing)).abs().amax(1)
    assert (without_mask[:3] > 1e-3).all()


def test_each_projection_is_drawn_within_its_own_xavier_bound() -> None:
    torch.manual_seed(0)
    attention = MultiHeadAttention(96, 4)
    bound = math.sqrt(6 / (96 + 96))
    for matrix in (*attention.input.weight.chunk(3), attention.output.weight):
        assert matrix.abs().max() <= bound
        assert matrix.abs().max() > 0.99 * bound
        assert matrix.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.03)
    assert not attention.input.bias.any()
    assert not attention.output.bias.any()


def test_a_smaller_gain_draws_projections_as_torch_does():
    torch.manual_seed(0)
    ours = MultiHeadAttention(96, 4, gain=2**-0.5).input.weight
    theirs = nn.MultiheadAttention(96, 4).in_proj_weight
    for matrix in ours.chunk(3):
        assert matrix.abs().max().item() == pytest.approx(theirs.abs().max().item(), rel=0.01)
        assert matrix.std().item() == pytest.approx(theirs.std().item(), rel=0.03)


def test_dropped_weights_are_zero_and_the_others_scaled_up() -> None:
    """Values that are one-hot by place make the output show the weights themselves."""
    torch.manual_seed(0)
    length, share = 12, 0.25
    attention = MultiHeadAttention(length, 1, dropout=share)
    with torch.no_grad():
        attention.input.weight[2 * length :] = torch.eye(length)
        attention.output.weight.copy_(torch.eye(length))
    x, packing = torch.eye(length), Packing(torch.tensor([length]))
    weights = attention.eval()(x, packing)
    torch.testing.assert_close(weights.sum(-1), torch.ones(length))
    draws = torch.stack([attention.train()(x, packing) for _ in range(50)])
    is_dropped = draws.abs() < 1e-7
    assert is_dropped.float().mean().item() == pytest.approx(share, abs=0.02)
    expected = (weights / (1 - share)).expand_as(draws)
    torch.testing.assert_close(draws[~is_dropped], expected[~is_dropped])


def test_nothing_is_dropped_from_weights_after_training() -> None:
    ours, _ = attention_pair()
    dropping = MultiHeadAttention(WIDTH, HEADS, dropout=0.9)
    dropping.load_state_dict(ours.state_dict())
    x, packing = padded(TARGET, 1)[~is_padding(TARGET)], Packing(TARGET)
    torch.testing.assert_close(dropping.eval()(x, packing), ours(x, packing))
    assert not torch.allclose(dropping.train()(x, packing), ours(x, packing), atol=1e-2)


@pytest.mark.parametrize("observed", [False, True], ids=["fused", "observed"])
def test_steps_go_on_from_what_a_cache_took_up_while_reading(observed: bool) -> None:
    """Against torch's layer over the whole: with a bias on keys that both must have alike."""
    ours, reference = attention_pair()
    ours.observer = (lambda weights: None) if observed else None
    longest, steps = int(TARGET.max()), 3
    x = padded(TARGET, 1)
    gap_mask = GapMask(TARGET, longest, longest + steps, x)
    head = WIDTH // HEADS
    cache = KeyValueCache(len(TARGET), HEADS, longest + steps, head, x, gap_mask=gap_mask)
    ours(x[~is_padding(TARGET)], Packing(TARGET), causal=True, cache=cache)
    rows = [its[:length] for its, length in zip(x, TARGET.tolist(), strict=True)]
    for step in range(steps):
        new = torch.randn(len(TARGET), WIDTH, generator=torch.Generator().manual_seed(step))
        rows = [torch.cat((row, token[None])) for row, token in zip(rows, new, strict=True)]
        result = ours.step(new, cache)
        for row, its in zip(rows, result, strict=True):
            expected, _ = reference(row[-1:], row, row, need_weights=False)
            torch.testing.assert_close(its, expected[0], **CLOSE)
