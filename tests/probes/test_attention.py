import dataclasses

import pytest
import torch

from landmark.layers.packing import Packing
from landmark.models.transformer.translator import VARIANTS, Translator
from landmark.probes.attention import cross_attention, observed_attention

SOURCE, TARGET = torch.tensor([5, 6, 7, 8, 2]), torch.tensor([1, 9, 10, 11])


@pytest.fixture
def model():
    torch.manual_seed(0)
    config = dataclasses.replace(
        VARIANTS["tiny"], vocab_size=20, encoder_layers=2, decoder_layers=3
    )
    return Translator(config).eval()


def run(model, source=SOURCE, target=TARGET):
    packings = Packing.full(1, len(source)), Packing.full(1, len(target))
    with torch.inference_mode():
        return model(source, packings[0], target, packings[1])


def test_every_attention_is_seen_once_with_its_shape(model):
    with observed_attention(model) as seen:
        run(model)
    shapes = {name: tuple(weights[0].shape) for name, weights in seen.items()}
    assert all(len(weights) == 1 for weights in seen.values())
    assert shapes == {
        **{f"encoder.{n}.attention": (1, 4, 5, 5) for n in range(2)},
        **{f"decoder.{n}.attention": (1, 4, 4, 4) for n in range(3)},
        **{f"decoder.{n}.cross_attention": (1, 4, 4, 5) for n in range(3)},
    }


def test_the_masked_attention_sees_no_future(model):
    with observed_attention(model) as seen:
        run(model)
    weights = seen["decoder.0.attention"][0]
    assert torch.equal(weights.triu(1), torch.zeros_like(weights))
    assert (weights.sum(-1) - 1).abs().max() < 1e-5


def test_observing_does_not_change_the_output(model):
    plain = run(model)
    with observed_attention(model):
        watched = run(model)
    torch.testing.assert_close(watched, plain, atol=1e-5, rtol=1e-5)


def test_after_the_block_nothing_is_observed_even_after_a_fault(model):
    with pytest.raises(RuntimeError), observed_attention(model) as seen:
        raise RuntimeError
    run(model)
    assert seen == {}
    assert all(getattr(module, "observer", None) is None for module in model.modules())


def test_cross_attention_stacks_the_decoders_layers_in_order(model):
    packing = Packing.full(1, len(SOURCE))
    weights = cross_attention(model, SOURCE, packing, TARGET)
    assert weights.shape == (3, 4, len(TARGET), len(SOURCE))
    with observed_attention(model) as seen:
        run(model)
    for layer in range(3):
        assert torch.equal(weights[layer], seen[f"decoder.{layer}.cross_attention"][0][0])
    assert not torch.equal(weights[0], weights[1])
