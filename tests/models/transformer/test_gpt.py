"""GPT against OpenAI's two networks as transformers has them, and its steps against reading."""

import pytest
import torch
import transformers
from torch import Tensor, nn

from landmark.core.configuration import Provenance, build
from landmark.core.errors import UserError
from landmark.layers.packing import Packing
from landmark.models.transformer.gpt import GPT, VARIANTS, GPTConfig

VOCABULARY, WIDTH, HEADS, LAYERS, CONTEXT = 23, 24, 3, 2, 16
CLOSE = {"rtol": 1e-9, "atol": 1e-9}
both_norms = pytest.mark.parametrize("norm", ["post", "pre"])


def config(**changes: object) -> GPTConfig:
    shape = {
        "vocab_size": VOCABULARY,
        "hidden_size": WIDTH,
        "num_heads": HEADS,
        "num_layers": LAYERS,
        "max_length": CONTEXT,
    }
    return build(GPTConfig, shape | changes, Provenance("test"))


def build_model(**changes: object) -> GPT:
    """A model with large random weights and biases of every kind, in double precision."""
    torch.manual_seed(0)
    model = GPT(config(**changes)).double().eval()
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.3)
    return model


def rows_of(*lengths: int) -> list[list[int]]:
    generator = torch.Generator().manual_seed(3)
    return [torch.randint(VOCABULARY, (n,), generator=generator).tolist() for n in lengths]


def packed(rows: list[list[int]]) -> tuple[Tensor, Packing]:
    tokens = torch.tensor([token for row in rows for token in row])
    return tokens, Packing(torch.tensor([len(row) for row in rows]))


@torch.no_grad()
def last_logits(model: GPT, rows: list[list[int]]) -> Tensor:
    """Of what comes after each row, read alone from its beginning. (R, V)"""
    return torch.stack([model.logits(model(*packed([row])))[-1] for row in rows])


@torch.no_grad()
def copied(model: GPT) -> nn.Module:
    """The network of transformers that has the model's shape, with its weights."""
    shape = {
        "vocab_size": VOCABULARY,
        "n_positions": CONTEXT,
        "n_embd": WIDTH,
        "n_layer": LAYERS,
        "n_head": HEADS,
        "layer_norm_epsilon": 1e-5,
    }
    is_first = model.config.norm == "post"
    if is_first:
        theirs = transformers.OpenAIGPTLMHeadModel(transformers.OpenAIGPTConfig(**shape))
        embedding, position = theirs.transformer.tokens_embed, theirs.transformer.positions_embed
    else:
        theirs = transformers.GPT2LMHeadModel(transformers.GPT2Config(**shape))
        embedding, position = theirs.transformer.wte, theirs.transformer.wpe
        theirs.transformer.ln_f.load_state_dict(model.norm.state_dict())
    theirs = theirs.double().eval()
    embedding.weight.copy_(model.embedding.weight)
    position.weight.copy_(model.position.weight)
    for block, ours in zip(theirs.transformer.h, model.blocks, strict=True):
        for norm, our_norm in (
            (block.ln_1, ours.around_attention.norm),
            (block.ln_2, ours.around_feedforward.norm),
        ):
            norm.load_state_dict(our_norm.state_dict())
        for layer, our_layer in (
            (block.attn.c_attn, ours.attention.input),
            (block.attn.c_proj, ours.attention.output),
            (block.mlp.c_fc, ours.feedforward.expand),
            (block.mlp.c_proj, ours.feedforward.contract),
        ):
            layer.weight.copy_(our_layer.weight.T)  # they multiply from the other side
            layer.bias.copy_(our_layer.bias)
    return theirs


@both_norms
@torch.no_grad()
def test_logits_equal_those_of_transformers(norm: str) -> None:
    model = build_model(norm=norm)
    theirs = copied(model)
    rows = rows_of(9, 1, CONTEXT)
    logits = model.logits(model(*packed(rows))).split([len(row) for row in rows])
    for row, ours in zip(rows, logits, strict=True):
        expected = theirs(torch.tensor([row])).logits[0]
        assert expected.std() > 0.3
        # Their attention rounds somewhere to single precision.
        torch.testing.assert_close(ours, expected, rtol=1e-4, atol=1e-4)


@both_norms
@torch.no_grad()
def test_greedy_tokens_equal_those_of_transformers(norm: str) -> None:
    model = build_model(norm=norm)
    rows = rows_of(5, 5)
    prompt = torch.tensor(rows)
    theirs = copied(model).generate(
        prompt,
        attention_mask=torch.ones_like(prompt),
        max_new_tokens=10,
        min_new_tokens=10,
        do_sample=False,
        pad_token_id=0,
    )[:, 5:]
    logits, state = model.start(*packed(rows), room=10)
    said = []
    for _ in range(10):
        said.append(logits.argmax(-1))
        logits = model.step(said[-1], state)
    assert torch.stack(said, 1).tolist() == theirs.tolist()


@both_norms
@pytest.mark.parametrize("lengths", [(7,), (4, 4), (5, 1, 8, 3)])
@torch.no_grad()
def test_writing_on_equals_reading_all_again(norm: str, lengths: tuple[int, ...]) -> None:
    """With biases of all kinds: those of keys read and of keys said must be the same."""
    model, rows = build_model(norm=norm), rows_of(*lengths)
    logits, state = model.start(*packed(rows), room=8)
    for step in range(8):
        torch.testing.assert_close(logits, last_logits(model, rows), **CLOSE)
        tokens = [(3 * step + row) % VOCABULARY for row in range(len(rows))]
        rows = [[*row, token] for row, token in zip(rows, tokens, strict=True)]
        logits = model.step(torch.tensor(tokens), state)


@both_norms
@torch.no_grad()
def test_rows_are_dropped_reordered_and_repeated(norm: str) -> None:
    model, rows = build_model(norm=norm), rows_of(6, 2, 4)
    _, state = model.start(*packed(rows), room=6)
    for chosen in ([2, 0], [1, 1, 0, 1]):
        rows = [[*rows[row], number] for number, row in enumerate(chosen)]
        state.select_rows(torch.tensor(chosen))
        logits = model.step(torch.arange(len(chosen)), state)
        torch.testing.assert_close(logits, last_logits(model, rows), **CLOSE)


@pytest.mark.parametrize("context", [2, 7, CONTEXT])
@torch.no_grad()
def test_a_full_window_slides_to_its_newer_half(context: int) -> None:
    """Each row when it is itself full, whatever the others do."""
    model = build_model(max_length=context)
    rows = rows_of(context, 1, max(1, context - 2))
    logits, state = model.start(*packed(rows), room=100)
    for step in range(3 * context):
        torch.testing.assert_close(logits, last_logits(model, rows), **CLOSE)
        tokens = [(5 * step + row) % VOCABULARY for row in range(3)]
        logits = model.step(torch.tensor(tokens), state)
        rows = [
            [*(row if len(row) < context else row[-(context // 2) :]), token]
            for row, token in zip(rows, tokens, strict=True)
        ]
        assert state.lengths.tolist() == [len(row) for row in rows]


@torch.no_grad()
def test_memory_does_not_grow_with_the_text() -> None:
    model = build_model()
    _, state = model.start(*packed(rows_of(3)), room=10**9)
    for step in range(4 * CONTEXT):
        model.step(torch.tensor([step % VOCABULARY]), state)
        held = [state.tokens, *(part for c in state.caches for part in (c._keys, c._values))]
        assert sum(part.numel() for part in held) == CONTEXT * (1 + 2 * LAYERS * WIDTH)


@torch.no_grad()
def test_room_is_made_for_what_is_asked_and_no_more() -> None:
    model = build_model(max_length=1000)
    _, state = model.start(*packed(rows_of(3, 5)), room=7)
    assert state.tokens.shape == (2, 12)


@both_norms
def test_no_token_sees_a_later_one_or_another_row(norm: str) -> None:
    model, rows = build_model(norm=norm), rows_of(6, 5)
    before = model(*packed(rows))
    rows[0][3] = (rows[0][3] + 1) % VOCABULARY
    moved = (model(*packed(rows)) - before).abs().amax(1)
    assert (moved[3:6] > 1e-3).all()
    assert moved[:3].max() < 1e-12
    assert moved[6:].max() < 1e-12


def counted(name: str) -> int:
    """Weights of a variant by the papers' layout, one matrix at a time."""
    shape = VARIANTS[name]
    width = shape.hidden_size
    attention = 4 * (width * width + width)
    feedforward = width * 4 * width + 4 * width + 4 * width * width + width
    block = attention + feedforward + 2 * 2 * width
    last_norm = 2 * width if shape.norm == "pre" else 0
    tables = (shape.vocab_size or 0) * width + shape.max_length * width
    return tables + shape.num_layers * block + last_norm


@pytest.mark.parametrize("name", VARIANTS)
def test_every_variant_has_the_papers_parameters(name: str) -> None:
    with torch.device("meta"):
        model = GPT(VARIANTS[name])
    count = sum(parameter.numel() for parameter in model.parameters())
    assert count == counted(name)


def test_fresh_weights_spread_as_the_papers_say() -> None:
    torch.manual_seed(0)
    model = GPT(config(hidden_size=96, num_layers=8, vocab_size=500))
    block = model.blocks[3]
    assert model.embedding.weight.std().item() == pytest.approx(0.02, rel=0.05)
    assert block.feedforward.expand.weight.std().item() == pytest.approx(0.02, rel=0.05)
    for layer in (block.feedforward.contract, block.attention.output):
        assert layer.weight.std().item() == pytest.approx(0.02 / 4, rel=0.05)  # sqrt(2 * 8)
        assert not layer.bias.any()
    first = GPT(config(hidden_size=96, norm="post")).blocks[0].feedforward.contract
    assert first.weight.std().item() == pytest.approx(0.02, rel=0.05)


def test_recomputing_activations_gives_the_same_gradients() -> None:
    gradients = []
    for recomputes in (False, True):
        model = build_model(
            activation_checkpointing=recomputes, dropout=0.0, attention_dropout=0.0
        ).train()
        model.logits(model(*packed(rows_of(6, 5)))).square().sum().backward()
        gradients.append([parameter.grad for parameter in model.parameters()])
    for plain, again in zip(*gradients, strict=True):
        torch.testing.assert_close(plain, again)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"num_heads": 5}, "num_heads 5 does not divide hidden_size 24"),
        ({"max_length": 0}, "max_length"),
        ({"norm": "middle"}, "norm"),
        ({"hiden_size": 8}, "did you mean hidden_size"),
    ],
)
def test_a_shape_that_cannot_be_is_refused(changes: dict[str, object], said: str) -> None:
    with pytest.raises(UserError, match=said):
        config(**changes)


def test_a_model_without_a_vocabulary_is_refused() -> None:
    with pytest.raises(UserError, match=r"model\.vocab_size is not set"):
        GPT(config(vocab_size=None))
