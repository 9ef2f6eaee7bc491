"""Losses of captioning by hand: doubly stochastic attention, and REINFORCE of hard attention."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from landmark.data.batch import WritingBatch
from landmark.data.captions.pairs import collate_captions
from landmark.layers.packing import Packing
from landmark.models.captioning.build import build_captioner
from landmark.models.captioning.captioner import Captioner
from landmark.models.captioning.show_attend_tell import ShowAttendTellConfig
from landmark.models.captioning.transformer import CaptionTransformerConfig
from landmark.models.convolutional.resnet9 import ResNet9Config
from landmark.objectives.captioning import CaptioningConfig, CaptioningObjective, penalty

PLACES, FEATURES, WORDS = 3, 4, 12
CAPTIONS = [[4, 5, 6], [7], []]
PLAIN = {"encoder": None, "feature_size": FEATURES, "places": PLACES, "vocab_size": WORDS}


def show_attend_tell(**changes: object) -> Captioner:
    torch.manual_seed(0)
    sizes = {"embedding_size": 5, "hidden_size": 6, "dropout": 0.0}
    model = build_captioner(ShowAttendTellConfig(**(PLAIN | sizes | changes)))
    with torch.no_grad():
        if model.config.score != "mean":
            model.cross_attention.scorer.vector.mul_(4)
    return model.train()


def transformer(**changes: object) -> Captioner:
    torch.manual_seed(0)
    sizes = {"hidden_size": 8, "inner_size": 8, "num_heads": 2, "dropout": 0.0}
    return build_captioner(CaptionTransformerConfig(**(PLAIN | sizes | changes))).train()


def batch(captions: list[list[int]] = CAPTIONS) -> WritingBatch:
    generator = torch.Generator().manual_seed(1)
    rows = torch.randn(len(captions) * PLACES, FEATURES, generator=generator)
    return collate_captions(rows, Packing.full(len(captions), PLACES), captions, 1, 2)


def given_to(batch: WritingBatch) -> tuple[Tensor, Packing, Tensor, Packing]:
    return batch.source, batch.source_packing, batch.target, batch.target_packing


def loss_of(model: Captioner, given: WritingBatch, **config: float) -> Tensor:
    (turn,) = CaptioningObjective(model, CaptioningConfig(**config)).turns(given, 1)
    assert turn.weight == given.num_tokens
    return turn.loss_sum


def cross_entropy(model: Captioner, given: WritingBatch, smoothing: float = 0.0) -> Tensor:
    hidden = model(*given_to(given))
    return F.cross_entropy(
        model.logits(hidden), given.labels, label_smoothing=smoothing, reduction="sum"
    )


def test_the_penalty_by_hand() -> None:
    first = [[0.5, 0.25, 0.25], [0.5, 0.5, 0.0]]  # sums 1, 0.75, 0.25
    second = [[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]  # one word: 1, 0, 0
    weights = torch.tensor([first, second])[:, :, None]  # (B, T, 1, S)
    assert penalty(weights).item() == pytest.approx(0.25**2 + 0.75**2 + 1 + 1)


@pytest.mark.parametrize(("weight", "smoothing"), [(1.0, 0.0), (0.3, 0.1), (0.0, 0.0)])
def test_the_loss_is_cross_entropy_and_the_penalty(weight: float, smoothing: float) -> None:
    model, given = show_attend_tell(), batch()
    with torch.no_grad():
        told = model.decode(*given_to(given))
    extra = 0.0
    for caption, weights in zip(CAPTIONS, told.weights, strict=True):
        for place in range(PLACES):
            looked = sum(float(weights[t, 0, place]) for t in range(len(caption) + 1))
            extra += (1 - looked) ** 2
    expected = cross_entropy(model, given, smoothing) + weight * extra
    found = loss_of(model, given, attention_penalty=weight, label_smoothing=smoothing)
    torch.testing.assert_close(found, expected)
    assert extra > 1


@pytest.mark.parametrize(
    "model", [transformer(), show_attend_tell(score="mean"),
              show_attend_tell(score="mean", attention="hard")],
    ids=["transformer", "mean", "hard mean"],
)  # fmt: skip
def test_without_attention_of_its_own_there_is_cross_entropy_alone(model: Captioner) -> None:
    given = batch()
    torch.testing.assert_close(loss_of(model, given), cross_entropy(model, given))


@pytest.mark.parametrize(
    ("made", "config", "told"),
    [
        (transformer, {}, ""),
        (show_attend_tell, {}, "attention penalty"),
        (show_attend_tell, {"attention_penalty": 0.0}, ""),
        (show_attend_tell, {"label_smoothing": 0.2}, "label smoothing 0.2, attention penalty"),
        (lambda: show_attend_tell(attention="hard"), {}, "attention penalty, REINFORCE"),
        (lambda: show_attend_tell(score="mean"), {}, ""),
        (lambda: show_attend_tell(score="mean", attention="hard"), {}, ""),
    ],
)
def test_what_keeps_the_training_loss_from_being_validations_is_told(made, config, told) -> None:
    its = CaptioningObjective(made(), CaptioningConfig(**config))
    assert its.loss_includes == told


def test_validation_is_cross_entropy_alone() -> None:
    for model in (show_attend_tell(), show_attend_tell(attention="hard"), transformer()):
        its = CaptioningObjective(model.eval(), CaptioningConfig(label_smoothing=0.3))
        loss, count = its.measure(batch())["loss"]
        assert count == batch().num_tokens == 7
        assert loss == pytest.approx(cross_entropy(model, batch()).item(), rel=1e-5)


def drawing(monkeypatch: pytest.MonkeyPatch, places: list[int]) -> None:
    """Let every step of hard attention draw, and draw these places."""
    monkeypatch.setattr(torch, "rand", lambda *size, **options: torch.tensor(0.9))
    left = iter(places)
    monkeypatch.setattr(
        torch, "multinomial", lambda weights, n: torch.tensor([[next(left)] for _ in weights])
    )


def test_reinforces_gradient_is_that_of_a_hand_computation(monkeypatch) -> None:
    """One image, one step. With scores e, weights a, draw k, reward R and baseline b:

    d loss / d e_j = sum_i -2 (1 - a_i) a_i ([i=j] - a_j)       the penalty
                     - lambda_r (R - b) ([k=j] - a_j)           REINFORCE
                     + lambda_e a_j (log a_j + H)               minus the entropy
    """
    model, given = show_attend_tell(attention="hard"), batch([[]])
    settings = CaptioningConfig(reinforce_weight=0.7, entropy_weight=0.05)
    its = CaptioningObjective(model, settings)
    its.load_state_dict({"baseline": torch.tensor(-3.5)})
    drawing(monkeypatch, [2, 2])
    scorer, rows = model.cross_attention.scorer, given.source
    with torch.no_grad():
        state = model.start(rows, given.source_packing, 1, 1)
        inner = (rows @ scorer.from_key.weight.T + scorer.from_key.bias
                 + state.hidden @ scorer.from_query.weight.T).tanh()  # fmt: skip
        a = (inner @ scorer.vector[0]).softmax(0).tolist()
        reward = -float(cross_entropy(model, given))  # of place 2, too
    entropy = -sum(p * math.log(p) for p in a)
    by_score = []
    for j in range(PLACES):
        doubly = sum(-2 * (1 - a[i]) * a[i] * ((i == j) - a[j]) for i in range(PLACES))
        choice = -0.7 * (reward - -3.5) * ((j == 2) - a[j])
        by_score.append(doubly + choice + 0.05 * a[j] * (math.log(a[j]) + entropy))
    expected = sum(g * row for g, row in zip(by_score, inner, strict=True))
    (turn,) = its.turns(given, 1)
    turn.loss_sum.backward()
    torch.testing.assert_close(scorer.vector.grad[0], expected, rtol=1e-4, atol=1e-6)
    assert expected.abs().max() > 0.01


def test_the_hard_loss_is_minus_equation_11(monkeypatch) -> None:
    model, given = show_attend_tell(attention="hard"), batch()
    draws = [0, 1, 2, 1, 0, 2, 1]
    drawing(monkeypatch, draws)
    with torch.no_grad():
        told = model.decode(*given_to(given))
    drawing(monkeypatch, draws)
    with torch.no_grad():
        words = F.cross_entropy(model.logits(told.hidden), given.labels, reduction="none")
    # Step by step, of the captions that go on; the longest is first already.
    drawn = [[draws[0], draws[3], draws[5], draws[6]], [draws[1], draws[4]], [draws[2]]]
    chosen, entropy = 0.0, 0.0
    for row, (places, nll) in enumerate(zip(drawn, words.split([4, 2, 1]), strict=True)):
        alphas = told.weights[row, : len(places), 0]
        log_chance = sum(float(alphas[t, k].log()) for t, k in enumerate(places))
        chosen += (-float(nll.sum()) - -5.0) * log_chance
        entropy -= float((alphas * alphas.log()).sum())
    doubly = float(penalty(told.weights))
    expected = float(words.sum()) + doubly - 0.1 * chosen - 0.002 * entropy
    its = CaptioningObjective(model, CaptioningConfig())
    its.load_state_dict({"baseline": torch.tensor(-5.0)})
    (turn,) = its.turns(given, 1)
    assert turn.loss_sum.item() == pytest.approx(expected, rel=1e-5)


def test_the_baseline_moves_by_a_tenth_and_is_kept(monkeypatch) -> None:
    model, given = show_attend_tell(attention="hard"), batch()
    its = CaptioningObjective(model, CaptioningConfig())
    assert its.state_dict()["baseline"].item() == 0
    expected = 0.0
    for _ in range(3):
        monkeypatch.setattr(torch, "rand", lambda *size, **options: torch.tensor(0.1))  # the mean
        reward = -cross_entropy(model, given).item() / len(CAPTIONS)
        list(its.turns(given, 1))
        expected = 0.9 * expected + 0.1 * reward
        assert its.state_dict()["baseline"].item() == pytest.approx(expected, rel=1e-5)
    other = CaptioningObjective(model, CaptioningConfig())
    other.load_state_dict(its.state_dict())
    assert other.baseline.item() == pytest.approx(expected, rel=1e-5)
    assert CaptioningObjective(show_attend_tell(), CaptioningConfig()).state_dict() == {}


@pytest.mark.parametrize("kind", ["soft", "hard", "transformer"])
def test_scheduled_sampling_reads_images(kind: str) -> None:
    encoder = ResNet9Config(image_size=16, width=4, blocks=(0,))
    changes = {"encoder": encoder, "fine_tune": True}
    if kind == "transformer":
        model = transformer(**changes)
    else:
        model = show_attend_tell(attention=kind, **changes)
    with torch.no_grad():
        model.output.weight.zero_()  # all hidden states say the same
        if model.output.bias is None:
            model.output.bias = torch.nn.Parameter(torch.zeros(WORDS))
        model.output.bias[9] = 60.0
    images = torch.randn(3, 3, 16, 16)
    given = collate_captions(images, Packing.full(3, model.config.places), CAPTIONS, 1, 2)
    its = CaptioningObjective(model, CaptioningConfig(scheduled_sampling=1.0))
    mixed = its.with_own_words(given, 1)
    assert mixed.target.tolist() == [1, 9, 9, 9, 1, 9, 1]
    assert mixed.labels is given.labels
    (turn,) = its.turns(given, 1)
    assert turn.loss_sum.isfinite()
