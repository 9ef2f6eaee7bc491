"""Each score against a loop over sentences, queries and heads; projected dot against torch."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.autograd import gradcheck

from landmark.layers.alignment import AlignmentMemory, AttentionOutput
from landmark.layers.packing import Packing

SCORES = ["dot", "bilinear", "additive", "mlp", "last", "mean"]
LENGTHS = [4, 1, 6, 2]
QUERY, MEMORY, HIDDEN, LOOKS = 6, 6, 12, 3
EXACT = {"rtol": 1e-10, "atol": 1e-10}
every_score = pytest.mark.parametrize("score", SCORES)
every_form = pytest.mark.parametrize(
    ("heads", "projected"), [(1, False), (3, False), (1, True), (3, True)]
)


def alignment(score: str, heads: int = 1, projected: bool = False, **options) -> AttentionOutput:
    """An attention with random weights and biases; sizes differ where the score allows it."""
    torch.manual_seed(0)
    same = score == "dot" and not projected
    module = AttentionOutput(
        score, QUERY, MEMORY if same else 9, HIDDEN, heads, projected, **options
    )
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.5)
    return module.double()


def drawn(module: AttentionOutput, score: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Packed memory, and LOOKS queries a sentence."""
    torch.manual_seed(1)
    width = MEMORY if score == "dot" and module.value is None else 9
    memory = torch.randn(sum(LENGTHS), width, dtype=torch.float64)
    return memory, torch.randn(len(LENGTHS) * LOOKS, QUERY, dtype=torch.float64)


def score_by_hand(
    module: AttentionOutput, h: torch.Tensor, s: torch.Tensor, head: int
) -> torch.Tensor:
    """The score of one whole query against one whole state in one head, from the definitions."""
    heads, scorer = module.num_heads, module.scorer
    mine, its = h.view(heads, -1)[head], s.view(heads, -1)[head]
    scale = 1 / math.sqrt(len(mine)) if module.query is not None else 1.0
    if module.score == "dot":
        return scale * (mine * its).sum()
    if module.score == "bilinear":
        return scale * (mine @ scorer.weight[head] @ its)
    matrix = torch.cat((scorer.from_query.weight, scorer.from_key.weight), 1)
    inner = (matrix @ torch.cat((h, s)) + scorer.from_key.bias).view(heads, -1)[head]
    inner = inner.tanh() if module.score == "additive" else inner.clamp(min=0)
    return (scorer.vector[head] * inner).sum()


def by_hand(module: AttentionOutput, memory: torch.Tensor, query: torch.Tensor) -> tuple:
    """Sentence by sentence, query by query, head by head. -> contexts, lists of weights"""
    contexts, looks = [], []
    for row, states in enumerate(memory.split(LENGTHS)):
        keys = states if module.key is None else states @ module.key.weight.T
        values = states
        if module.value is not None:
            values = states @ module.value.weight.T + module.value.bias
        for h in query[row * LOOKS : (row + 1) * LOOKS]:
            if module.query is not None:
                h = module.query.weight @ h + module.query.bias
            parts, weights = [], []
            for head in range(module.num_heads):
                if module.score == "last":
                    share = F.one_hot(torch.tensor(len(states) - 1), len(states)).double()
                elif module.score == "mean":
                    share = torch.full((len(states),), 1 / len(states), dtype=torch.float64)
                else:
                    fits = torch.stack([score_by_hand(module, h, s, head) for s in keys])
                    share = fits.exp() / fits.exp().sum()
                weights.append(share)
                parts.append(share @ values.view(len(states), module.num_heads, -1)[:, head])
            contexts.append(torch.cat(parts))
            looks.append(torch.stack(weights))
    return torch.stack(contexts), looks


@every_form
@every_score
def test_equals_a_loop_over_sentences_in_values_and_gradients(
    score: str, heads: int, projected: bool
) -> None:
    module = alignment(score, heads, projected)
    memory, query = drawn(module, score)
    results = []
    for ours in (True, False):
        leaves = [memory.clone().requires_grad_(), query.clone().requires_grad_()]
        module.zero_grad()
        if ours:
            remembered = module.remember(leaves[0], Packing(torch.tensor(LENGTHS)))
            context, weights = module(leaves[1], remembered)
        else:
            context, looks = by_hand(module, *leaves)
            weights = torch.stack([F.pad(look, (0, 6 - look.shape[1])) for look in looks])
        loss = (context * torch.linspace(-1, 2, context.numel()).view_as(context)).sum()
        (loss + (weights * torch.arange(6.0)).sum()).backward()
        leaves = [leaf for leaf in (*leaves, *module.parameters()) if leaf.grad is not None]
        results.append([context, weights, *[leaf.grad.clone() for leaf in leaves]])
    count = 2 + len(list(module.parameters())) + (1 if score in ("last", "mean") else 2)
    assert [len(result) for result in results] == [count, count]
    for mine, expected in zip(*results, strict=True):
        assert expected.abs().max() > 1e-3
        torch.testing.assert_close(mine, expected, **EXACT)
    assert results[0][0].shape == (len(LENGTHS) * LOOKS, module.context_size)
    assert results[0][1].shape == (len(LENGTHS) * LOOKS, heads, max(LENGTHS))


@every_form
@every_score
@torch.no_grad()
def test_weights_are_a_distribution_over_the_real_positions(
    score: str, heads: int, projected: bool
) -> None:
    module = alignment(score, heads, projected)
    memory, query = drawn(module, score)
    _, weights = module(query, module.remember(memory, Packing(torch.tensor(LENGTHS))))
    torch.testing.assert_close(weights.sum(-1), torch.ones_like(weights[..., 0]))
    for row, length in enumerate(LENGTHS):
        mine = weights[row * LOOKS : (row + 1) * LOOKS]
        assert not mine[..., length:].any()
        assert (mine[..., length - 1] > 0).all()
        assert (mine[..., : length - 1] > 0).all() == (score != "last" or length == 1)


@every_form
@every_score
@torch.no_grad()
def test_padding_never_matters(score: str, heads: int, projected: bool) -> None:
    module = alignment(score, heads, projected)
    memory, query = drawn(module, score)
    context, weights = module(query, module.remember(memory, Packing(torch.tensor(LENGTHS))))
    for row, states in enumerate(memory.split(LENGTHS)):
        looks = slice(row * LOOKS, (row + 1) * LOOKS)
        alone = module(query[looks], module.remember(states, Packing.full(1, len(states))))
        torch.testing.assert_close(alone[0], context[looks], **EXACT)
        torch.testing.assert_close(alone[1], weights[looks, :, : len(states)], **EXACT)
    noisy = module.remember(memory, Packing(torch.tensor(LENGTHS), max_length=9))
    for row, length in enumerate(LENGTHS):
        noisy.keys[row, :, length:] = 1e6
        noisy.values[row, :, length:] = -1e6
    again, wider = module(query, noisy)
    assert wider.shape[-1] == 9
    assert not wider[..., 6:].any()
    torch.testing.assert_close(again, context, **EXACT)
    torch.testing.assert_close(wider[..., :6], weights, **EXACT)


@every_form
@every_score
def test_gradients_are_exact(score: str, heads: int, projected: bool) -> None:
    module = alignment(score, heads, projected)
    packing = Packing(torch.tensor([2, 1]))
    memory, query = drawn(module, score)

    def look(memory: torch.Tensor, query: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        context, weights = module(query, module.remember(memory, packing))
        return context, weights if weights.requires_grad else weights.clone()

    given = memory[:3].clone().requires_grad_(), query[:2].clone().requires_grad_()
    assert gradcheck(look, given)


@pytest.mark.parametrize("heads", [1, 3])
@torch.no_grad()
def test_projected_dot_with_heads_is_the_transformers_attention(heads: int) -> None:
    torch.manual_seed(0)
    module = AttentionOutput("dot", HIDDEN, HIDDEN, HIDDEN, heads, projected=True).double()
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.3)
    theirs = nn.MultiheadAttention(HIDDEN, heads, batch_first=True).double()
    zeros = torch.zeros(HIDDEN, dtype=torch.float64)
    theirs.in_proj_weight.copy_(
        torch.cat((module.query.weight, module.key.weight, module.value.weight))
    )
    # Whatever the keys' bias is, it must not matter.
    theirs.in_proj_bias.copy_(torch.cat((module.query.bias, zeros + 0.7, module.value.bias)))
    theirs.out_proj.weight.copy_(torch.eye(HIDDEN))
    theirs.out_proj.bias.copy_(zeros)
    packing = Packing(torch.tensor(LENGTHS))
    memory = torch.randn(sum(LENGTHS), HIDDEN, dtype=torch.float64)
    query = torch.randn(len(LENGTHS), LOOKS, HIDDEN, dtype=torch.float64)
    grid = nn.utils.rnn.pad_sequence(memory.split(LENGTHS), batch_first=True, padding_value=9.0)
    is_padding = torch.arange(6) >= packing.lengths[:, None]
    expected, looks = theirs(
        query, grid, grid, key_padding_mask=is_padding, average_attn_weights=False
    )
    context, weights = module(query.flatten(0, 1), module.remember(memory, packing))
    torch.testing.assert_close(context, expected.flatten(0, 1), **EXACT)
    torch.testing.assert_close(weights, looks.transpose(1, 2).flatten(0, 1), **EXACT)


@pytest.mark.parametrize("score", ["dot", "bilinear"])
@pytest.mark.parametrize("projected", [False, True])
@torch.no_grad()
def test_scaling_is_a_choice_and_by_default_the_projected_forms(
    score: str, projected: bool
) -> None:
    heads = 3
    plain, scaled, default = (
        alignment(score, heads, projected, scaled=choice) for choice in (False, True, None)
    )
    memory, query = drawn(plain, score)
    packing = Packing(torch.tensor(LENGTHS))
    logits, results = [], []
    for module in (plain, scaled, default):
        context, weights = module(query, module.remember(memory, packing))
        first = weights[:LOOKS, :, :4].log()  # of the first sentence, which has four positions
        logits.append(first - first[..., :1])
        results.append(context)
    size = (HIDDEN if projected else QUERY) // heads
    torch.testing.assert_close(logits[1] * math.sqrt(size), logits[0], **EXACT)
    assert torch.equal(results[2], results[1 if projected else 0])
    assert not torch.allclose(results[0], results[1])


@torch.no_grad()
def test_unscaled_dot_is_torchs_attention_with_scale_one() -> None:
    module = alignment("dot")
    memory, query = drawn(module, "dot")
    packing = Packing(torch.tensor(LENGTHS))
    grid = packing.unpack(memory)[:, None]
    expected = F.scaled_dot_product_attention(
        query.view(len(LENGTHS), 1, LOOKS, QUERY), grid, grid, packing.visible, scale=1.0
    )
    context, _ = module(query, module.remember(memory, packing))
    torch.testing.assert_close(context, expected.flatten(0, 2), **EXACT)


def test_mlp_differs_from_additive_by_its_activation_alone() -> None:
    additive, mlp = alignment("additive"), alignment("mlp")
    mlp.load_state_dict(additive.state_dict())
    memory, query = drawn(mlp, "mlp")
    packing = Packing(torch.tensor(LENGTHS))
    # Where nothing is negative and little is large, tanh x and max(0, x) are both nearly x.
    for module in (additive, mlp):
        nn.init.constant_(module.scorer.from_key.bias, 1e-3)
        for part in (module.scorer.from_query, module.scorer.from_key):
            nn.init.uniform_(part.weight, 0, 1e-4)
    mlp.load_state_dict(additive.state_dict())
    bounded, linear = (
        module.scorer(query.abs().view(4, LOOKS, -1), module.remember(memory.abs(), packing).keys)
        for module in (additive, mlp)
    )
    torch.testing.assert_close(bounded, linear, rtol=1e-4, atol=1e-9)
    # Far out, additive scores stay below sum |v|, and those of an MLP grow with the input.
    far = 1e6 * query.abs().view(4, LOOKS, -1)
    keys = additive.remember(memory.abs(), packing).keys
    limit = additive.scorer.vector.abs().sum()
    assert additive.scorer(far, keys).abs().max() <= limit
    assert mlp.scorer(far, keys).abs().max() > 3 * limit


@every_score
@torch.no_grad()
def test_selected_sentences_go_on_as_they_were(score: str) -> None:
    module = alignment(score, 3)
    memory, query = drawn(module, score)
    whole = module.remember(memory, Packing(torch.tensor(LENGTHS)))
    expected, looks = (x.unflatten(0, (4, LOOKS)) for x in module(query, whole))
    grid = query.view(4, LOOKS, -1)
    first = whole.first(2)
    assert isinstance(first, AlignmentMemory)
    context, weights = module(grid[:2].flatten(0, 1), first)
    torch.testing.assert_close(context, expected[:2].flatten(0, 1), **EXACT)
    torch.testing.assert_close(weights, looks[:2].flatten(0, 1), **EXACT)
    assert first.values.data_ptr() == whole.values.data_ptr()
    assert len(whole.values) == 4
    keep = torch.tensor([3, 0, 0])
    whole.select(keep)
    context, weights = module(grid[keep].flatten(0, 1), whole)
    torch.testing.assert_close(context, expected[keep].flatten(0, 1), **EXACT)
    torch.testing.assert_close(weights, looks[keep].flatten(0, 1), **EXACT)
    assert len(first.values) == 2


@every_score
def test_what_does_not_depend_on_the_query_is_computed_once(score: str) -> None:
    module = alignment(score, projected=True)
    memory, query = drawn(module, score)
    remembered = module.remember(memory, Packing(torch.tensor(LENGTHS)))
    calls: list[str] = []
    for name, child in module.named_modules():
        if isinstance(child, nn.Linear):
            child.register_forward_hook(lambda *_, name=name: calls.append(name))
    for _ in range(2):
        module(query, remembered)
    once = {"value", "key", "scorer.from_key"}
    assert not once & set(calls)
    assert calls.count("query") == (0 if score in ("last", "mean") else 2)


def test_without_attention_the_query_does_not_matter_and_has_no_weights() -> None:
    for score in ("last", "mean"):
        assert list(alignment(score, 3).parameters()) == []
        projected = alignment(score, 3, projected=True)
        assert {name for name, _ in projected.named_parameters()} == {"value.weight", "value.bias"}
        memory, query = drawn(projected, score)
        remembered = projected.remember(memory, Packing(torch.tensor(LENGTHS)))
        context, _ = projected(query, remembered)
        assert torch.equal(context, projected(100 * query, remembered)[0])


def test_the_context_is_as_wide_as_what_is_mixed() -> None:
    assert AttentionOutput("additive", 5, 8, 12).context_size == 8
    assert AttentionOutput("additive", 5, 8, 12, 2, projected=True).context_size == 12


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("dot", 5, 8, 12), "the query has 5, the memory 8: project them"),
        (("cosine", 8, 8, 12), "no score is called 'cosine'; there are dot, bilinear"),
        (("dot", 8, 8, 12, 3), "num_heads 3 does not divide the context's size, 8"),
        (("bilinear", 5, 8, 12, 2), "num_heads 2 does not divide the query's size, 5"),
        (("additive", 5, 8, 11, 2), "num_heads 2 does not divide hidden_size, 11"),
        (("mean", 5, 8, 11, 2, True), "num_heads 2 does not divide the context's size, 11"),
    ],
)
def test_an_impossible_form_is_refused(words: tuple, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        AttentionOutput(*words)


def test_a_dot_product_of_unequal_sizes_works_projected() -> None:
    module = AttentionOutput("dot", 5, 8, 12, 2, projected=True)
    context, weights = module(
        torch.randn(3, 5), module.remember(torch.randn(6, 8), Packing.full(3, 2))
    )
    assert (context.shape, weights.shape) == ((3, 12), (3, 2, 2))


def test_every_parameter_starts_random_and_within_its_bound() -> None:
    torch.manual_seed(0)
    for score in SCORES:
        module = AttentionOutput(score, 64, 64, 128, 4, projected=True)
        for name, parameter in module.named_parameters():
            if name.endswith("bias"):
                assert not parameter.any()
                continue
            rows, columns = parameter.shape[-2:]
            bound = math.sqrt(6 / (rows + columns))
            if name == "scorer.vector":
                bound = 1 / math.sqrt(128 / 4)
            assert 0.95 * bound < parameter.abs().max() <= bound, name
