"""The two losses of pretraining against a plain computation, and against transformers' own."""

import dataclasses

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from transformers import BertConfig, BertForPreTraining
from transformers.modeling_outputs import BaseModelOutputWithPoolingAndCrossAttentions

from landmark.data.batch import MaskedBatch
from landmark.data.masked_text import MaskedTokenConfig
from landmark.layers.packing import Packing
from landmark.models.transformer.bert import BERTConfig, PretrainedBERT
from landmark.objectives.masked_token import MaskedTokenObjective

SHAPE = BERTConfig(
    vocab_size=40, hidden_size=16, inner_size=24, num_heads=2, num_layers=1, max_length=12,
    dropout=0, attention_dropout=0,
)  # fmt: skip


def batch(kinds: tuple[int, ...] = (0, 1, -1)) -> MaskedBatch:
    """Three texts with two, two and one hidden tokens."""
    torch.manual_seed(3)
    lengths = torch.tensor([6, 5, 4])
    return MaskedBatch(
        tokens=torch.randint(5, 40, (15,)),
        packing=Packing(lengths),
        segments=torch.tensor([0, 0, 0, 1, 1, 1, 0, 0, 1, 1, 1, 0, 0, 0, 0]),
        places=torch.tensor([1, 4, 7, 9, 12]),
        labels=torch.tensor([7, 8, 9, 10, 11]),
        kinds=torch.tensor(kinds),
    )


def objective(**settings: object) -> MaskedTokenObjective:
    torch.manual_seed(1)
    model = PretrainedBERT(SHAPE)
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.3)
    return MaskedTokenObjective(model, MaskedTokenConfig(**settings))


def test_the_loss_is_that_of_plain_torch_over_the_whole_output() -> None:
    ours, given = objective(), batch()
    (turn,) = ours.turns(given, 1)
    model = ours.model
    hidden = model(given.tokens, given.packing, given.segments)
    head = model.heads
    transformed = F.layer_norm(
        F.gelu(hidden @ head.transform.weight.T + head.transform.bias), (16,), head.norm.weight,
        head.norm.bias, 1e-12,
    )  # fmt: skip
    logits = transformed @ model.bert.embedding.weight.T + head.output.bias
    labels = torch.full((15,), -100)
    labels[given.places] = given.labels
    masked = nn.CrossEntropyLoss(reduction="sum")(logits, labels)
    pooled = torch.tanh(hidden[[0, 6, 11]] @ model.bert.pooler.weight.T + model.bert.pooler.bias)
    judged = pooled @ head.next.weight.T + head.next.bias
    each = [-judged[0].log_softmax(0)[0], -judged[1].log_softmax(0)[1]]
    torch.testing.assert_close(turn.loss_sum, masked + 2 * each[0] + 2 * each[1])
    assert turn.weight == 5
    right = (logits.argmax(1) == labels).sum()
    assert turn.metrics["masked_accuracy"] == right
    torch.testing.assert_close(turn.metrics["masked_loss"], masked.detach())
    measured = ours.measure(given)
    assert measured["loss"] == pytest.approx((masked.item(), 5))
    assert measured["next_sentence_loss"] == pytest.approx(((each[0] + each[1]).item(), 2))
    is_right = int(judged[0].argmax() == 0) + int(judged[1].argmax() == 1)
    assert measured["next_sentence_accuracy"] == (is_right, 2)


def test_with_equally_many_hidden_tokens_it_is_transformers_sum_of_two_means() -> None:
    given = batch((0, 1, 1))
    given = dataclasses.replace(
        given, places=torch.tensor([1, 4, 7, 9, 12, 13]), labels=torch.tensor([7, 8, 9, 10, 11, 12])
    )
    ours = objective()
    config = BertConfig(
        vocab_size=40, hidden_size=16, intermediate_size=24, num_attention_heads=2,
        num_hidden_layers=1, max_position_embeddings=12, hidden_dropout_prob=0,
        attention_probs_dropout_prob=0,
    )  # fmt: skip
    theirs = BertForPreTraining(config).eval()
    hidden = ours.model(given.tokens, given.packing, given.segments)
    grid, visible = given.packing.unpack(hidden), given.packing.visible[:, 0, 0]
    labels = torch.full((15, 1), -100)
    labels[given.places, 0] = given.labels
    # Their heads on our states: how the two losses come together is theirs alone.
    heads = {
        "predictions.bias": ours.model.heads.output.bias,
        "predictions.decoder.weight": ours.model.heads.output.weight,
        "predictions.decoder.bias": ours.model.heads.output.bias,
        **{f"predictions.transform.dense.{n}": p for n, p in
           ours.model.heads.transform.named_parameters()},
        **{f"predictions.transform.LayerNorm.{n}": p for n, p in
           ours.model.heads.norm.named_parameters()},
        **{f"seq_relationship.{n}": p for n, p in ours.model.heads.next.named_parameters()},
    }  # fmt: skip
    theirs.cls.load_state_dict(heads, strict=False)
    pooled = ours.model.bert.pool(hidden, given.packing)
    states = BaseModelOutputWithPoolingAndCrossAttentions(grid, pooled)
    theirs.bert.forward = lambda *_, **__: states
    padded = given.packing.unpack(labels + 100)[..., 0] - 100  # padding is not to be guessed
    answer = theirs(
        input_ids=torch.zeros_like(padded),
        attention_mask=visible.long(),
        labels=padded,
        next_sentence_label=given.kinds,
    )
    (turn,) = ours.turns(given, 1)
    torch.testing.assert_close(turn.loss_sum / turn.weight, answer.loss, atol=1e-5, rtol=1e-5)


def test_parts_of_a_batch_add_up_to_the_whole() -> None:
    ours, whole = objective(), batch()
    first = MaskedBatch(
        whole.tokens[:6], Packing(torch.tensor([6])), whole.segments[:6], whole.places[:2],
        whole.labels[:2], whole.kinds[:1],
    )  # fmt: skip
    rest = MaskedBatch(
        whole.tokens[6:], Packing(torch.tensor([5, 4])), whole.segments[6:], whole.places[2:] - 6,
        whole.labels[2:], whole.kinds[1:],
    )  # fmt: skip
    turns = [next(ours.turns(part, 1)) for part in (whole, first, rest)]
    torch.testing.assert_close(turns[0].loss_sum, turns[1].loss_sum + turns[2].loss_sum)
    assert turns[0].weight == turns[1].weight + turns[2].weight
    for name, value in turns[0].metrics.items():
        torch.testing.assert_close(value, turns[1].metrics[name] + turns[2].metrics[name])


def test_without_the_second_objective_nothing_is_said_of_it_or_learnt_for_it() -> None:
    ours = objective(next_sentence=False)
    (turn,) = ours.turns(batch((-1, -1, -1)), 1)
    turn.loss_sum.backward()
    assert turn.metrics.keys() == {"masked_loss", "masked_accuracy"}
    torch.testing.assert_close(turn.loss_sum.detach(), turn.metrics["masked_loss"])
    assert ours.model.heads.next.weight.grad is None
    assert ours.model.bert.pooler.weight.grad is None
    assert ours.model.bert.embedding.weight.grad is not None
    assert ours.measure(batch((-1, -1, -1))).keys() == {"loss", "masked_accuracy"}


@pytest.mark.parametrize(("next_sentence", "told"), [(True, "next-sentence loss"), (False, "")])
def test_what_the_training_loss_has_more_than_validations_is_told(next_sentence, told) -> None:
    its = objective(next_sentence=next_sentence)
    (turn,) = its.turns(batch(), 1)
    loss, _ = its.measure(batch())["loss"]
    assert (turn.loss_sum.item() == pytest.approx(loss, rel=1e-5)) == (told == "")
    assert its.loss_includes == told
