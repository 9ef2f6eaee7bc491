import math
from dataclasses import replace

import pytest
import torch
from torch import nn

from landmark.core.configuration import Provenance, build
from landmark.core.errors import UserError
from landmark.layers.attention import MultiHeadAttention
from landmark.layers.packing import Packing
from landmark.layers.position import sinusoids
from landmark.models.transformer.translator import VARIANTS, TransformerConfig, Translator

VOCABULARY, WIDTH, INNER, HEADS, LAYERS = 29, 16, 24, 4, 3
SOURCE = [[5, 6, 7, 8, 9], [10, 11], [4, 5, 6, 4, 12, 13, 14]]
TARGET = [[1, 20, 21], [1, 22, 23, 24, 25, 26], [1]]
CLOSE = {"rtol": 1e-5, "atol": 1e-5}
norms = pytest.mark.parametrize("norm", ["post", "pre"])


def config(**changes: object) -> TransformerConfig:
    shape = {
        "vocab_size": VOCABULARY,
        "hidden_size": WIDTH,
        "inner_size": INNER,
        "num_heads": HEADS,
        "encoder_layers": LAYERS,
        "decoder_layers": LAYERS,
        "dropout": 0.0,
        "max_length": 32,
    }
    return build(TransformerConfig, shape | changes, Provenance("test"))


def translator(seed: int = 0, **changes: object) -> Translator:
    torch.manual_seed(seed)
    model = Translator(config(**changes))
    with torch.no_grad():  # norms and biases that do something
        for name, parameter in model.named_parameters():
            if "norm" in name or "bias" in name:
                parameter.add_(0.2 * torch.randn_like(parameter))
    return model


def packed(sentences: list[list[int]]) -> tuple[torch.Tensor, Packing]:
    lengths = torch.tensor([len(sentence) for sentence in sentences])
    return torch.tensor([token for sentence in sentences for token in sentence]), Packing(lengths)


def grid(sentences: list[list[int]]) -> tuple[torch.Tensor, torch.Tensor]:
    """Padded tokens, and which places are padding."""
    longest = max(map(len, sentences))
    tokens = torch.zeros(len(sentences), longest, dtype=torch.int64)
    is_padding = torch.ones(len(sentences), longest, dtype=torch.bool)
    for row, sentence in enumerate(sentences):
        tokens[row, : len(sentence)] = torch.tensor(sentence)
        is_padding[row, : len(sentence)] = False
    return tokens, is_padding


def copy_attention(ours: MultiHeadAttention, reference: nn.MultiheadAttention) -> None:
    reference.in_proj_weight.copy_(ours.input.weight)
    reference.in_proj_bias.copy_(ours.input.bias)
    reference.out_proj.load_state_dict(ours.output.state_dict())


@torch.no_grad()
def torch_stacks(model: Translator) -> tuple[nn.TransformerEncoder, nn.TransformerDecoder]:
    """torch's encoder and decoder with the same weights."""
    pre = model.config.norm == "pre"
    shape = (WIDTH, HEADS, INNER, 0.0)
    options = {"batch_first": True, "norm_first": pre}
    encoder = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(*shape, **options),
        LAYERS,
        norm=nn.LayerNorm(WIDTH) if pre else None,
        enable_nested_tensor=False,
    )
    decoder = nn.TransformerDecoder(
        nn.TransformerDecoderLayer(*shape, **options),
        LAYERS,
        norm=nn.LayerNorm(WIDTH) if pre else None,
    )
    for ours, its in zip(
        [*model.encoder, *model.decoder], [*encoder.layers, *decoder.layers], strict=True
    ):
        copy_attention(ours.attention, its.self_attn)
        its.linear1.load_state_dict(ours.feedforward.expand.state_dict())
        its.linear2.load_state_dict(ours.feedforward.contract.state_dict())
        its.norm1.load_state_dict(ours.around_attention.norm.state_dict())
        last = its.norm2
        if isinstance(its, nn.TransformerDecoderLayer):
            copy_attention(ours.cross_attention, its.multihead_attn)
            its.norm2.load_state_dict(ours.around_cross_attention.norm.state_dict())
            last = its.norm3
        last.load_state_dict(ours.around_feedforward.norm.state_dict())
    if pre:
        encoder.norm.load_state_dict(model.encoder_norm.state_dict())
        decoder.norm.load_state_dict(model.decoder_norm.state_dict())
    return encoder, decoder


def embed(table: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
    return table[tokens] * math.sqrt(WIDTH) + sinusoids(tokens.shape[1], WIDTH)


@norms
@pytest.mark.parametrize("tied", ["all", "none"])
def test_encoder_and_decoder_equal_torchs(norm: str, tied: str) -> None:
    model = translator(norm=norm, tied=tied)
    encoder, decoder = torch_stacks(model)
    source, source_is_padding = grid(SOURCE)
    target, target_is_padding = grid(TARGET)
    longest = target.shape[1]
    memory = encoder(
        embed(model.source_embedding.weight, source), src_key_padding_mask=source_is_padding
    )
    expected = decoder(
        embed(model.target_embedding.weight, target),
        memory,
        tgt_mask=torch.ones(longest, longest, dtype=torch.bool).triu(1),
        tgt_key_padding_mask=target_is_padding,
        memory_key_padding_mask=source_is_padding,
    )
    encoded = model.encode(*packed(SOURCE))
    torch.testing.assert_close(encoded, memory[~source_is_padding], **CLOSE)
    hidden = model(*packed(SOURCE), *packed(TARGET))
    torch.testing.assert_close(hidden, expected[~target_is_padding], **CLOSE)
    logits = expected[~target_is_padding] @ model.output.weight.T
    torch.testing.assert_close(model.logits(hidden), logits, **CLOSE)


@norms
def test_gradients_equal_torchs(norm: str) -> None:
    model = translator(norm=norm)
    encoder, decoder = torch_stacks(model)
    table = model.target_embedding.weight.detach().clone().requires_grad_()
    source, source_is_padding = grid(SOURCE)
    target, target_is_padding = grid(TARGET)
    longest = target.shape[1]
    expected = decoder(
        embed(table, target),
        encoder(embed(table, source), src_key_padding_mask=source_is_padding),
        tgt_mask=torch.ones(longest, longest, dtype=torch.bool).triu(1),
        memory_key_padding_mask=source_is_padding,
    )[~target_is_padding]
    direction = torch.linspace(-1, 1, expected.numel()).view_as(expected)
    (expected * direction).sum().backward()
    (model(*packed(SOURCE), *packed(TARGET)) * direction).sum().backward()
    torch.testing.assert_close(model.target_embedding.weight.grad, table.grad, **CLOSE)
    first, its = model.encoder[0], encoder.layers[0]
    torch.testing.assert_close(
        first.attention.input.weight.grad, its.self_attn.in_proj_weight.grad, **CLOSE
    )
    torch.testing.assert_close(
        first.feedforward.expand.weight.grad, its.linear1.weight.grad, **CLOSE
    )


@norms
@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
def test_padding_and_batch_mates_never_change_a_sentence(norm: str, positions: str) -> None:
    model = translator(norm=norm, positions=positions).eval()
    together = model(*packed(SOURCE), *packed(TARGET))
    start = 0
    for source, target in zip(SOURCE, TARGET, strict=True):
        alone = model(*packed([source]), *packed([target]))
        torch.testing.assert_close(together[start : start + len(target)], alone, **CLOSE)
        start += len(target)
    backwards = model(*packed(SOURCE[::-1]), *packed(TARGET[::-1]))
    torch.testing.assert_close(backwards[: len(TARGET[-1])], together[-len(TARGET[-1]) :], **CLOSE)


def test_the_decoder_does_not_see_the_target_ahead() -> None:
    model = translator().eval()
    before = model(*packed(SOURCE), *packed(TARGET))
    changed = [list(sentence) for sentence in TARGET]
    changed[1][3] = 4
    moved = (model(*packed(SOURCE), *packed(changed)) - before).abs().amax(1)
    first = len(TARGET[0])
    assert moved[: first + 3].max() < 1e-6
    assert (moved[first + 3 : first + 6] > 1e-4).all()
    assert moved[first + 6 :].max() < 1e-6


def test_the_order_of_the_source_matters() -> None:
    model = translator().eval()
    swapped = [list(reversed(sentence)) for sentence in SOURCE]
    before = model(*packed(SOURCE), *packed(TARGET))
    assert (model(*packed(swapped), *packed(TARGET)) - before).abs().max() > 1e-3


def count(shape: TransformerConfig, **changes: object) -> int:
    """Trainable parameters of the built module; the meta device holds no numbers."""
    with torch.device("meta"):
        model = Translator(replace(shape, **changes))
    assert {parameter.device.type for parameter in model.parameters()} == {"meta"}
    return sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)


def test_options_change_the_parameters_as_they_should() -> None:
    base = VARIANTS["base"]
    matrix, width = 37_000 * 512, 512
    tied = count(base, vocab_size=37_000)
    assert count(base, vocab_size=37_000, tied="output") == tied + matrix
    assert count(base, vocab_size=37_000, tied="none") == tied + 2 * matrix
    assert count(base, vocab_size=37_000, norm="pre") == tied + 2 * 2 * width
    assert count(base, vocab_size=37_000, positions="learned") == tied + 1024 * width


def test_marians_settings_are_off_unless_asked_for() -> None:
    usual, marian = translator(), translator(output_bias=True, activation="swish")
    assert usual.output.bias is None
    names = {name for name, _ in marian.named_parameters()}
    assert names - {name for name, _ in usual.named_parameters()} == {"output.bias"}
    assert not Translator(config(output_bias=True)).output.bias.any()


def test_tied_matrices_are_one_tensor_and_untied_ones_are_not() -> None:
    everything = translator(tied="all")
    assert everything.source_embedding.weight is everything.output.weight
    assert everything.target_embedding.weight is everything.output.weight
    output = translator(tied="output")
    assert output.target_embedding.weight is output.output.weight
    assert output.source_embedding.weight is not output.output.weight
    nothing = translator(tied="none")
    matrices = (nothing.source_embedding, nothing.target_embedding, nothing.output)
    assert len({id(matrix.weight) for matrix in matrices}) == 3


def test_embeddings_are_drawn_with_variance_one_over_the_width() -> None:
    torch.manual_seed(0)
    model = Translator(config(vocab_size=1000, hidden_size=64, tied="none"))
    for embedding in (model.source_embedding, model.target_embedding):
        assert embedding.weight.std().item() == pytest.approx(64**-0.5, rel=0.02)
        assert embedding.weight.mean().item() == pytest.approx(0, abs=0.005)
    bound = math.sqrt(6 / (1000 + 64))
    assert 0.99 * bound < model.output.weight.abs().max() <= bound


@norms
@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_activation_checkpointing_gives_the_same_gradients(norm: str, dropout: float) -> None:
    gradients = []
    for recompute in (False, True):
        model = translator(norm=norm, dropout=dropout, activation_checkpointing=recompute).train()
        torch.manual_seed(5)
        hidden = model(*packed(SOURCE), *packed(TARGET))
        hidden.square().mul(torch.linspace(0, 1, WIDTH)).sum().backward()
        gradients.append([hidden.detach(), *(p.grad for p in model.parameters())])
    for kept, recomputed in zip(*gradients, strict=True):
        torch.testing.assert_close(recomputed, kept)


def test_activation_checkpointing_keeps_fewer_tensors_for_the_backward_pass() -> None:
    kept = []
    for recompute in (False, True):
        model = translator(activation_checkpointing=recompute).train()
        saved = []

        def note(tensor: torch.Tensor, saved: list[int] = saved) -> torch.Tensor:
            saved.append(tensor.numel())
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
            model(*packed(SOURCE), *packed(TARGET))
        kept.append(sum(saved))
    assert kept[1] < kept[0] / 3


def test_dropout_is_on_in_training_and_off_in_evaluation() -> None:
    model = translator(dropout=0.3)
    inputs = (*packed(SOURCE), *packed(TARGET))
    model.train()
    assert not torch.equal(model(*inputs), model(*inputs))
    model.eval()
    assert torch.equal(model(*inputs), model(*inputs))


def test_dropout_falls_on_the_embedded_input() -> None:
    model = translator(dropout=0.5).train()
    seen = []
    model.encoder[0].register_forward_pre_hook(lambda module, inputs: seen.append(inputs[0]))
    tokens, packing = packed(SOURCE)
    model.encode(tokens, packing)
    model.eval()
    model.encode(tokens, packing)
    dropped, whole = seen
    assert ((dropped == 0) | torch.isclose(dropped, 2 * whole, rtol=1e-4)).all()
    assert 0.3 < (dropped == 0).double().mean().item() < 0.7


def test_word_dropout_leaves_the_place_of_a_word_and_nothing_else() -> None:
    model = translator(word_dropout=0.3).train()
    seen: dict[str, list[torch.Tensor]] = {"encoder": [], "decoder": []}
    for name, rows in seen.items():
        blocks = getattr(model, name)
        blocks[0].register_forward_pre_hook(lambda _, inputs, rows=rows: rows.append(inputs[0]))
    tokens, packing = packed([[5] * 30 for _ in range(40)])
    model(tokens, packing, tokens, packing)
    model.eval()
    model(tokens, packing, tokens, packing)
    places = sinusoids(32, WIDTH)[packing.positions]
    for dropped, whole in seen.values():
        is_out = torch.isclose(dropped, places, rtol=1e-5, atol=1e-6).all(1)
        assert torch.equal(dropped[~is_out], whole[~is_out])
        assert 0.25 < is_out.double().mean().item() < 0.35
    assert not torch.equal(seen["encoder"][0], seen["decoder"][0])


def test_heads_must_divide_the_width() -> None:
    with pytest.raises(UserError, match="num_heads 5 does not divide hidden_size 16"):
        config(num_heads=5)


def test_a_model_without_a_vocabulary_is_refused() -> None:
    with pytest.raises(UserError, match="vocab_size"):
        Translator(config(vocab_size=None))


# Cached decoding against the plain forward pass


def uncached(model: Translator, sources: list[list[int]], said: list[list[int]]) -> torch.Tensor:
    """Logits after the last token of each row, computed from nothing."""
    hidden = model(*packed(sources), *packed(said))
    ends = torch.tensor([len(row) for row in said]).cumsum(0) - 1
    return model.logits(hidden[ends])


@norms
@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
@pytest.mark.parametrize("beams", [1, 3])
@torch.no_grad()
def test_cached_steps_equal_the_forward_pass(norm: str, positions: str, beams: int) -> None:
    model = translator(norm=norm, positions=positions).eval()
    state = model.start(*packed(SOURCE), beams, 10)
    sources = [sentence for sentence in SOURCE for _ in range(beams)]
    said: list[list[int]] = [[] for _ in sources]
    random = torch.Generator().manual_seed(3)
    for _ in range(6):
        tokens = torch.randint(VOCABULARY, (len(sources),), generator=random)
        for row, token in zip(said, tokens.tolist(), strict=True):
            row.append(token)
        torch.testing.assert_close(
            model.step(tokens, state), uncached(model, sources, said), **CLOSE
        )


@torch.no_grad()
def test_what_is_unsaid_is_never_chosen_and_changes_nothing_else() -> None:
    model, muted = (
        translator(output_bias=True, suppress_tokens=suppress_tokens).eval()
        for suppress_tokens in ((), (0, 7))
    )
    tokens = torch.tensor([1, 1, 1])
    logits, without = (m.step(tokens, m.start(*packed(SOURCE), 1, 5)) for m in (model, muted))
    assert (without[:, [0, 7]] == -torch.inf).all()
    others = [number for number in range(VOCABULARY) if number not in (0, 7)]
    torch.testing.assert_close(without[:, others], logits[:, others], rtol=0, atol=0)
    torch.testing.assert_close(
        muted.logits(muted(*packed(SOURCE), *packed(TARGET))),
        model.logits(model(*packed(SOURCE), *packed(TARGET))),
        rtol=0,
        atol=0,
    )


@norms
@torch.no_grad()
def test_cached_steps_stay_right_after_reordering_and_dropping(norm: str) -> None:
    model = translator(norm=norm).eval()
    beams = 2
    state = model.start(*packed(SOURCE), beams, 12)
    numbers = [0, 0, 1, 1, 2, 2]  # the sentence of each row
    said: list[list[int]] = [[] for _ in numbers]
    random = torch.Generator().manual_seed(4)

    def say(steps: int) -> None:
        for _ in range(steps):
            tokens = torch.randint(VOCABULARY, (len(numbers),), generator=random)
            for row, token in zip(said, tokens.tolist(), strict=True):
                row.append(token)
            expected = uncached(model, [SOURCE[number] for number in numbers], said)
            torch.testing.assert_close(model.step(tokens, state), expected, **CLOSE)

    def select(rows: list[int]) -> None:
        nonlocal numbers, said
        state.select_rows(torch.tensor(rows))
        numbers, said = [numbers[row] for row in rows], [list(said[row]) for row in rows]

    say(2)
    select([1, 0, 3, 3, 4, 5])  # rows change places within their sentence, or repeat
    say(2)
    state.select_sentences(torch.tensor([0, 2]))  # the second sentence is done
    select([0, 0, 5, 4])
    say(2)
    select([1, 0, 2, 2])
    state.select_sentences(torch.tensor([1]))  # only the last is left
    select([3, 2])
    say(2)


@torch.no_grad()
def test_decoding_beyond_the_models_length_is_an_error_not_garbage() -> None:
    model = translator(max_length=8).eval()
    state = model.start(*packed([[5, 6]]), 1, 100)
    for _ in range(8):
        model.step(torch.tensor([1]), state)
    with pytest.raises(IndexError):
        model.step(torch.tensor([1]), state)
