import math

import pytest
import torch

from landmark.core.errors import UserError
from landmark.decoding import neighbour
from landmark.decoding.neighbour import Datastore, NeighbourConfig, Neighbours


@pytest.mark.parametrize("size", [5, 64, 65, 1000])
@pytest.mark.parametrize("count", [1, 4, 100])
def test_the_nearest_are_those_of_a_full_sort(size, count, monkeypatch):
    monkeypatch.setattr(neighbour, "_ROOM", 5000)  # in several parts
    torch.manual_seed(size)
    keys, queries = torch.randn(size, 6), torch.randn(40, 6)
    tokens = torch.randint(0, 50, (size,))
    distances, words = Datastore(keys, tokens).nearest(queries, count)
    every = torch.cdist(queries.double(), keys.double()) ** 2
    expected, places = every.sort(1)
    torch.testing.assert_close(distances.double(), expected[:, :count], rtol=1e-4, atol=1e-4)
    assert torch.equal(words, tokens[places[:, :count]])


def test_a_state_that_is_there_has_no_distance():
    keys = 100 * torch.randn(70, 8)
    distances, words = Datastore(keys, torch.arange(70)).nearest(keys, 1)
    assert torch.equal(words[:, 0], torch.arange(70))
    assert (distances >= 0).all()
    assert distances.max() < 1


class Fixed:
    """A model whose states are its tokens' rows and whose logits are given."""

    config = None

    def __init__(self, states, logits):
        self.states, self.logits = states, logits

    def advance(self, tokens, state):
        return self.states[tokens]

    def say(self, hidden):
        return self.logits


def test_probabilities_are_mixed_as_the_paper_says():
    torch.manual_seed(1)
    keys, tokens = torch.randn(30, 4), torch.randint(0, 9, (30,))
    states, logits = torch.randn(5, 4), torch.randn(5, 9)
    asked = NeighbourConfig(count=6, share=0.3, temperature=2.0)
    speaker = Neighbours(Fixed(states, logits), Datastore(keys, tokens), asked)
    said = speaker.step(torch.arange(5), None).exp()
    for row in range(5):
        weights = {}
        distances = [(states[row] - key).pow(2).sum().item() for key in keys]
        for place in sorted(range(30), key=distances.__getitem__)[:6]:
            word = tokens[place].item()
            weights[word] = weights.get(word, 0) + math.exp(-distances[place] / 2.0)
        model = logits[row].softmax(0).tolist()
        for word in range(9):
            theirs = weights.get(word, 0) / sum(weights.values())
            assert said[row, word].item() == pytest.approx(
                0.7 * model[word] + 0.3 * theirs, rel=1e-4
            )


def test_what_is_never_said_stays_unsaid_and_the_unlikely_stays_finite():
    logits = torch.tensor([[0.0, -200.0, -math.inf]])
    store = Datastore(torch.zeros(3, 2), torch.zeros(3, dtype=torch.int64))
    speaker = Neighbours(Fixed(torch.zeros(1, 2), logits), store, NeighbourConfig(count=2))
    said = speaker.step(torch.tensor([0]), None)[0]
    assert said[1].item() == pytest.approx(-200 + math.log(0.5), rel=1e-5)
    assert said[2] == -math.inf


@pytest.mark.parametrize("settings", [{"share": 1.0}, {"count": 0}, {"temperature": 0.0}])
def test_settings_without_sense_are_refused(settings):
    with pytest.raises((UserError, ValueError)):
        NeighbourConfig(**settings)
