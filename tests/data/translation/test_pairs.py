import numpy as np
import pytest

from landmark.data.shards import ShardWriter, TokenStore
from landmark.data.translation.bpe_dropout import BpeDropout
from landmark.data.translation.pairs import (
    BatchConfig,
    PairSamples,
    collate_pairs,
    pack_sources,
)

BEGIN, END = 1, 2


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> TokenStore:
    """500 pairs of 1 to 20 tokens a side, alike in length, in several shards."""
    folder = tmp_path_factory.mktemp("store")
    random = np.random.default_rng(0)
    with ShardWriter(folder, ("source", "target"), 1000, 2000) as writer:
        for _ in range(500):
            length = random.integers(1, 18)
            writer.write(
                [random.integers(4, 1000, length + random.integers(0, 4)) for _ in range(2)]
            )
    return TokenStore(folder)


def samples(store: TokenStore, seed: int = 1, shuffle: bool = True, **config: int) -> PairSamples:
    return PairSamples(store, BatchConfig(**config), seed, BEGIN, END, shuffle)


def cost(store: TokenStore, number: int) -> int:
    """Tokens of the longer side, with </s>."""
    return max(len(store["source", number]), len(store["target", number])) + 1


@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize("tokens", [10, 64, 300, 100_000])
@pytest.mark.parametrize("pool", [1, 7])
def test_every_pair_comes_once_an_epoch_within_the_budget(
    store: TokenStore, tokens: int, pool: int, shuffle: bool
) -> None:
    for epoch in range(2):
        plan = samples(store, tokens=tokens, pool=pool, shuffle=shuffle).plan(epoch)
        assert sorted(number for batch in plan for number in batch) == list(range(500))
        for batch in plan:
            spent = sum(cost(store, int(number)) for number in batch)
            assert spent <= tokens or len(batch) == 1


def test_batches_use_most_of_the_budget(store: TokenStore) -> None:
    plan = samples(store, tokens=300, pool=5).plan(0)
    total = sum(cost(store, number) for number in range(500))
    assert len(plan) < 1.25 * total / 300


def test_batches_hold_pairs_of_like_lengths(store: TokenStore) -> None:
    def padding(plan: list[np.ndarray]) -> float:
        """The share of a padded grid that holds no token."""
        lengths = [store.lengths["target"][batch] for batch in plan]
        return 1 - sum(l.sum() for l in lengths) / sum(l.max() * len(l) for l in lengths)  # noqa: E741

    assert padding(samples(store, tokens=200, pool=20).plan(0)) < 0.1
    random = np.random.default_rng(0).permutation(500)
    assert padding(np.array_split(random, 30)) > 0.3


def test_the_same_seed_gives_the_same_plan_and_another_epoch_or_seed_another(
    store: TokenStore,
) -> None:
    def plan(seed: int, epoch: int) -> list[list[int]]:
        return [batch.tolist() for batch in samples(store, seed, tokens=100, pool=5).plan(epoch)]

    assert plan(1, 0) == plan(1, 0)
    assert plan(1, 0) != plan(1, 1)
    assert plan(1, 0) != plan(2, 0)
    # Not only the order of the batches, but who meets whom.
    assert {frozenset(batch) for batch in plan(1, 0)} != {frozenset(b) for b in plan(1, 1)}


def test_batches_do_not_come_in_the_order_of_length(store: TokenStore) -> None:
    plan = samples(store, tokens=100, pool=1000).plan(0)
    lengths = [store.lengths["target"][batch].mean() for batch in plan]
    assert abs(np.corrcoef(lengths, range(len(lengths)))[0, 1]) < 0.5


def test_without_shuffling_the_plan_is_the_same_every_epoch(store: TokenStore) -> None:
    first, second = (samples(store, shuffle=False, tokens=100).plan(epoch) for epoch in (0, 1))
    assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize("kind", [list, lambda s: np.asarray(s, np.uint16)], ids=["list", "uint16"])
def test_targets_begin_with_begin_and_labels_are_one_ahead(kind) -> None:
    sources, targets = [[10, 11], [], [12]], [[20], [21, 22, 23], []]
    batch = collate_pairs([kind(s) for s in sources], [kind(t) for t in targets], BEGIN, END)
    assert batch.source.tolist() == [10, 11, END, END, 12, END]
    assert batch.source_packing.lengths.tolist() == [3, 1, 2]
    assert batch.target.tolist() == [BEGIN, 20, BEGIN, 21, 22, 23, BEGIN]
    assert batch.labels.tolist() == [20, END, 21, 22, 23, END, END]
    assert batch.target_packing.lengths.tolist() == [2, 4, 1]
    assert batch.num_tokens == 7


def test_collating_looks_up_the_samples_asked_for(store: TokenStore) -> None:
    chosen = [499, 0, 250]
    batch = samples(store).collate(0, chosen)
    expected = [token for n in chosen for token in [*store["source", n].tolist(), END]]
    assert batch.source.tolist() == expected
    labels = [token for n in chosen for token in [*store["target", n].tolist(), END]]
    assert batch.labels.tolist() == labels


def test_sources_are_closed_by_the_end_token() -> None:
    tokens, packing = pack_sources([[5, 6], [7]], END)
    assert tokens.tolist() == [5, 6, END, 7, END]
    assert packing.lengths.tolist() == [3, 2]


def test_bpe_dropout_depends_on_seed_epoch_and_sample_alone(store: TokenStore) -> None:
    merges = dict.fromkeys(range(500, 1000), (4, 5))
    both = dict.fromkeys(("source", "target"), BpeDropout(merges, 1000, 0.5, 1000))

    def segment(seed: int, epoch: int, order: list[int]) -> dict[int, list[int]]:
        pairs = PairSamples(
            store,
            BatchConfig(),
            seed,
            BEGIN,
            END,
            bpe_dropout=both,
        )
        batch = pairs.collate(epoch, order)
        rows = batch.labels.split(batch.target_packing.lengths.tolist())
        return {number: row.tolist() for number, row in zip(order, rows, strict=True)}

    numbers = list(range(30))
    first = segment(1, 0, numbers)
    assert segment(1, 0, numbers[::-1]) == first
    assert segment(1, 0, [7]) == {7: first[7]}
    assert segment(2, 0, numbers) != first
    assert segment(1, 1, numbers) != first
