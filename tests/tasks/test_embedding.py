"""Vectors of texts and words from every kind of model, against the models' own states."""

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from landmark.core.errors import UserError
from landmark.layers.packing import Packing
from landmark.tasks.embedding import load_embedder, nearest
from landmark.tasks.training import train

TEXT = "the walker walks.\nthe talker talks.\n\nan old house.\na new house.\n\nthe new walker.\n"
TEXTS = ["the old walker walks", "a house", "the talker"]
SHORT = ["trainer.max_steps=1", "threads=1"]
SHAPE = [
    "model.hidden_size=12", "model.inner_size=16", "model.num_heads=2", "model.num_layers=2",
    "model.max_length=16",
]  # fmt: skip


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> dict[str, Path]:
    """A BERT, a GPT of subwords and a recurrent model of characters, none of which has learnt."""
    folder = tmp_path_factory.mktemp("runs")
    (folder / "text.txt").write_text(TEXT * 9)
    text = [f"data.text=['{folder / 'text.txt'}']", "data.corpus=files", *SHORT]
    bert = [*SHAPE, "tokenizer.vocab_size=60", "batches.tokens=60"]
    gpt = [
        *SHAPE, "model.architecture=gpt", "tokenizer.kind=subwords", "tokenizer.vocab_size=290",
        "batches.length=16", "batches.streams=4",
    ]  # fmt: skip
    recurrent = [
        "model.embedding_size=8", "model.hidden_size=12", "batches.length=16", "batches.streams=4",
    ]  # fmt: skip
    return {
        "bert": train("bert", folder / "bert", [*bert, *text]).folder,
        "gpt": train(str(_gpt_recipe(folder)), folder / "gpt", [*gpt, *text]).folder,
        "recurrent": train("language-model", folder / "recurrent", [*recurrent, *text]).folder,
    }


def _gpt_recipe(folder: Path) -> Path:
    (folder / "gpt.yaml").write_text("task: language-model\n")
    return folder / "gpt.yaml"


@pytest.fixture(scope="module")
def pipelines(runs):
    found = {name: load_embedder(run) for name, run in runs.items()}
    torch.manual_seed(0)
    for pipeline in found.values():
        for parameter in pipeline.model.parameters():  # states that a fault would show in
            torch.nn.init.normal_(parameter, std=0.5)
    return found


def encoded(pipeline, text: str) -> torch.Tensor:
    tokens = pipeline.tokenizer.encode([text])[0]
    if hasattr(pipeline.tokenizer, "mask"):
        tokens = [pipeline.tokenizer.begin, *tokens, pipeline.tokenizer.separator]
    return torch.tensor(tokens)


@torch.no_grad()
def states(pipeline, text: str) -> list[torch.Tensor]:
    """What goes into the first block and comes out of each, and the output; a text alone."""
    tokens = encoded(pipeline, text)
    packing = Packing.full(1, len(tokens))
    model = pipeline.model
    if not hasattr(model, "blocks"):
        return [model(tokens[None], model.begin(1))[0]]
    x = model.embedding(tokens) + model.position(packing.positions)
    if hasattr(model, "segment"):
        x = model.embedding_norm(x + model.segment.weight[0])
    seen = [x]
    for block in model.blocks:
        seen.append(block(seen[-1], packing))
    return [*seen, model.norm(seen[-1])]


@pytest.mark.parametrize("name", ["bert", "gpt", "recurrent"])
def test_a_texts_vector_is_the_mean_the_first_or_the_last_of_its_tokens(pipelines, name):
    pipeline = pipelines[name]
    outputs = [states(pipeline, text)[-1] for text in TEXTS]
    for pooling, pool in (
        ("mean", lambda x: x.mean(0)), ("first", lambda x: x[0]), ("last", lambda x: x[-1]),
    ):  # fmt: skip
        expected = torch.stack([pool(output) for output in outputs]).numpy()
        np.testing.assert_allclose(
            pipeline.embed(TEXTS, pooling=pooling), expected, atol=2e-5, rtol=1e-4
        )
    assert pipeline.embed([]).shape == (0, 12)


@pytest.mark.parametrize("name", ["bert", "gpt"])
def test_each_layer_can_be_asked_for(pipelines, name):
    pipeline = pipelines[name]
    expected = states(pipeline, TEXTS[0])
    for layer in range(3):
        vector = pipeline.embed(TEXTS[:1], layer=layer)[0]
        np.testing.assert_allclose(vector, expected[layer].mean(0), atol=2e-5, rtol=1e-4)
    with pytest.raises(UserError, match="layer 3: the model has 2: from 0 to 2"):
        pipeline.embed(TEXTS, layer=3)
    assert not any(block._forward_hooks for block in pipeline.model.blocks)


def test_the_pooler_is_berts_alone_and_reads_the_last_layer(pipelines):
    bert = pipelines["bert"]
    hidden = states(bert, TEXTS[0])[-1]
    expected = torch.tanh(hidden[0] @ bert.model.pooler.weight.T + bert.model.pooler.bias)
    found = bert.embed(TEXTS, pooling="pooled")[0]
    np.testing.assert_allclose(found, expected.detach(), atol=2e-5, rtol=1e-4)
    with pytest.raises(UserError, match="the pooler reads the last layer"):
        bert.embed(TEXTS, pooling="pooled", layer=1)
    with pytest.raises(UserError, match="has no pooler"):
        pipelines["gpt"].embed(TEXTS, pooling="pooled")


def test_a_words_vector_is_the_mean_of_its_pieces_where_it_stands(pipelines):
    bert = pipelines["bert"]
    text = "the old walker, talks"
    words = bert.embed_words(text)
    assert [word.word for word in words] == ["the", "old", "walker", ",", "talks"]
    hidden, place = states(bert, text)[-1], 1
    for word, (_, tokens) in zip(words, bert.tokenizer.words(text), strict=True):
        expected = hidden[place : place + len(tokens)].mean(0)
        np.testing.assert_allclose(word.vector, expected, atol=2e-5, rtol=1e-4)
        place += len(tokens)
    assert [word.word for word in pipelines["gpt"].embed_words("the old walker")] == [
        "the", "old", "walker",
    ]  # fmt: skip
    signs = pipelines["recurrent"].embed_words("old")
    np.testing.assert_allclose(
        [sign.vector for sign in signs], states(pipelines["recurrent"], "old")[-1], atol=2e-5
    )


def test_neighbours_are_by_the_angle_and_never_the_word_itself(pipelines):
    vectors = np.array([[2.0, 0.0], [1.0, 1.0], [0.0, 0.0], [-3.0, 0.0]])
    found = nearest(np.array([1.0, 0.0]), vectors, 3)
    assert [place for place, _ in found] == [0, 1, 2]
    assert [cosine for _, cosine in found] == pytest.approx([1, 0.5**0.5, 0])
    for name in ("bert", "gpt", "recurrent"):
        word = "o" if name == "recurrent" else "the"
        near = pipelines[name].nearest_words(word, 4)
        assert word not in [neighbour.text for neighbour in near]
        assert [n.cosine for n in near] == sorted((n.cosine for n in near), reverse=True)
    best = pipelines["bert"].nearest_texts("the talker", TEXTS, 2)[0]
    assert best.text == "the talker"
    assert best.cosine == pytest.approx(1)


def test_what_has_no_vector_is_refused(pipelines, runs, tiny_run, tmp_path):
    with pytest.raises(UserError, match="text 2: has 62 tokens, the model reads at most 16"):
        pipelines["bert"].embed(["the", "the " * 60])
    with pytest.raises(UserError, match="text 1: is empty, and has no vector"):
        pipelines["gpt"].embed([""])
    with pytest.raises(UserError, match="text 1 is not valid UTF-8"):
        pipelines["gpt"].embed(["\udcff"])
    with pytest.raises(UserError, match="text 1 is not a text, but of type NoneType"):
        pipelines["bert"].embed([None])
    with pytest.raises(UserError, match="give a list of texts, not one object of type str"):
        pipelines["bert"].embed("the talker")
    with pytest.raises(UserError, match=r"text 1, character 1: 'Ω' .* never seen"):
        pipelines["recurrent"].embed(["Ω"])
    with pytest.raises(UserError, match="gives its last layer only"):
        pipelines["recurrent"].embed(["the"], layer=1)
    with pytest.raises(UserError, match="there is no word in it"):
        pipelines["bert"].nearest_words(" ")
    with pytest.raises(UserError, match="is a run of task 'translation': vectors come from"):
        load_embedder(tiny_run)
    shutil.copytree(runs["bert"], tmp_path / "run")
    (tmp_path / "run/tokenizer.json").write_text("{}")
    with pytest.raises(UserError, match=r"tokenizer\.json: is not the one this run was trained"):
        load_embedder(tmp_path / "run")
