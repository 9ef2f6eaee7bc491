from types import SimpleNamespace

import pytest
import torch

from landmark.data.translation.pairs import collate_pairs
from landmark.models.transformer.translator import TransformerConfig, Translator
from landmark.probes.exposure import Exposure, measure_exposure

BEGIN, END = 1, 2


class Counter:
    """Says the number after the one it heard, but after 6 it says 9; the source is ignored."""

    def __call__(self, source, source_packing, target, target_packing):
        return target

    def logits(self, tokens):
        said = torch.where(tokens == 6, 9, torch.where(tokens == BEGIN, 4, tokens + 1))
        return torch.nn.functional.one_hot(said, 20).float()

    def start(self, source, packing, rows, length):
        return SimpleNamespace()

    def step(self, tokens, state):
        return self.logits(tokens)


def test_a_mistake_counts_once_when_forced_and_for_ever_when_free():
    batch = collate_pairs([[5], [5]], [[4, 5, 6, 7, 8], [4, 5]], BEGIN, END)
    exposure = measure_exposure(Counter(), batch)
    assert exposure.tokens.tolist() == [2, 2, 2, 1, 1, 1]  # with </s>
    # Forced: 7 is missed after 6, </s> after 8 and after 5. Free: 9 follows 6, then 10, 11.
    assert exposure.forced.tolist() == [2, 2, 1, 0, 1, 0]
    assert exposure.free.tolist() == [2, 2, 1, 0, 0, 0]
    assert exposure.forced_accuracy == pytest.approx(6 / 9)
    assert exposure.free_accuracy == pytest.approx(5 / 9)


def test_batches_add_up_whatever_their_lengths():
    short = Exposure(*(torch.tensor([1, 2]) for _ in range(3)))
    long = Exposure(*(torch.tensor([1, 1, 1]) for _ in range(3)))
    assert (short + long).tokens.tolist() == [2, 3, 1]
    assert (long + short).forced.tolist() == [2, 3, 1]


def test_free_running_is_the_models_greedy_translation():
    torch.manual_seed(0)
    shape = {"hidden_size": 8, "inner_size": 8, "num_heads": 2, "dropout": 0.0, "max_length": 20}
    layers = {"encoder_layers": 1, "decoder_layers": 1}
    model = Translator(TransformerConfig(vocab_size=12, **shape, **layers)).eval()
    said, sources = [], [[5, 6, 7], [8, 9]]
    for source in sources:
        tokens: list[int] = []
        for _ in range(4):
            batch = collate_pairs([source], [tokens], BEGIN, END)
            hidden = model(batch.source, batch.source_packing, batch.target, batch.target_packing)
            tokens.append(int(model.logits(hidden)[-1].argmax()))
        said.append(tokens)
    # References that are what the model says: all right, but for </s> where it says another.
    exposure = measure_exposure(model, collate_pairs(sources, said, BEGIN, END))
    assert exposure.free[:4].tolist() == exposure.forced[:4].tolist() == [2, 2, 2, 2]
