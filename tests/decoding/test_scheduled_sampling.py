import torch

from landmark.decoding.scheduled_sampling import mix_in_own_words
from landmark.layers.packing import Packing

BEGIN = 1
TARGET = torch.tensor([1, 10, 11, 12, 1, 20, 1, 30, 31])
PACKING = Packing(torch.tensor([4, 2, 3]))


class Successor:
    """Says, with certainty, 100 more than what it has just heard; and keeps what it heard."""

    def __init__(self) -> None:
        self.heard: list[list[int]] = []

    def step(self, tokens: torch.Tensor, state: object) -> torch.Tensor:
        self.heard.append(tokens.tolist())
        logits = torch.full((len(tokens), 500), -1e9)
        logits[torch.arange(len(tokens)), tokens + 100] = 0.0
        return logits


def test_no_share_changes_nothing_and_asks_nothing() -> None:
    speaker = Successor()
    assert torch.equal(mix_in_own_words(speaker, None, TARGET, PACKING, 0.0), TARGET)
    assert speaker.heard == []


def test_all_own_words_are_what_the_speaker_says_after_its_own_words() -> None:
    mixed = mix_in_own_words(Successor(), None, TARGET, PACKING, 1.0)
    assert mixed.tolist() == [1, 101, 201, 301, 1, 101, 1, 101, 201]


def test_the_share_is_kept_and_own_words_follow_the_mixed_beginning() -> None:
    torch.manual_seed(0)
    length = 400
    target, packing = torch.arange(1, length + 1).repeat(10) % 90, Packing.full(10, length)
    mixed = mix_in_own_words(Wrapping(), None, target, packing, 0.3).view(10, length)
    gold = target.view(10, length)
    is_own = mixed >= 100
    assert 0.27 < is_own.float().mean() < 0.33
    assert torch.equal(mixed[~is_own], gold[~is_own])
    before = mixed.roll(1, 1)
    assert torch.equal(mixed[is_own], (before[is_own] % 100) + 100)
    assert is_own[:, 1:][is_own[:, :-1]].any()  # an own word after an own word


class Wrapping:
    """Says 100 and the last two digits of what it heard."""

    def step(self, tokens: torch.Tensor, state: object) -> torch.Tensor:
        logits = torch.full((len(tokens), 200), -1e9)
        logits[torch.arange(len(tokens)), tokens % 100 + 100] = 0.0
        return logits
