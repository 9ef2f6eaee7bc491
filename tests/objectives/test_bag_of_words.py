import torch
from torch.nn import functional

from landmark.data.understanding.bag_of_words import BagBatch
from landmark.models.bag_of_words import BagOfWords, BagOfWordsConfig
from landmark.objectives.bag_of_words import BagOfWordsObjective


def test_the_loss_is_a_sum_of_cross_entropies_and_is_the_same_when_asked_again():
    torch.manual_seed(1)
    model = BagOfWords(BagOfWordsConfig(vocab_size=4, classes=3, dropout=0.0))
    torch.nn.init.normal_(model.weight)
    batch = BagBatch(
        words=torch.tensor([0, 1, 3, 3]),
        starts=torch.tensor([0, 2, 3, 4]),
        labels=torch.tensor([2, 0, 1]),
    )
    scores = torch.stack([model.weight[0] + model.weight[1], model.weight[3], model.weight[3]])
    expected = 3 * functional.cross_entropy(scores, batch.labels)
    right = (scores.argmax(1) == batch.labels).sum()
    objective = BagOfWordsObjective(model)
    (turn,) = objective.turns(batch, 1)
    torch.testing.assert_close(turn.loss_sum, expected)
    torch.testing.assert_close(turn.again(), expected)
    assert (turn.weight, turn.metrics["accuracy"]) == (3.0, right)
    measured = objective.measure(batch)
    assert measured == {"loss": (expected.item(), 3.0), "accuracy": (right.item(), 3.0)}
