"""A small vocabulary and translators of every shape, with random weights."""

import dataclasses

import pytest
import torch

from landmark.data.tokenizer import SubwordTokenizer, TokenizerConfig
from landmark.models.transformer.translator import TransformerConfig, Translator

LINES = [
    "A dog runs in the park .",
    "Ein Hund läuft im Park .",
    "two\u2028lines \\n \u0085 <s> </s>",
]


@pytest.fixture(autouse=True)
def seeded():
    """Networks begin with the same weights in whatever order the tests run."""
    torch.manual_seed(0)


@pytest.fixture(scope="session")
def tokenizer() -> SubwordTokenizer:
    return SubwordTokenizer.train(LINES, TokenizerConfig(vocab_size=290))


@pytest.fixture(params=[("pre", "sinusoidal", "all"), ("post", "learned", "none")], ids="-".join)
def translator(request, tokenizer) -> Translator:
    """Weights of every kind are random, those too that begin as zeros or ones."""
    norm, positions, tied = request.param
    config = TransformerConfig(
        vocab_size=len(tokenizer),
        hidden_size=24,
        inner_size=40,
        num_heads=3,
        encoder_layers=2,
        decoder_layers=3,
        max_length=40,
    )
    torch.manual_seed(4)
    model = Translator(dataclasses.replace(config, norm=norm, positions=positions, tied=tied))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
    return model.eval()
