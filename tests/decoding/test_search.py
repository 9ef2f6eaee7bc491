"""Searching from a started state: what has been encoded may be an image as well as a sentence."""

import itertools

import pytest
import torch
from torch import nn

from landmark.decoding.request import Request
from landmark.decoding.search import Search, rows_needed
from landmark.decoding.speaker import penalize
from landmark.decoding.stepwise import SamplingConfig

BEGIN, END, VOCABULARY, WIDTH = 0, 1, 9, 12


class CaptionState:
    """The columns of the images, and what each row has said so far as one vector."""

    def __init__(self, regions: torch.Tensor, rows: int) -> None:
        self.regions = regions.repeat_interleave(rows, 0)  # (R, P, D)
        self.memory = torch.zeros(len(self.regions), WIDTH)

    def select_rows(self, rows: torch.Tensor) -> None:
        self.regions, self.memory = self.regions[rows], self.memory[rows]

    def select_sentences(self, sentences: torch.Tensor) -> None:
        """All that is kept is kept by row."""


class Captioner(nn.Module):
    """A convolution over an image, and a recurrent writer that attends to its places."""

    def __init__(self) -> None:
        super().__init__()
        self.look = nn.Conv2d(3, WIDTH, 3, stride=2)
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.cell = nn.GRUCell(2 * WIDTH, WIDTH)
        self.output = nn.Linear(WIDTH, VOCABULARY)

    def start(self, images: torch.Tensor, rows: int) -> CaptionState:
        """Encode images (B, C, H, W)."""
        return CaptionState(self.look(images).flatten(2).transpose(1, 2), rows)

    def step(self, tokens: torch.Tensor, state: CaptionState) -> torch.Tensor:
        shares = (state.regions @ state.memory[:, :, None]).softmax(1)  # (R, P, 1)
        seen = (shares * state.regions).sum(1)
        state.memory = self.cell(torch.cat((self.embedding(tokens), seen), 1), state.memory)
        return 3 * self.output(state.memory)


@pytest.fixture(scope="module")
def captioner():
    torch.manual_seed(3)
    return Captioner().eval()


@pytest.fixture(scope="module")
def images():
    return torch.randn(3, 3, 9, 9, generator=torch.Generator().manual_seed(1)) * 2


@torch.inference_mode()
def log_probability(captioner, image, tokens):
    """Of these tokens, the end among them, step by step and alone."""
    state, total = captioner.start(image[None], 1), 0.0
    for before, token in itertools.pairwise([BEGIN, *tokens]):
        logits = captioner.step(torch.tensor([before]), state)
        total += float(logits.log_softmax(-1)[0, token])
    return total


def best_by_enumeration(captioner, image, limit):
    """The best of all captions of up to `limit` tokens, the end among them."""
    words = [token for token in range(VOCABULARY) if token != END]
    ended = [(*c, END) for n in range(limit) for c in itertools.product(words, repeat=n)]
    cut = list(itertools.product(words, repeat=limit))
    return max(
        (log_probability(captioner, image, said) / penalize(len(said), 0.6), said)
        for said in ended + cut
    )


def test_a_wide_beam_finds_the_best_caption_of_each_image(captioner, images):
    search, limit = Search(captioner, BEGIN, END), 3
    requests, rows = [Request(limit)] * 3, VOCABULARY**2
    with torch.inference_mode():
        found = search.best(captioner.start(images, rows), requests, rows, 0.6)
    for image, hypotheses in zip(images, found, strict=True):
        score, said = best_by_enumeration(captioner, image, limit)
        assert hypotheses[0].tokens == tuple(token for token in said if token != END)
        assert hypotheses[0].score == pytest.approx(score, abs=1e-4)
    assert len({hypotheses[0].score for hypotheses in found}) == 3  # each is of its own image


@pytest.mark.parametrize("rows", [1, 3])
def test_prefixes_and_company_are_as_with_sentences(captioner, images, rows):
    search = Search(captioner, BEGIN, END)
    requests = [Request(6, (4, 5)), Request(3), Request(5, (7,))]
    with torch.inference_mode():
        together = search.best(captioner.start(images, rows), requests, rows, 0.6)
        alone = [
            search.best(captioner.start(image[None], rows), [request], rows, 0.6)[0]
            for image, request in zip(images, requests, strict=True)
        ]
    for request, one, other in zip(requests, together, alone, strict=True):
        assert [h.tokens for h in one] == [h.tokens for h in other]
        assert all(h.tokens[: len(request.prefix)] == request.prefix for h in one)


def test_phrases_are_held_by_captions_too(captioner, images):
    search, request = Search(captioner, BEGIN, END), Request(8, (), ((6, 7), (8,)))
    rows = rows_needed(request, 2)
    assert rows > 2
    with torch.inference_mode():
        found = search.best(captioner.start(images, rows), [request] * 3, rows, 0.6)
    for hypotheses in found:
        for hypothesis in hypotheses:
            said = hypothesis.tokens
            assert 8 in said
            assert (6, 7) in set(itertools.pairwise(said))


def test_draws_are_of_their_own_image_and_seed(captioner, images):
    search, requests = Search(captioner, BEGIN, END), [Request(6)] * 3

    def draw(seeds):
        with torch.inference_mode():
            state = captioner.start(images.repeat_interleave(4, 0), 1)
            return search.draw(state, requests, seeds, 4, SamplingConfig(), 0.6)

    first, again, other = draw([1, 2, 3]), draw([1, 2, 3]), draw([1, 2, 9])
    assert first == again
    assert first[:2] == other[:2]
    assert first[2] != other[2]
    for image, hypotheses in zip(images, first, strict=True):
        assert [h.score for h in hypotheses] == sorted((h.score for h in hypotheses), reverse=True)
        for hypothesis in hypotheses:
            said = [*hypothesis.tokens, *[END] * hypothesis.ended]
            expected = log_probability(captioner, image, said)
            assert hypothesis.log_probability == pytest.approx(expected, abs=1e-4)
            assert hypothesis.score == pytest.approx(expected / penalize(len(said), 0.6), abs=1e-4)
