import math

import pytest
import torch
from torch.nn import functional

from landmark.data.understanding.corpus import Labels
from landmark.data.understanding.encoding import EncodedExample
from landmark.data.understanding.samples import collate_readings
from landmark.models.recurrent.language_model import RecurrentLanguageModelConfig
from landmark.models.transformer.bert import BERTConfig
from landmark.models.transformer.gpt import GPTConfig
from landmark.models.understanding import UnderstandingModel
from landmark.objectives.understanding import (
    UnderstandingConfig,
    UnderstandingObjective,
    best_span,
    grouped_argmax,
    grouped_logsumexp,
)

SMALL = {"vocab_size": 30, "hidden_size": 8, "num_heads": 2, "num_layers": 1, "max_length": 16}
PLAIN = {"dropout": 0.0, "attention_dropout": 0.0}
BODIES = {
    "bert": BERTConfig(**SMALL, **PLAIN),
    "gpt": GPTConfig(**SMALL, **PLAIN),
    "lstm": RecurrentLanguageModelConfig(vocab_size=30, embedding_size=6, hidden_size=8),
}
ROWS = [[3, 4, 5, 6], [7, 8, 2], [9, 10, 11, 12, 13], [3, 9, 9]]


def objective(body: str, labels: Labels, **settings: float) -> UnderstandingObjective:
    torch.manual_seed(0)
    model = UnderstandingModel(BODIES[body], labels.num_outputs, dropout=0.0)
    return UnderstandingObjective(model, UnderstandingConfig(**settings), labels)


def reading(*rows: list[int], **facts) -> EncodedExample:
    return EncodedExample(list(rows), [len(row) for row in rows], **facts)


def hidden_of(model: UnderstandingModel, row: list[int]):
    batch = collate_readings([reading(row, label=0)], "classification")
    return model(batch.tokens, batch.packing, batch.segments)


def turn(its: UnderstandingObjective, readings: list[EncodedExample]):
    (only,) = its.turns(collate_readings(readings, its.labels.kind), 1)
    return only


@pytest.mark.parametrize("body", BODIES)
def test_classes_are_learnt_by_their_cross_entropy(body):
    its = objective(body, Labels("classification", ("a", "b", "c")))
    readings = [reading(row, label=n % 3) for n, row in enumerate(ROWS)]
    found = turn(its, readings)
    expected = 0.0
    for number, row in enumerate(ROWS):
        batch = collate_readings([readings[number]], "classification")
        state = its.model.summarize(hidden_of(its.model, row), batch.packing)
        logits = its.model.head(state)[0]
        expected += math.log(sum(math.exp(x) for x in logits.tolist())) - logits[number % 3].item()
    assert found.loss_sum.item() == pytest.approx(expected, rel=1e-5)
    assert found.weight == 4


@pytest.mark.parametrize("body", ["gpt", "lstm"])
def test_the_auxiliary_loss_is_the_mean_over_each_sequences_next_tokens(body):
    labels = Labels("classification", ("a", "b"))
    readings = [reading(ROWS[0], ROWS[1], label=0), reading(ROWS[2], label=1)]
    plain = turn(objective(body, labels), readings).loss_sum
    its = objective(body, labels, auxiliary=0.5)
    found = turn(its, readings).loss_sum - plain
    expected = 0.0
    for rows in ((ROWS[0], ROWS[1]), (ROWS[2],)):
        for row in rows:
            logits = hidden_of(its.model, row)[:-1] @ its.model.predicts.weight.T
            loss = functional.cross_entropy(logits, torch.tensor(row[1:]))
            expected += 0.5 * loss.item() / len(rows)
    assert found.item() == pytest.approx(expected, rel=1e-4)


def test_the_step_does_not_depend_on_how_a_batch_is_cut():
    its = objective("gpt", Labels("classification", ("a", "b")), auxiliary=0.5)
    readings = [reading(row, label=n % 2) for n, row in enumerate(ROWS)]
    whole = turn(its, readings)
    parts = [turn(its, [one]) for one in readings]
    torch.testing.assert_close(whole.loss_sum, sum(part.loss_sum for part in parts))
    assert whole.weight == sum(part.weight for part in parts)


def test_numbers_are_learnt_by_their_squared_error_and_correlated():
    its = objective("bert", Labels("regression", mean=2.0, deviation=3.0))
    readings = [reading(row, label=value) for row, value in zip(ROWS, (0.5, -1, 2, 0), strict=True)]
    batch = collate_readings(readings, "regression")
    outputs = its.outputs(its.model(batch.tokens, batch.packing, batch.segments), batch).detach()
    assert turn(its, readings).loss_sum.item() == pytest.approx(
        sum((x - y) ** 2 for x, y in zip(outputs.tolist(), (0.5, -1, 2, 0), strict=True)), rel=1e-5
    )
    measured = its.measure(batch)
    summary = its.summarize({name: value / weight for name, (value, weight) in measured.items()})
    expected = torch.corrcoef(torch.stack((outputs, batch.labels)))[0, 1].item()
    assert summary["pearson"] == pytest.approx(expected, rel=1e-4)
    assert set(summary) == {"loss", "pearson"}


def test_choices_share_one_softmax():
    its = objective("gpt", Labels("choice"))
    readings = [reading(ROWS[0], ROWS[1], ROWS[2], label=2), reading(ROWS[3], ROWS[0], label=0)]
    scores = []
    for row in (*ROWS[:3], ROWS[3], ROWS[0]):
        scores.append(its.model.head(hidden_of(its.model, row)[-1]))
    scores = torch.cat(scores)
    expected = functional.cross_entropy(scores[:3], torch.tensor(2))
    expected = expected + functional.cross_entropy(scores[3:], torch.tensor(0))
    found = turn(its, readings)
    torch.testing.assert_close(found.loss_sum, expected)
    assert found.weight == 2
    measured = its.measure(collate_readings(readings, "choice"))
    right = int(scores[:3].argmax() == 2) + int(scores[3:].argmax() == 0)
    assert measured["accuracy"] == (right, 2)


def test_tags_are_learnt_word_by_word():
    labels = Labels("tagging", ("B-X", "I-X", "O"))
    its = objective("bert", labels)
    readings = [
        reading(ROWS[0], places=[(0, 1), (0, 2)], labels=[0, 1]),
        reading(ROWS[2], ROWS[3], places=[(0, 1), (1, 1)], labels=[2, 0]),
    ]
    chosen = [(ROWS[0], 1, 0), (ROWS[0], 2, 1), (ROWS[2], 1, 2), (ROWS[3], 1, 0)]
    expected, right = 0.0, 0
    for row, place, label in chosen:
        logits = its.model.head(hidden_of(its.model, row)[place])
        expected += functional.cross_entropy(logits, torch.tensor(label)).item()
        right += int(logits.argmax() == label)
    found = turn(its, readings)
    assert found.loss_sum.item() == pytest.approx(expected, rel=1e-5)
    assert found.weight == 4
    measured = its.measure(collate_readings(readings, "tagging"))
    assert measured["accuracy"] == (right, 4)
    assert measured["spans.given"] == (2, 2)


def test_a_spans_ends_are_normalised_over_all_windows_of_a_context():
    its = objective("bert", Labels("span"))
    windows = reading(
        ROWS[0],
        ROWS[2],
        places=[(0, 2), (0, 3), (1, 2), (1, 3), (1, 4)],
        labels=[0, 1, 1, 0, 2],
        spans=[(0, 1)] * 5,
    )
    lost = reading(ROWS[3], places=[(0, 1)], labels=[0], spans=[(0, 1)])
    states = torch.cat((hidden_of(its.model, ROWS[0])[2:4], hidden_of(its.model, ROWS[2])[2:5]))
    starts, ends = its.model.head(states).unbind(1)
    right = starts.softmax(0)[[1, 2]].sum().log() + ends.softmax(0)[4].log()
    found = turn(its, [windows, lost])
    torch.testing.assert_close(found.loss_sum, -right / 2)
    assert found.weight == 1  # the answer that no window holds teaches nothing
    found.loss_sum.backward()
    assert all(p.grad is None or p.grad.isfinite().all() for p in its.model.parameters())


def test_the_best_span_is_that_of_trying_all_pairs():
    torch.manual_seed(1)
    rows = torch.tensor([0] * 5 + [1] * 5)
    positions = torch.tensor([0, 3, 4, 5, 6, 0, 3, 4, 5, 6])
    for _ in range(20):
        outputs = torch.randn(10, 2)
        pairs = [
            (a, b)
            for a in range(10)
            for b in range(a, 10)
            if rows[a] == rows[b] and (positions[a] > 0 or a == b)
        ]
        expected = max(pairs, key=lambda pair: outputs[pair[0], 0] + outputs[pair[1], 1])
        assert best_span(outputs, rows, positions) == expected


def test_groups_are_summed_and_searched_apart():
    scores, owners = torch.tensor([1.0, 2.0, 900.0, -3.0]), torch.tensor([0, 0, 1, 2])
    found = grouped_logsumexp(scores, owners, 4)
    assert found[:3].tolist() == pytest.approx([math.log(math.e + math.e**2), 900, -3])
    assert found[3] == -math.inf
    assert grouped_argmax(scores, owners, 3).tolist() == [1, 0, 0]


def test_validation_gives_f1_and_matthews_of_all_batches_together():
    its = objective("bert", Labels("classification", ("a", "b")))
    readings = [reading([n, n + 1, 5], label=n % 2) for n in range(3, 20)]
    batches = [collate_readings(readings[:9], "classification")]
    batches.append(collate_readings(readings[9:], "classification"))
    sums: dict[str, list[float]] = {}
    for batch in batches:
        for name, (value, weight) in its.measure(batch).items():
            total = sums.setdefault(name, [0.0, 0.0])
            total[0] += value
            total[1] += weight
    summary = its.summarize({name: value / weight for name, (value, weight) in sums.items()})
    whole = collate_readings(readings, "classification")
    outputs = its.outputs(its.model(whole.tokens, whole.packing, whole.segments), whole)
    guesses, labels = outputs.argmax(1).tolist(), whole.labels.tolist()
    both = sum(g and r for g, r in zip(guesses, labels, strict=True))
    assert summary["f1"] == pytest.approx(2 * both / max(1, sum(guesses) + sum(labels)))
    assert summary["accuracy"] == pytest.approx(
        sum(g == r for g, r in zip(guesses, labels, strict=True)) / len(labels)
    )
    assert set(summary) == {"loss", "accuracy", "f1", "matthews"}


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({}, ""),
        ({"label_smoothing": 0.1}, ""),  # validation's loss has it as well
        ({"auxiliary": 0.5}, "0.5 x next-token loss"),
    ],
)
def test_what_the_training_loss_has_more_than_validations_is_told(settings, told):
    its = objective("gpt", Labels("classification", ("a", "b")), **settings)
    readings = [reading(row, label=n % 2) for n, row in enumerate(ROWS)]
    loss, _ = its.measure(collate_readings(readings, "classification"))["loss"]
    found = turn(its, readings).loss_sum.item()
    assert (found == pytest.approx(loss, rel=1e-5)) == (told == "")
    assert its.loss_includes == told
