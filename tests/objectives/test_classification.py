import numpy as np
import pytest
import torch
from sklearn.utils.class_weight import compute_class_weight
from torch import nn

from landmark.core.errors import UserError
from landmark.data.batch import ImageBatch
from landmark.models.image import ImageNetwork
from landmark.objectives.classification import (
    ClassificationConfig,
    ClassificationObjective,
    weigh_classes,
)

CLASSES = 7


class Tiny(ImageNetwork):
    """Two stages with a norm each, a head, and perhaps heads on the way."""

    head = "output"

    def __init__(self, auxiliaries: int = 0) -> None:
        super().__init__()
        self.low = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU())
        self.high = nn.Sequential(nn.Conv2d(4, 5, 3), nn.BatchNorm2d(5), nn.ReLU())
        self.output = nn.Linear(5, CLASSES)
        self.others = nn.ModuleList(nn.Linear(4, CLASSES) for _ in range(auxiliaries))

    def features(self, images):
        return self.high(self.low(images)).mean((2, 3))

    def scores(self, images):
        low = self.low(images).mean((2, 3))
        return (self(images), *(other(low) for other in self.others))

    def stages(self):
        return [self.low, self.high]


def batch(count: int = 9, mixed: bool = False) -> ImageBatch:
    generator = torch.Generator().manual_seed(3)
    labels, partners = torch.randint(CLASSES, (2, count), generator=generator)
    shares = torch.rand(count, generator=generator)
    images = torch.randn(count, 3, 8, 8, generator=generator)
    return ImageBatch(images, labels, partners if mixed else None, shares if mixed else None)


def objective(model: Tiny, **settings: float) -> ClassificationObjective:
    return ClassificationObjective(model, ClassificationConfig(**settings))


def expected_loss(logits: torch.Tensor, given: ImageBatch, smoothing: float) -> float:
    """Of targets written out: shares of both classes, then spread over all."""
    target = nn.functional.one_hot(given.labels, CLASSES).double()
    if given.partners is not None:
        other = nn.functional.one_hot(given.partners, CLASSES).double()
        share = given.shares.double()[:, None]
        target = share * target + (1 - share) * other
    target = (1 - smoothing) * target + smoothing / CLASSES
    return float(-(target * logits.double().log_softmax(1)).sum())


@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_loss_is_the_cross_entropy_to_the_mixed_and_smoothed_classes(mixed, smoothing):
    torch.manual_seed(0)
    model, given = Tiny(), batch(mixed=mixed)
    (turn,) = objective(model, label_smoothing=smoothing).turns(given, 1)
    logits = model(given.images).detach()
    assert turn.player == "model"
    assert turn.weight == 9
    assert float(turn.loss_sum) == pytest.approx(expected_loss(logits, given, smoothing), rel=1e-5)
    assert turn.metrics["accuracy"] == int((logits.argmax(1) == given.labels).sum())


def test_auxiliary_heads_count_by_their_weight(monkeypatch):
    monkeypatch.setattr(Tiny, "auxiliary_weight", 0.3)
    torch.manual_seed(0)
    model, given = Tiny(auxiliaries=2), batch()
    (turn,) = objective(model).turns(given, 1)
    first, *others = [expected_loss(s.detach(), given, 0.0) for s in model.scores(given.images)]
    assert float(turn.loss_sum) == pytest.approx(first + 0.3 * sum(others), rel=1e-5)


def test_validation_measures_the_plain_loss_and_what_is_right():
    torch.manual_seed(0)
    model, given = Tiny().eval(), batch(40)
    measured = objective(model, label_smoothing=0.2).measure(given)
    logits = model(given.images).detach()
    best = logits.topk(5).indices == given.labels[:, None]
    assert measured["loss"] == (pytest.approx(expected_loss(logits, given, 0.0), rel=1e-5), 40)
    assert measured["accuracy"] == (float(best[:, 0].sum()), 40)
    assert measured["top5"] == (float(best.sum()), 40)


def test_frozen_parts_keep_their_batch_norms_measures_through_training():
    torch.manual_seed(0)
    model = Tiny().train()
    its = ClassificationObjective(model, ClassificationConfig(), [model.low])
    before = [model.low[1].running_mean.clone(), model.high[1].running_mean.clone()]
    for step in (1, 2):
        model.train()  # as after every validation
        list(its.turns(batch(), step))
    assert torch.equal(model.low[1].running_mean, before[0])
    assert not torch.equal(model.high[1].running_mean, before[1])
    assert model.high.training


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_class_weights_are_torchs(smoothing):
    torch.manual_seed(0)
    model, given = Tiny(), batch(40)
    config = ClassificationConfig(class_weights=(1, 2, 0.5, 1, 3, 1, 1), label_smoothing=smoothing)
    weights = weigh_classes(config, given.labels, "abcdefg")
    its = ClassificationObjective(model, config, class_weights=weights)
    (turn,) = its.turns(given, 1)
    logits = model(given.images).detach()
    expected = nn.CrossEntropyLoss(weights, label_smoothing=smoothing)(logits, given.labels)
    assert float(turn.loss_sum) / turn.weight == pytest.approx(float(expected), rel=1e-5)
    own = weights[given.labels]
    right = (logits.argmax(1) == given.labels).float()
    assert turn.metrics["accuracy"] == pytest.approx(float((own * right).sum()))
    assert its.measure(given)["loss"][1] == 40


def test_mixed_images_count_by_the_weights_of_both_classes():
    torch.manual_seed(0)
    model, given = Tiny(), batch(mixed=True)
    weights = torch.tensor([1, 2, 0.5, 1, 3, 1, 1])
    (turn,) = ClassificationObjective(model, ClassificationConfig(), class_weights=weights).turns(
        given, 1
    )
    losses = -model(given.images).detach().log_softmax(1)
    rows = torch.arange(9)
    own = weights[given.labels] * given.shares
    other = weights[given.partners] * (1 - given.shares)
    expected = own * losses[rows, given.labels] + other * losses[rows, given.partners]
    assert float(turn.loss_sum) == pytest.approx(float(expected.sum()), rel=1e-5)
    assert turn.weight == pytest.approx(float((own + other).sum()))


def test_balanced_class_weights_are_scikit_learns():
    labels = torch.tensor([0] * 20 + [1] * 3 + [2] * 7)
    config = ClassificationConfig(class_weights="balanced")
    expected = compute_class_weight("balanced", classes=np.arange(3), y=labels.numpy())
    found = weigh_classes(config, labels, "abc")
    assert found.numpy() == pytest.approx(expected)
    assert weigh_classes(config, labels, "abcd")[3] == 1
    assert weigh_classes(ClassificationConfig(), labels, "abc") is None


def test_class_weights_for_other_classes_are_refused():
    config = ClassificationConfig(class_weights=(1.0, 2.0))
    with pytest.raises(UserError, match="2 weights for 3 classes: a, b, c"):
        weigh_classes(config, torch.tensor([0, 1, 2]), "abc")
    with pytest.raises(ValueError, match="above 0"):
        ClassificationConfig(class_weights=(1.0, 0.0))


@pytest.mark.parametrize(
    ("smoothing", "mixed", "auxiliaries", "told"),
    [
        (0.0, False, 0, ""),
        (0.1, False, 0, "label smoothing 0.1"),
        (0.0, True, 0, "mixed images"),
        (0.1, True, 2, "label smoothing 0.1, auxiliary classifiers, mixed images"),
    ],
)
def test_what_keeps_the_training_loss_from_being_validations_is_told(
    smoothing, mixed, auxiliaries, told
):
    its = objective(Tiny(auxiliaries).eval(), label_smoothing=smoothing)
    given = batch(mixed=mixed)
    (turn,) = its.turns(given, 1)
    loss, _ = its.measure(given)["loss"]
    assert (float(turn.loss_sum.detach()) == pytest.approx(loss, rel=1e-5)) == (told == "")
    assert its.loss_includes == told
