import math
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from landmark.core.runtime import derive_seed
from landmark.data.batch import PassageBatch, TextBatch
from landmark.data.loader import Loader
from landmark.data.running_text.stream import HeldOutSamples, StreamConfig, StreamSamples
from landmark.data.shards import ShardWriter, TokenStore
from landmark.engine.evaluator import evaluate
from landmark.layers.packing import Packing
from landmark.models.recurrent.language_model import (
    RecurrentLanguageModel,
    RecurrentLanguageModelConfig,
)
from landmark.models.transformer.gpt import GPT, GPTConfig
from landmark.objectives.next_token import NextTokenObjective, StreamObjective

VOCABULARY = 9
CPU = torch.device("cpu")


def objective_of(cell: str = "lstm", **options: bool) -> StreamObjective:
    torch.manual_seed(0)
    shape = {"embedding_size": 6, "hidden_size": 8, "num_layers": 2}
    config = RecurrentLanguageModelConfig(cell=cell, vocab_size=VOCABULARY, **shape)
    return StreamObjective(RecurrentLanguageModel(config), **options)


def store_of(tmp_path: Path, tokens: Sequence[int]) -> TokenStore:
    with ShardWriter(tmp_path / "text", ("text",), VOCABULARY) as writer:
        writer.write((tokens,))
    return TokenStore(tmp_path / "text")


def random_tokens(count: int) -> list[int]:
    generator = torch.Generator().manual_seed(derive_seed("text"))
    return torch.randint(VOCABULARY, (count,), generator=generator).tolist()


def chunk(streams: tuple[int, ...], begins: bool, shift: int = 0, **options: bool) -> TextBatch:
    rows = torch.arange(len(streams) * 6).view(-1, 6) * 7 + shift
    rows = rows % VOCABULARY
    return TextBatch(rows[:, :-1], rows[:, 1:], streams, begins, **options)


def losses(objective: StreamObjective, *batches: TextBatch) -> list[float]:
    return [next(objective.turns(batch, 1)).loss_sum.item() for batch in batches]


@pytest.mark.parametrize("cell", ["rnn", "lstm", "gru"])
def test_carried_over_chunks_the_loss_is_that_of_the_unbroken_text(tmp_path, cell):
    tokens, objective = random_tokens(200), objective_of(cell)
    samples = StreamSamples(store_of(tmp_path, tokens), StreamConfig(streams=3, length=8), seed=1)
    batches = [samples.collate(0, chosen) for chosen in samples.plan(0)]
    assert len(batches) > 5
    ours = sum(losses(objective, *batches))
    inputs = torch.cat([batch.inputs for batch in batches], 1)
    labels = torch.cat([batch.labels for batch in batches], 1)
    hidden, _ = objective.model(inputs, objective.model.begin(3))
    theirs = F.cross_entropy(objective.model.logits(hidden), labels.flatten(), reduction="sum")
    assert ours == pytest.approx(theirs.item(), rel=1e-5)


def test_gradients_do_not_go_back_into_the_chunk_before():
    objective, reference = objective_of(), objective_of().model
    first, second = chunk((0, 1), True), chunk((0, 1), False, shift=2)
    losses(objective, first)
    (turn,) = objective.turns(second, 2)
    turn.loss_sum.backward()
    with torch.no_grad():
        _, before = reference(first.inputs, reference.begin(2))
    hidden, _ = reference(second.inputs, before)
    F.cross_entropy(reference.logits(hidden), second.labels.flatten(), reduction="sum").backward()
    for ours, theirs in zip(objective.model.parameters(), reference.parameters(), strict=True):
        torch.testing.assert_close(ours.grad, theirs.grad, rtol=1e-4, atol=1e-6)


def state_after(objective: StreamObjective, *batches: TextBatch) -> dict[str, torch.Tensor]:
    losses(objective, *batches)
    return objective.state_dict()


def test_a_turn_sums_over_tokens_and_counts_right_guesses():
    objective, batch = objective_of(), chunk((0, 1, 2), True)
    (turn,) = objective.turns(batch, 1)
    logits = objective.model.logits(objective.model(batch.inputs, objective.model.begin(3))[0])
    labels = batch.labels.flatten()
    assert (turn.player, turn.weight) == ("model", 15)
    expected = F.cross_entropy(logits, labels, reduction="sum")
    torch.testing.assert_close(turn.loss_sum, expected)
    assert turn.metrics["accuracy"] == (logits.argmax(1) == labels).sum()


def test_an_epoch_begins_from_nothing():
    objective = objective_of()
    fresh, again = chunk((0, 1), True), chunk((0, 1), True)
    first, carried, second = losses(objective, fresh, chunk((0, 1), False), again)
    assert first == second != carried


def test_parts_of_a_batch_have_states_of_their_own():
    together, apart = objective_of(), objective_of()
    whole = [chunk((0, 1, 2, 3), n == 0, shift=n) for n in range(4)]
    expected = losses(together, *whole)
    for batch, total in zip(whole, expected, strict=True):
        parts = [
            TextBatch(batch.inputs[p::2], batch.labels[p::2], batch.streams[p::2], batch.begins)
            for p in range(2)
        ]
        assert sum(losses(apart, *parts)) == pytest.approx(total, rel=1e-5)
    ours, theirs = together.state_dict(), apart.state_dict()
    assert ours.keys() == theirs.keys() == {f"{s}.{n}" for s in range(4) for n in range(2)}
    for name, tensor in ours.items():
        torch.testing.assert_close(theirs[name], tensor)


def test_a_state_taken_up_goes_on_bit_by_bit_in_any_parts():
    objective = objective_of()
    begin, following = chunk((0, 1, 2, 3), True), chunk((0, 1, 2, 3), False, shift=1)
    saved = {name: tensor.clone() for name, tensor in state_after(objective, begin).items()}
    expected = losses(objective, following)
    resumed = objective_of()
    resumed.load_state_dict(saved)
    assert resumed.state_dict().keys() == saved.keys()  # saved again before any update
    assert losses(resumed, following) == expected
    for name, tensor in objective.state_dict().items():
        assert torch.equal(resumed.state_dict()[name], tensor)
    half = objective_of()
    half.load_state_dict(saved)  # one of two processes now: it has half of the streams
    mine = TextBatch(following.inputs[1::2], following.labels[1::2], (1, 3), False)
    losses(half, mine)
    assert set(half.state_dict()) == {"1.0", "1.1", "3.0", "3.1"}
    for name, tensor in half.state_dict().items():
        torch.testing.assert_close(tensor, objective.state_dict()[name])


def test_a_stand_in_leaves_no_state_behind():
    objective = objective_of()
    losses(objective, chunk((0,), True, counts=False))
    assert objective.state_dict() == {}


def test_a_stream_whose_state_is_not_finite_begins_anew():
    objective, healthy = objective_of(), objective_of()
    batch = chunk((0, 1), True)
    for trained in (objective, healthy):
        losses(trained, batch)
    spoilt = {n: t * math.nan if n == "1.0" else t for n, t in objective.state_dict().items()}
    objective.load_state_dict(spoilt)
    losses(objective, chunk((0, 1), False))  # in which stream 1 gives no number
    assert set(objective.state_dict()) == {"0.0", "0.1"}
    (turn,) = objective.turns(chunk((0, 1), False, shift=1), 3)
    assert turn.loss_sum.isfinite()


def test_validation_carries_its_own_state_and_measures_the_whole_text(tmp_path):
    tokens, objective = random_tokens(100), objective_of(of_characters=True)
    samples = HeldOutSamples(store_of(tmp_path, tokens), StreamConfig(length=8, valid_streams=1))
    training = state_after(objective, chunk((0, 1), True))
    means = evaluate(objective, Loader(samples), CPU, "fp32")
    again = evaluate(objective, Loader(samples), CPU, "fp32")
    assert means == again
    inputs, labels = torch.tensor([tokens[:-1]]), torch.tensor(tokens[1:])
    with torch.no_grad():
        hidden, _ = objective.model(inputs, objective.model.begin(1))
        logits = objective.model.logits(hidden)
    loss = F.cross_entropy(logits, labels).item()
    assert means["loss"] == pytest.approx(loss, rel=1e-5)
    assert means["bits_per_character"] == pytest.approx(loss / math.log(2), rel=1e-5)
    assert means["accuracy"] == pytest.approx((logits.argmax(1) == labels).double().mean().item())
    for name, tensor in training.items():
        assert torch.equal(objective.state_dict()[name], tensor)


def test_a_uniform_model_has_the_perplexity_of_its_vocabulary():
    objective = objective_of()
    torch.nn.init.zeros_(objective.model.output.weight)
    total, count = objective.measure(chunk((0, 1), True))["loss"]
    summary = objective.summarize({"loss": total / count, "accuracy": 0.5})
    assert summary["perplexity"] == pytest.approx(VOCABULARY, rel=1e-5)
    assert summary["accuracy"] == 0.5
    assert "bits_per_character" not in objective.measure(chunk((0,), True))  # it has subwords


def gpt_objective() -> NextTokenObjective:
    torch.manual_seed(0)
    shape = {"hidden_size": 8, "num_heads": 2, "num_layers": 2, "max_length": 12, "dropout": 0}
    config = GPTConfig(vocab_size=VOCABULARY, attention_dropout=0, **shape)
    return NextTokenObjective(GPT(config), of_characters=True)


def test_the_loss_of_passages_is_that_of_each_passage_read_alone():
    objective, lengths = gpt_objective(), [5, 1, 12, 3]
    tokens = torch.tensor(random_tokens(sum(lengths)))
    labels = tokens.roll(-1)
    batch = PassageBatch(tokens, labels, Packing(torch.tensor(lengths)))
    (turn,) = objective.turns(batch, 1)
    expected, correct = 0.0, 0
    for passage, its_labels in zip(tokens.split(lengths), labels.split(lengths), strict=True):
        alone = Packing.full(1, len(passage))
        logits = objective.model.logits(objective.model(passage, alone))
        expected += F.cross_entropy(logits, its_labels, reduction="sum").item()
        correct += int((logits.argmax(1) == its_labels).sum())
    assert turn.weight == 21
    assert turn.loss_sum.item() == pytest.approx(expected, rel=1e-5)
    assert turn.metrics["accuracy"] == correct
    assert objective.measure(batch)["bits_per_character"] == (
        pytest.approx(expected / math.log(2), rel=1e-5),
        21,
    )
    assert objective.state_dict() == {}
