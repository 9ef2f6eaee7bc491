"""A run on bags of words: equal to torch on dense features, sparse gradients or not."""

import json

import pytest
import torch
from sklearn.feature_extraction.text import CountVectorizer

import landmark
from landmark.core.errors import UserError
from landmark.engine.checkpoint import load_tensors
from landmark.tasks.training import resolve


def train(texts, folder, *settings):
    given = [
        "data.corpus=files",
        "data.text=text",
        f"data.train=['{texts[0]}']",
        f"data.valid=['{texts[0]}']",
        "model.dropout=0",
        "batches.size=40",
        "trainer.max_steps=5",
        "trainer.checkpoint_every=5",
        "threads=1",
    ]
    run = landmark.train("race-bag-of-words", folder, [*given, *settings])
    weights = load_tensors(run.find_checkpoint("latest"), "model.safetensors")
    return run, weights["model.weight"], weights["model.bias"]


def by_hand(rows, method, rate):
    """The same regression on dense features, stepped by torch."""
    counted = CountVectorizer(binary=True, token_pattern=r"\S+").fit([text for text, _ in rows])
    features = torch.from_numpy(counted.transform([text for text, _ in rows]).toarray()).float()
    labels = torch.tensor([int(label == "good") for _, label in rows])
    layer = torch.nn.Linear(features.shape[1], 2)
    torch.nn.init.zeros_(layer.weight)
    torch.nn.init.zeros_(layer.bias)
    optimizer = method(layer.parameters(), lr=rate)
    for step in range(1, 6):
        optimizer.param_groups[0]["lr"] = rate / step**0.5  # section 6.1's schedule
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(layer(features), labels).backward()
        optimizer.step()
    return layer, counted.vocabulary_


@pytest.mark.parametrize(
    ("name", "method", "rate", "sparse"),
    [
        ("adam", torch.optim.Adam, 0.1, False),
        ("adagrad", torch.optim.Adagrad, 0.3, False),
        ("adagrad", torch.optim.Adagrad, 0.3, True),
        ("sgd", torch.optim.SGD, 1.0, True),
    ],
)
def test_training_is_torchs_on_dense_features(texts, tmp_path, name, method, rate, sparse):
    settings = [f"optimizer.name={name}", f"schedule.rate={rate}", f"model.sparse={sparse}"]
    run, weight, bias = train(texts, tmp_path / "run", *settings)
    layer, vocabulary = by_hand(texts[1], method, rate)
    words = json.loads((run.folder / "words.json").read_text())["words"]
    order = [vocabulary[word] for word in words]
    torch.testing.assert_close(weight, layer.weight.detach().T[order], rtol=1e-4, atol=1e-6)
    torch.testing.assert_close(bias, layer.bias.detach(), rtol=1e-4, atol=1e-6)
    assert run.read_recipe()["model"]["vocab_size"] == len(words) == 10


def test_sparse_gradients_are_clipped_as_dense_ones_are(texts, tmp_path):
    settings = ["optimizer.name=sgd", "schedule.rate=1", "trainer.clip_norm=0.05"]
    settings += ["trainer.clip_value=0.02"]
    _, dense, _ = train(texts, tmp_path / "dense", *settings)
    _, sparse, _ = train(texts, tmp_path / "sparse", *settings, "model.sparse=true")
    assert dense.abs().max() > 0.01
    torch.testing.assert_close(sparse, dense)


def test_a_method_that_needs_dense_gradients_says_so():
    with pytest.raises(UserError, match=r"model\.sparse: adam needs dense gradients"):
        resolve("race-bag-of-words", ["model.sparse=true"])
    with pytest.raises(UserError, match="for classification, not for regression"):
        resolve("race-bag-of-words", ["data.corpus=files", "data.kind=regression"])
