"""Show, Attend and Tell against the paper's equations, one image and one word at a time.

The reference is written from Xu et al. 2015 (arXiv 1502.03044), sections 3.1.2 and 4, in the order
of the released code: attention with the state of the step before, the gate beta of that state, the
LSTM, and then the word from the state, from what was found and from the word before.
"""

import math

import pytest
import torch
from torch import Tensor, nn

from landmark.core.errors import UserError
from landmark.layers.packing import Packing
from landmark.models.captioning.build import build_captioner
from landmark.models.captioning.show_attend_tell import ShowAttendTell, ShowAttendTellConfig
from landmark.tasks.captioning.recipes import PUBLISHED

PLACES, FEATURES, NARROW, WIDTH, WORDS = 6, 5, 7, 8, 13
CAPTIONS = [[1, 4, 5], [1, 6, 7, 8, 9, 10], [1], [1, 11, 12, 4, 6]]
CLOSE = {"rtol": 1e-5, "atol": 1e-5}
KINDS = {
    "soft": {},
    "hard": {"attention": "hard"},
    "mean": {"score": "mean"},
    "hard mean": {"attention": "hard", "score": "mean"},
    "deep": {"attention_layers": 2, "initial_layers": 3, "attention_size": 9},
    "without gate": {"gate": False},
}
kinds = pytest.mark.parametrize("kind", KINDS)


def small(seed: int = 0, **changes: object) -> ShowAttendTell:
    torch.manual_seed(seed)
    shape = {"encoder": None, "feature_size": FEATURES, "places": PLACES, "vocab_size": WORDS}
    sizes = {"embedding_size": NARROW, "hidden_size": WIDTH, "dropout": 0.0}
    model = ShowAttendTell(ShowAttendTellConfig(**(shape | sizes | changes)))
    with torch.no_grad():  # biases that do something, attention that is far from even
        for name, parameter in model.named_parameters():
            if "bias" in name:
                parameter.add_(0.3 * torch.randn_like(parameter))
            if name.endswith("scorer.vector"):
                parameter.mul_(8)
    return model.eval()


def images(count: int = len(CAPTIONS)) -> tuple[Tensor, Packing]:
    """The places of some images, packed."""
    generator = torch.Generator().manual_seed(1)
    grid = torch.randn(count, PLACES, FEATURES, generator=generator)
    return grid.flatten(0, 1), Packing.full(count, PLACES)


def packed(captions: list[list[int]] = CAPTIONS) -> tuple[Tensor, Packing]:
    lengths = torch.tensor([len(caption) for caption in captions])
    return torch.tensor([token for caption in captions for token in caption]), Packing(lengths)


class Paper:
    """One image, by the paper's equations, with a model's weights."""

    def __init__(self, model: ShowAttendTell, places: Tensor) -> None:
        self.model, self.a = model, places  # (L, D)
        self.cell = nn.LSTMCell(NARROW + FEATURES, WIDTH)
        with torch.no_grad():
            self.cell.weight_ih.copy_(model.cell.weight_ih)
            self.cell.weight_hh.copy_(model.cell.weight_hh)
            self.cell.bias_ih.copy_(model.cell.bias_ih)
            self.cell.bias_hh.zero_()
        mean = sum(places) / len(places)
        for layer in model.before_state:
            mean = (layer.weight @ mean + layer.bias).clamp(min=0)
        self.h = (model.first_hidden.weight @ mean + model.first_hidden.bias).tanh()
        self.c = (model.first_cell.weight @ mean + model.first_cell.bias).tanh()

    def attend(self) -> Tensor:
        """alpha = softmax(v tanh(W_a a + W_h h)). (L,)"""
        model, scorer = self.model, self.model.cross_attention.scorer
        if model.config.score == "mean":
            return torch.full((len(self.a),), 1 / len(self.a))
        scores = []
        for place in self.a:
            for layer in model.prepare:
                place = (layer.weight @ place + layer.bias).tanh()
            inner = scorer.from_key.weight @ place + scorer.from_key.bias
            inner = inner + scorer.from_query.weight @ self.h
            scores.append(scorer.vector[0] @ inner.tanh() + model.cross_attention.score_bias[0])
        exps = [math.exp(score) for score in scores]
        return torch.tensor([value / sum(exps) for value in exps])

    def say(self, word: int) -> tuple[Tensor, Tensor]:
        """The logits of the word after this one, and alpha."""
        model = self.model
        alpha = self.attend()
        z = sum(weight * place for weight, place in zip(alpha, self.a, strict=True))
        if model.config.attention == "hard" and model.config.score != "mean":
            z = self.a[int(alpha.argmax())]
        if model.config.gate:
            z = z * torch.sigmoid(model.gate.weight[0] @ self.h + model.gate.bias[0])
        embedded = model.target_embedding.weight[word]
        h, c = self.cell(torch.cat((embedded, z))[None], (self.h[None], self.c[None]))
        self.h, self.c = h[0], c[0]
        deep = model.from_hidden.weight @ self.h + model.from_hidden.bias
        deep = deep + model.from_context.weight @ z + model.from_context.bias + embedded
        return model.output.weight @ deep.tanh() + model.output.bias, alpha


@torch.no_grad()
def by_the_paper(model: ShowAttendTell, grid: Tensor) -> tuple[Tensor, list[Tensor]]:
    """Logits of all words of all captions, and each caption's attention. (N, V), (T, L)"""
    logits, looks = [], []
    for places, caption in zip(grid, CAPTIONS, strict=True):
        paper = Paper(model, places)
        told = [paper.say(word) for word in caption]
        logits += [each for each, _ in told]
        looks.append(torch.stack([alpha for _, alpha in told]))
    return torch.stack(logits), looks


@kinds
@torch.no_grad()
def test_words_and_attention_are_those_of_the_papers_equations(kind: str) -> None:
    model, (rows, packing) = small(**KINDS[kind]), images()
    told = model.decode(rows, packing, *packed())
    expected, looks = by_the_paper(model, packing.unpack(rows))
    torch.testing.assert_close(model.logits(told.hidden), expected, **CLOSE)
    for found, alpha in zip(told.weights, looks, strict=True):
        torch.testing.assert_close(found[: len(alpha), 0], alpha, **CLOSE)
        assert not found[len(alpha) :].any()
    if "mean" not in kind:
        assert max(alpha.max() for alpha in looks) > 2 / PLACES  # it does look somewhere


@torch.no_grad()
def test_entropy_is_that_of_each_captions_attention() -> None:
    model, (rows, packing) = small(), images()
    told = model.decode(rows, packing, *packed())
    _, looks = by_the_paper(model, packing.unpack(rows))
    expected = [torch.distributions.Categorical(probs=alpha).entropy().sum() for alpha in looks]
    torch.testing.assert_close(told.entropy, torch.stack(expected), **CLOSE)


@kinds
@torch.no_grad()
def test_step_by_step_says_what_teacher_forcing_does_in_several_rows_an_image(kind: str) -> None:
    model, (rows, packing) = small(**KINDS[kind]), images()
    captions = [CAPTIONS[1], [1, 9, 8, 7, 6, 5]]  # two rows of every image
    state = model.start(rows, packing, 2, 8)
    said = torch.stack(
        [
            model.step(torch.tensor([captions[row % 2][time] for row in range(8)]), state)
            for time in range(6)
        ],
        1,
    )  # (R, T, V)
    for row in range(8):
        places = packing.unpack(rows)[row // 2]
        target = packed([captions[row % 2]])
        hidden = model(places, Packing.full(1, PLACES), *target)
        torch.testing.assert_close(said[row], model.logits(hidden), **CLOSE)


@kinds
@torch.no_grad()
def test_rows_and_images_that_are_selected_go_on_as_they_were(kind: str) -> None:
    model, (rows, packing) = small(**KINDS[kind]), images()
    state = model.start(rows, packing, 2, 8)
    model.step(torch.tensor([1] * 8), state)
    model.step(torch.tensor([4, 5, 6, 7, 8, 9, 10, 11]), state)
    kept = torch.tensor([3, 1])  # images
    chosen = torch.tensor([7, 6, 2, 2])  # rows of image 3 exchanged, one row of image 1 twice
    state.select_rows(chosen)
    state.select_sentences(kept)
    said = model.step(torch.tensor([4, 5, 4, 6]), state)
    pairs = [(3, [1, 11, 4]), (3, [1, 10, 5]), (1, [1, 6, 4]), (1, [1, 6, 6])]
    for row, (image, caption) in enumerate(pairs):
        places = packing.unpack(rows)[image]
        hidden = model(places, Packing.full(1, PLACES), *packed([caption]))
        torch.testing.assert_close(said[row], model.logits(hidden)[-1], **CLOSE)


@kinds
@torch.no_grad()
def test_batch_mates_never_change_a_caption(kind: str) -> None:
    model, (rows, packing) = small(**KINDS[kind]), images()
    together = model(rows, packing, *packed())
    start = 0
    for places, caption in zip(packing.unpack(rows), CAPTIONS, strict=True):
        alone = model(places, Packing.full(1, PLACES), *packed([caption]))
        torch.testing.assert_close(together[start : start + len(caption)], alone, **CLOSE)
        start += len(caption)


def parameters(config: ShowAttendTellConfig) -> int:
    with torch.device("meta"):
        model = build_captioner(config)
    return sum(parameter.numel() for parameter in model.parameters())


def test_the_released_settings_have_as_many_parameters_as_the_released_codes_matrices() -> None:
    """Counted from the names in the code of the paper, at n=1800, m=512, D=512, V=10,000."""
    n, m, d, v = 1800, 512, 512, 10_000
    sizes = {
        "Wemb": v * m,
        "ff_init_1": d * d + d,
        "ff_state": d * n + n,
        "ff_memory": d * n + n,
        "decoder W, U, b": m * 4 * n + n * 4 * n + 4 * n,
        "decoder Wc": d * 4 * n,
        "Wc_att, b_att": d * d + d,
        "Wd_att": n * d,
        "W_att_1, b_att_1": d * d + d,
        "U_att, c_tt": d + 1,
        "W_sel, b_sel": n + 1,
        "ff_logit_lstm": n * m + m,
        "ff_logit_ctx": d * m + m,
        "ff_logit": m * v + v,
    }
    assert parameters(PUBLISHED) == sum(sizes.values()) == 35_333_450


def test_a_captioner_without_encoder_must_know_the_size_of_a_place() -> None:
    with pytest.raises(UserError, match=r"model.feature_size: give it, or an encoder"):
        build_captioner(ShowAttendTellConfig(encoder=None, vocab_size=9))
    with pytest.raises(UserError, match=r"model.vocab_size is not set"):
        build_captioner(ShowAttendTellConfig(encoder=None, feature_size=4, places=4))


def hard(seed: int = 0, **changes: object) -> ShowAttendTell:
    return small(seed, attention="hard", **changes).train()


def test_in_training_hard_attention_keeps_the_mean_in_half_of_the_steps() -> None:
    model, (rows, packing) = hard(), images()
    soft = small().eval()
    soft.load_state_dict(model.state_dict())
    state = model.start(rows, packing, 1, 8)
    kept, drawn = 0, 0
    torch.manual_seed(3)
    with torch.no_grad():
        mean, weights = soft.cross_attention(state.hidden, state.memory)
        for _ in range(400):
            found, chance = model._draw(state, mean, weights[:, 0])
            if not chance.any():
                kept += 1
                torch.testing.assert_close(found, mean)
            else:
                drawn += 1
                at = (found[:, None] == packing.unpack(rows)).all(2)  # (B, S) one of the places
                assert at.sum(1).tolist() == [1] * 4
                torch.testing.assert_close(chance, weights[:, 0][at].log())
    assert kept + drawn == 400
    assert abs(kept - 200) < 4 * 10  # four standard deviations of a fair coin


@torch.no_grad()
def test_hard_attentions_draws_follow_the_weights() -> None:
    model, (rows, packing) = hard(), images(2)
    state = model.start(rows, packing, 1, 8)
    context, weights = model.cross_attention(state.hidden, state.memory)
    counts, times = torch.zeros(2, PLACES), 0
    torch.manual_seed(4)
    for _ in range(4000):
        found, chance = model._draw(state, context, weights[:, 0])
        if chance.any():
            times += 1
            counts += (found[:, None] == packing.unpack(rows)).all(2)
    expected = times * weights[:, 0]
    assert weights.max() > 2 * weights.min()
    chi_square = ((counts - expected) ** 2 / expected).sum(1)
    assert (chi_square < 20.5).all(), chi_square  # of 5 degrees of freedom: p = 0.001


def test_a_draw_has_no_gradient_but_its_log_probability_has_that_of_the_score() -> None:
    """d log alpha_k / d score_j = [k = j] - alpha_j."""
    model, (rows, packing) = hard(), images(1)
    state = model.start(rows, packing, 1, 8)
    scores = torch.randn(1, PLACES, requires_grad=True)
    torch.manual_seed(1)
    for _ in range(20):
        context, chance = model._draw(state, state.memory.values[:, 0, 0], scores.softmax(1))
        if chance.any():
            break
    (gradient,) = torch.autograd.grad(chance.sum(), scores)
    (place,) = (context[0] == rows).all(1).nonzero()
    expected = -scores.softmax(1).detach()
    expected[0, place] += 1
    torch.testing.assert_close(gradient, expected)
    assert state.memory.values.grad_fn is None
    assert not context.requires_grad


def test_training_sees_dropout_and_evaluation_does_not() -> None:
    model, (rows, packing) = small(dropout=0.5), images()
    assert torch.equal(model(rows, packing, *packed()), model(rows, packing, *packed()))
    model.train()
    assert not torch.equal(model(rows, packing, *packed()), model(rows, packing, *packed()))
