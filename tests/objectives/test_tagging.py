"""The losses of tagging against torch's own and by hand."""

import pytest
import torch
from torch import Tensor, nn

from landmark.data.batch import ImageBatch
from landmark.models.image import ImageNetwork
from landmark.objectives.tagging import TaggingConfig, TaggingObjective, tag_probabilities


class Tiny(ImageNetwork):
    """Scores that are the image's own first pixels, and half of them as an auxiliary head's."""

    head = "scale"
    auxiliary_weight = 0.5

    def __init__(self, with_auxiliary: bool = False) -> None:
        super().__init__()
        self.scale = nn.Linear(4, 4, bias=False)
        nn.init.eye_(self.scale.weight)
        self.with_auxiliary = with_auxiliary

    def features(self, images: Tensor) -> Tensor:
        return images.flatten(1)[:, :4]

    def scores(self, images: Tensor) -> tuple[Tensor, ...]:
        first = self(images)
        return (first, first / 2) if self.with_auxiliary else (first,)

    def stages(self) -> list[nn.Module]:
        return []


def batch() -> tuple[ImageBatch, Tensor]:
    torch.manual_seed(1)
    images = torch.randn(3, 1, 2, 2)
    targets = torch.tensor([[1.0, 0.4, 0, 0], [0, 0, 0.2, 0], [0, 0, 0, 0]])
    return ImageBatch(images=images, labels=targets), images.flatten(1)


def loss_of(model: Tiny, given: ImageBatch, loss: str) -> Tensor:
    (turn,) = TaggingObjective(model, TaggingConfig(loss=loss)).turns(given, 1)
    assert turn.weight == 3
    torch.testing.assert_close(turn.again(), turn.loss_sum)
    return turn.loss_sum


def test_sigmoid_is_the_binary_cross_entropy_of_each_tag() -> None:
    given, scores = batch()
    p, y = scores.sigmoid(), given.labels
    expected = -(y * p.log() + (1 - y) * (1 - p).log()).sum()
    torch.testing.assert_close(loss_of(Tiny(), given, "sigmoid"), expected)


def test_softmax_is_torchs_cross_entropy_with_shares_and_nothing_of_an_image_without_tags() -> None:
    given, scores = batch()
    shares = torch.tensor([[1 / 1.4, 0.4 / 1.4, 0, 0], [0, 0, 1, 0]])
    expected = nn.functional.cross_entropy(scores[:2], shares, reduction="sum")
    torch.testing.assert_close(loss_of(Tiny(), given, "softmax"), expected)


def test_auxiliary_heads_learn_the_same_by_their_weight() -> None:
    given, scores = batch()
    bce = nn.functional.binary_cross_entropy_with_logits
    expected = bce(scores, given.labels, reduction="sum")
    expected = expected + 0.5 * bce(scores / 2, given.labels, reduction="sum")
    torch.testing.assert_close(loss_of(Tiny(with_auxiliary=True), given, "sigmoid"), expected)


@pytest.mark.parametrize("loss", ["sigmoid", "softmax"])
def test_mixed_images_have_the_tags_of_both_by_their_shares(loss: str) -> None:
    given, _ = batch()
    given.partners, given.shares = given.labels.roll(1, 0), torch.tensor([0.25, 1.0, 0.5])
    mixed = torch.stack(
        [
            0.25 * given.labels[0] + 0.75 * given.partners[0],
            given.labels[1],
            0.5 * given.labels[2] + 0.5 * given.partners[2],
        ]
    )
    unmixed = ImageBatch(images=given.images, labels=mixed)
    torch.testing.assert_close(loss_of(Tiny(), given, loss), loss_of(Tiny(), unmixed, loss))


def test_validation_measures_the_loss_of_images_as_they_are() -> None:
    given, _ = batch()
    objective = TaggingObjective(Tiny(with_auxiliary=True), TaggingConfig())
    value, weight = objective.measure(given)["loss"]
    assert value / weight == pytest.approx(loss_of(Tiny(), given, "sigmoid").item() / 3)


def test_probabilities_are_of_each_tag_or_of_all_together() -> None:
    scores = torch.tensor([[0.0, 2.0], [-1.0, 1.0]])
    torch.testing.assert_close(
        tag_probabilities(scores, TaggingConfig()), 1 / (1 + (-scores).exp())
    )
    together = tag_probabilities(scores, TaggingConfig(loss="softmax"))
    torch.testing.assert_close(together.sum(1), torch.ones(2))
    torch.testing.assert_close(together[0, 1] / together[0, 0], torch.tensor(2.0).exp())
