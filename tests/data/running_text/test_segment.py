"""One or two segments of sentences: what fits, what follows, what is from elsewhere."""

from pathlib import Path

import numpy as np
import pytest

from landmark.data.running_text.passage import SIDE
from landmark.data.running_text.segment import FOLLOWS, IS_ALONE, IS_ANOTHER, SegmentPlan
from landmark.data.shards import ShardWriter, TokenStore

ROOM = 20


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> TokenStore:
    """300 documents of 1 to 30 sentences of 1 to 10 tokens; a token is its sentence's number."""
    random = np.random.default_rng(1)
    folder: Path = tmp_path_factory.mktemp("store") / "train"
    number = 0
    with ShardWriter(folder, (SIDE,), 1 << 16) as writer:
        for _ in range(300):
            for _ in range(random.integers(1, 31)):
                writer.write(([number] * random.integers(1, 11),))
                number += 1
            writer.write(([],))
            number += 1
    return TokenStore(folder)


def document_of(store: TokenStore, sentence: int) -> int:
    return int((store.lengths[SIDE][:sentence] == 0).sum())


def test_alone_every_sentence_is_read_once_in_passages_that_fit(store):
    plan = SegmentPlan(store, ROOM, in_pairs=False, short=0.0, seed=1)
    samples = plan.samples(0)
    covered = np.concatenate([np.arange(start, stop) for start, stop, *_ in samples])
    assert covered.tolist() == np.flatnonzero(store.lengths[SIDE]).tolist()
    for number, (start, stop, *_, kind) in enumerate(samples):
        first, second, found = plan.tokens(0, number)
        assert len(first) == plan.lengths(0)[number] <= ROOM
        assert len(second) == 0
        assert found == kind == IS_ALONE
        assert document_of(store, start) == document_of(store, stop - 1)
        # It ends only where its document does, or where the next sentence would not fit.
        following = store.lengths[SIDE][stop]
        assert following == 0 or len(first) + following > ROOM


def test_half_of_the_pairs_follow_and_the_others_are_of_another_document(store):
    plan = SegmentPlan(store, ROOM, in_pairs=True, short=0.1, seed=1)
    kinds = []
    for epoch in range(3):
        for number, row in enumerate(plan.samples(epoch)):
            start, stop, second_start, second_stop, kind = row
            first, second, _ = plan.tokens(epoch, number)
            assert 1 <= len(first) < ROOM or kind == IS_ALONE
            assert len(first) + len(second) == plan.lengths(epoch)[number] <= ROOM
            kinds.append(kind)
            if kind == FOLLOWS:
                assert second_start == stop
                assert document_of(store, start) == document_of(store, second_stop - 1)
            elif kind == IS_ANOTHER:
                assert len(second)
                assert document_of(store, start) != document_of(store, second_start)
            else:
                assert store.lengths[SIDE][stop] == 0  # nothing of its document is left
    pairs = kinds.count(FOLLOWS) + kinds.count(IS_ANOTHER)
    assert kinds.count(FOLLOWS) / pairs == pytest.approx(0.5, abs=0.03)


def test_every_sentence_is_read_as_a_first_segment_or_as_what_follows(store):
    plan = SegmentPlan(store, ROOM, in_pairs=True, short=0.1, seed=1)
    covered: list[int] = []
    for start, stop, _, second_stop, kind in plan.samples(0).tolist():
        covered += range(start, second_stop if kind == FOLLOWS else stop)
    assert covered == np.flatnonzero(store.lengths[SIDE]).tolist()


def test_a_share_of_the_samples_is_short(store):
    long, mixed = (
        SegmentPlan(store, ROOM, in_pairs=False, short=short, seed=1).lengths(0).mean()
        for short in (0.0, 0.5)
    )
    assert mixed < 0.95 * long


def test_samples_depend_on_seed_and_epoch_alone(store):
    plans = [SegmentPlan(store, ROOM, True, 0.1, seed) for seed in (1, 1, 2)]
    plans[0].samples(5)  # what was asked for before makes no difference
    samples = [plan.samples(3) for plan in plans]
    assert np.array_equal(samples[0], samples[1])
    assert not np.array_equal(samples[0], samples[2])
    assert not np.array_equal(plans[0].samples(4), samples[0])
