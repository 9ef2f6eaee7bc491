"""The order of an epoch stays the order of an epoch: the plans that every run so far has had."""

from types import SimpleNamespace

import numpy as np
import pytest

from landmark.data.images.augment import AugmentConfig
from landmark.data.images.form import ImageForm
from landmark.data.images.samples import ImageBatchConfig, ImageSamples
from landmark.data.images.store import ImageList
from landmark.data.masked_text import MaskedBatchConfig, MaskedSamples, MaskedTokenConfig
from landmark.data.ordering import cut_by_budget
from landmark.data.running_text.passage import SIDE
from landmark.data.running_text.stream import StreamConfig
from landmark.data.running_text.window import HeldOutWindows, WindowSamples
from landmark.data.shards import ShardWriter, TokenStore
from landmark.data.translation.pairs import BatchConfig, PairSamples
from landmark.data.understanding.bag_of_words import BagSamples, WordList
from landmark.data.understanding.example import LabeledText
from landmark.data.understanding.samples import ExampleBatchConfig, ExampleSamples

LENGTHS = np.array([3, 9, 4, 1, 7, 2, 8, 5, 6, 3, 2, 9])
TARGETS = np.array([4, 8, 4, 2, 6, 3, 9, 5, 5, 1, 2, 7])
IN_ORDER = [[0, 1, 2, 3], [4, 5, 6], [7, 8, 9]]
SHUFFLED = (
    [[1, 0, 5, 9], [2, 8, 3], [6, 4, 7]],
    [[5, 7, 3, 8], [0, 2, 1], [4, 9, 6]],
)


def plans(samples) -> tuple[list[list[int]], ...]:
    """Those of the first two epochs."""
    return tuple([batch.tolist() for batch in samples.plan(epoch)] for epoch in (0, 1))


def store(folder, side, lengths):
    with ShardWriter(folder, (side,), 50) as writer:
        for length in lengths:
            writer.write(([5] * length,))
    return TokenStore(folder)


@pytest.mark.parametrize(
    ("shuffle", "expected"),
    [
        (
            True,
            (
                [[3, 10, 5, 0], [11], [2, 6], [1], [7, 4], [9, 8]],
                [[3, 10, 2], [9, 5, 0], [4], [1], [11], [6], [7, 8]],
            ),
        ),
        (False, ([[3, 0, 2], [4], [1], [9, 5, 7], [8], [6], [10, 11]],) * 2),
    ],
)
def test_sentence_pairs(shuffle, expected):
    pairs = SimpleNamespace(lengths={"source": LENGTHS, "target": TARGETS})
    samples = PairSamples(pairs, BatchConfig(tokens=16, pool=2), 3, 1, 2, shuffle)
    assert plans(samples) == expected


@pytest.mark.parametrize(
    ("shuffle", "expected"),
    [
        (
            True,
            (
                [[0], [8], [5], [6, 3], [4], [1, 2], [7]],
                [[7, 3], [0], [8], [1, 4], [6, 9], [2], [5]],
            ),
        ),
        (
            False,
            (
                [[1, 2], [3], [0], [4, 7], [6, 5], [8, 9]],
                [[1, 2], [3], [0], [6, 4], [5], [8, 9], [7]],
            ),
        ),
    ],
)
def test_masked_texts(tmp_path, shuffle, expected):
    sentences = store(tmp_path, SIDE, (3, 9, 4, 0, 1, 7, 0, 2, 8, 5, 6, 0, 3, 2, 9, 0))
    tokenizer = SimpleNamespace(begin=2, separator=3)
    config = MaskedBatchConfig(tokens=24, pool=2, short=0.3)
    samples = MaskedSamples(sentences, config, MaskedTokenConfig(), tokenizer, 16, 3, shuffle)
    assert plans(samples) == expected


@pytest.mark.parametrize(
    ("shuffle", "expected"),
    [
        (
            True,
            (
                [[8, 1, 11], [7, 4, 6], [3, 10, 2], [5, 9, 0]],
                [[3, 10, 2], [5, 9, 0], [7, 8, 4], [6, 1, 11]],
            ),
        ),
        (False, ([[3, 5, 10], [0, 9, 2], [7, 8, 4], [6, 1, 11]],) * 2),
    ],
)
def test_labelled_examples(shuffle, expected):
    readings = [SimpleNamespace(num_tokens=int(length)) for length in LENGTHS]
    config = ExampleBatchConfig(size=3, pool=2)
    assert plans(ExampleSamples(readings, "classification", config, 3, shuffle)) == expected


@pytest.mark.parametrize(("shuffle", "expected"), [(True, SHUFFLED), (False, (IN_ORDER,) * 2)])
def test_images_and_bags_of_words(shuffle, expected):
    images = ImageList([np.zeros((4, 4, 3), np.uint8)] * 10, np.zeros(10, np.int64), [""] * 10)
    form, config = ImageForm(("a", "b")), ImageBatchConfig(size=4)
    augment = AugmentConfig() if shuffle else None
    assert plans(ImageSamples(images, form, config, 4, 3, augment)) == expected
    examples = [LabeledText("", ("a",), "x")] * 10
    assert plans(BagSamples(examples, WordList(["a"]), ["x"], 4, 3, shuffle)) == expected


def test_windows_of_running_text(tmp_path):
    text = store(tmp_path, "text", (51,))
    assert plans(WindowSamples(text, StreamConfig(streams=3, length=5), 3)) == (
        [[5, 4, 1], [8, 0, 6], [2, 7, 3]],
        [[1, 7, 6], [0, 5, 2], [4, 3, 8]],
    )
    held_out = HeldOutWindows(text, StreamConfig(valid_streams=3, length=6))
    assert plans(held_out) == ([[0, 1, 2], [3, 4, 5], [6, 7], [8]],) * 2
    assert plans(HeldOutWindows(text, StreamConfig(length=100))) == ([[0]],) * 2


@pytest.mark.parametrize("budget", [1, 3, 7, 10, 1000])
def test_cutting_by_budget_is_greedy(budget: int) -> None:
    random = np.random.default_rng(budget)
    costs = random.integers(1, 9, 50)
    order = random.permutation(50)
    expected: list[list[int]] = []
    spent = budget + 1
    for number in order.tolist():
        if spent + costs[number] > budget:
            expected.append([])
            spent = 0
        expected[-1].append(number)
        spent += costs[number]
    assert [run.tolist() for run in cut_by_budget(order, costs, budget)] == expected


def test_cutting_nothing_gives_nothing() -> None:
    assert cut_by_budget(np.zeros(0, np.int64), np.zeros(0, np.int64), 5) == []
