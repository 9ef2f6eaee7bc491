"""What a run's model thought while it read its own training pairs: its neighbours."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import torch

from landmark.core.errors import UserError
from landmark.data.shards import TokenStore
from landmark.data.translation.pairs import BatchConfig, PairSamples
from landmark.decoding.neighbour import Datastore

if TYPE_CHECKING:
    from landmark.pipelines.translation.translation import TranslationPipeline

MOST_BYTES = 8 << 30
"""Larger memories are refused."""
Report = Callable[[int], None]
"""Told how many more pairs are read."""


@torch.no_grad()
def read_training_pairs(
    pipeline: "TranslationPipeline", report: Report = lambda count: None
) -> Datastore:
    """The hidden states of all training pairs of a run, and the tokens that followed."""
    folder, tokenizer = pipeline.run.folder / "data" / "train", pipeline.tokenizer
    if not folder.is_dir():
        raise UserError(
            f"{folder}: the training pairs are not here, and neighbours are looked for among them"
        )
    store = TokenStore(folder)
    samples = PairSamples(store, BatchConfig(), 1, tokenizer.begin, tokenizer.end, shuffle=False)
    count = int((store.lengths["target"] + 1).sum())
    width = pipeline.model.output.weight.shape[1]
    if count * width * 4 > MOST_BYTES:
        raise UserError(
            f"{folder}: has {count:,} tokens, whose states would take "
            f"{count * width * 4 / (1 << 30):.0f} GB of memory: neighbours are for small corpora"
        )
    keys = torch.empty(count, width, device=pipeline.device)
    tokens = torch.empty(count, dtype=torch.int64, device=pipeline.device)
    first = 0
    for numbers in samples.plan(0):
        batch = samples.collate(0, numbers.tolist()).to(pipeline.device)
        last = first + len(batch.labels)
        keys[first:last] = pipeline.model(
            batch.source, batch.source_packing, batch.target, batch.target_packing
        )
        tokens[first:last] = batch.labels
        first = last
        report(len(numbers))
    return Datastore(keys, tokens)
