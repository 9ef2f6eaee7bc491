from itertools import pairwise

import torch
from torch.nn import functional

from landmark.models.bag_of_words import BagOfWords, BagOfWordsConfig

WORDS, STARTS = torch.tensor([0, 3, 3, 5, 2]), torch.tensor([0, 3, 3, 5])


def dense_features() -> torch.Tensor:
    """The same three bags, one of them empty, as rows of counts."""
    features = torch.zeros(3, 6)
    for bag, (start, end) in enumerate(pairwise(STARTS)):
        for word in WORDS[start:end]:
            features[bag, word] += 1
    return features


def network(**settings) -> BagOfWords:
    torch.manual_seed(1)
    model = BagOfWords(BagOfWordsConfig(vocab_size=6, classes=2, **settings))
    torch.nn.init.normal_(model.weight)
    torch.nn.init.normal_(model.bias)
    return model


def test_it_begins_without_an_opinion():
    model = BagOfWords(BagOfWordsConfig(vocab_size=6)).eval()
    assert torch.equal(model(WORDS, STARTS), torch.zeros(3, 2))


def test_scores_and_gradients_are_those_of_a_dense_regression_sparse_or_not():
    labels = torch.tensor([0, 1, 1])
    for sparse in (False, True):
        model = network(sparse=sparse).eval()
        weight, bias = (p.detach().clone().requires_grad_() for p in (model.weight, model.bias))
        expected = dense_features() @ weight + bias
        torch.testing.assert_close(model(WORDS, STARTS), expected)
        functional.cross_entropy(model(WORDS, STARTS), labels).backward()
        functional.cross_entropy(expected, labels).backward()
        assert model.weight.grad.is_sparse == sparse
        torch.testing.assert_close(model.weight.grad.to_dense(), weight.grad)
        torch.testing.assert_close(model.bias.grad, bias.grad)


def test_dropped_words_are_gone_and_the_others_count_more():
    model = network(dropout=0.75, sparse=True)
    with torch.no_grad():
        model.weight.copy_(torch.ones(6, 2))
        model.bias.zero_()
    words = torch.arange(6).repeat(500)
    sums = model(words, torch.tensor([0, 3000]))[0]
    assert torch.all(sums % 4 == 0)  # each kept word counts four times
    assert 0.8 < sums[0] / 3000 < 1.2
    assert torch.equal(model.eval()(words, torch.tensor([0, 3000]))[0], torch.full((2,), 3000.0))
