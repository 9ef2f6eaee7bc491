import math

import pytest
import torch

from landmark.layers.packing import Packing
from landmark.models.recurrent.language_model import (
    RecurrentLanguageModel,
    RecurrentLanguageModelConfig,
)
from landmark.models.transformer.gpt import GPT, GPTConfig
from landmark.probes.prediction import predict_next

TOKENS = torch.tensor([4, 0, 3, 3, 7, 1])


def build_gpt():
    torch.manual_seed(1)
    config = GPTConfig(vocab_size=9, hidden_size=8, num_heads=2, num_layers=2, max_length=16)
    model = GPT(config).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return model


def build_lstm():
    torch.manual_seed(1)
    config = RecurrentLanguageModelConfig(vocab_size=9, embedding_size=4, hidden_size=6)
    return RecurrentLanguageModel(config).eval()


@pytest.mark.parametrize("build", [build_gpt, build_lstm])
def test_each_place_is_predicted_from_what_stands_before_it_alone(build):
    """Against the model's own way of writing on, one beginning at a time."""
    model = build()
    predictions = predict_next(model, TOKENS, top=9)
    assert len(predictions) == len(TOKENS)
    for place, found in enumerate(predictions):
        read = TOKENS[: place + 1]
        with torch.inference_mode():
            logits, _ = model.start(read, Packing.full(1, len(read)), 1)
        believed = torch.softmax(logits[0].double(), 0)
        assert [token for token, _ in found.expected] == believed.argsort(descending=True).tolist()
        shares = sorted(believed.tolist(), reverse=True)
        assert [share for _, share in found.expected] == pytest.approx(shares, abs=1e-6)
        if place + 1 == len(TOKENS):
            assert found.arrival is None
            continue
        came = int(TOKENS[place + 1])
        assert found.arrival.token == came
        assert found.arrival.probability == pytest.approx(float(believed[came]), abs=1e-6)
        assert found.expected[found.arrival.rank - 1][0] == came
        assert found.arrival.surprisal == pytest.approx(-math.log2(believed[came]), abs=1e-4)


def test_the_surprise_of_a_text_is_its_loss():
    model = build_gpt()
    predictions = predict_next(model, TOKENS, top=1)
    with torch.inference_mode():
        logits = model.logits(model(TOKENS[:-1], Packing.full(1, len(TOKENS) - 1)))
    loss = torch.nn.functional.cross_entropy(logits, TOKENS[1:])
    bits = [found.arrival.surprisal for found in predictions[:-1]]
    assert sum(bits) / len(bits) == pytest.approx(float(loss) / math.log(2), abs=1e-5)
