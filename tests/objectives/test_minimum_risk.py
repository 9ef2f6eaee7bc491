import pytest
import sacrebleu
import torch

from landmark.core.configuration import Origin, build
from landmark.core.errors import UserError
from landmark.data.translation.pairs import collate_pairs
from landmark.decoding.beam_search import SearchConfig
from landmark.layers.packing import Packing
from landmark.models.transformer.translator import TransformerConfig, Translator
from landmark.objectives.minimum_risk import Language, MinimumRiskObjective, expected_risk
from landmark.objectives.translation import TranslationConfig, TranslationObjective

BEGIN, END = 1, 2
SOURCES = [[5, 6, 7], [5, 8], [9]]
TARGETS = [[8, 9, 3, 4], [4, 4, 5, 6, 7], [7, 3, 10]]


def write(sentences) -> list[str]:
    return [" ".join(f"w{token}" for token in tokens) for tokens in sentences]


def objective(risk: float, dropout: float = 0.0) -> MinimumRiskObjective:
    torch.manual_seed(0)
    model = Translator(
        TransformerConfig(
            vocab_size=12,
            hidden_size=16,
            inner_size=32,
            num_heads=2,
            encoder_layers=1,
            decoder_layers=1,
            dropout=dropout,
            max_length=16,
        )
    )
    return MinimumRiskObjective(
        model.train(),
        TranslationConfig(risk=risk, candidates=3),
        Language(BEGIN, END, write),
        SearchConfig(max_ratio=1.0, max_extra=3, length_penalty=1.0),
    )


def batch(numbers=(0, 1, 2)):
    return collate_pairs([SOURCES[n] for n in numbers], [TARGETS[n] for n in numbers], BEGIN, END)


def test_the_expectation_is_a_mean_weighted_by_softmax() -> None:
    torch.manual_seed(0)
    lengths, owners = torch.tensor([2, 3, 1, 4]), torch.tensor([0, 0, 1, 1])
    losses = torch.rand(10, dtype=torch.float64, requires_grad=True)
    risks = torch.rand(4, dtype=torch.float64)
    found = expected_risk(losses, lengths, risks, owners)
    scores = torch.stack([-part.mean() for part in losses.split(lengths.tolist())])
    wanted = torch.stack(
        [(scores[:2].softmax(0) * risks[:2]).sum(), (scores[2:].softmax(0) * risks[2:]).sum()]
    )
    torch.testing.assert_close(found, wanted)
    gradients = [
        torch.autograd.grad(x.sum(), losses, retain_graph=True)[0] for x in (found, wanted)
    ]
    torch.testing.assert_close(*gradients)


def test_the_risk_of_a_turn_is_that_of_each_sentence_on_its_own() -> None:
    its = objective(1.0)
    (turn,) = its.turns(batch(), 1)
    total = 0.0
    for number, (source, target) in enumerate(zip(SOURCES, TARGETS, strict=True)):
        (candidates,) = its._candidates(batch([number]))
        assert len(candidates) == 3
        scores, risks = [], []
        for tokens in candidates:
            one = collate_pairs([source], [list(tokens)], BEGIN, END)
            hidden = its.model(one.source, one.source_packing, one.target, one.target_packing)
            chosen = its.model.logits(hidden).log_softmax(-1).gather(1, one.labels[:, None])
            scores.append(chosen.mean())
            bleu = sacrebleu.sentence_bleu(
                write([tokens])[0],
                write([target]),
                smooth_method="add-k",
                smooth_value=1,
                tokenize="none",
            )
            risks.append(1 - bleu.score / 100)
        weights = torch.stack(scores).softmax(0)
        total += (len(target) + 1) * sum(w * r for w, r in zip(weights, risks, strict=True))
    torch.testing.assert_close(turn.loss_sum, total, rtol=1e-4, atol=1e-4)
    assert turn.metrics["risk"] == turn.loss_sum
    assert turn.weight == sum(len(target) + 1 for target in TARGETS)


def test_with_little_risk_the_loss_is_nearly_the_plain_one() -> None:
    (turn,) = objective(1e-6).turns(batch(), 1)
    plain = TranslationObjective(objective(0.5).model, TranslationConfig())
    (usual,) = plain.turns(batch(), 1)
    torch.testing.assert_close(turn.loss_sum, usual.loss_sum, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(turn.metrics["nll"], usual.metrics["nll"])


def learn(its: TranslationObjective, steps: int) -> list[float]:
    """Train on the batch; the risk of each step, where there is one."""
    optimizer = torch.optim.Adam(its.model.parameters(), 3e-3)
    risks = []
    for step in range(steps):
        (turn,) = its.turns(batch(), step)
        optimizer.zero_grad()
        (turn.loss_sum / turn.weight).backward()
        optimizer.step()
        risks.append(float(turn.metrics.get("risk", 0)) / turn.weight)
    return risks


def test_the_risk_falls_when_it_is_trained_on() -> None:
    its = objective(1.0)
    learn(TranslationObjective(its.model, TranslationConfig()), 25)  # to know a little
    risks = learn(its, 120)
    assert its.model.training
    assert sum(risks[-5:]) < 0.6 * sum(risks[:5])


def test_a_batch_of_unequal_sources_keeps_each_candidate_beside_its_own(monkeypatch) -> None:
    its = objective(1.0)
    seen = {}
    forward = its.model.forward

    def watch(source, source_packing, target, target_packing):
        seen["sources"] = [row.tolist() for row in source.split(source_packing.lengths.tolist())]
        assert isinstance(target_packing, Packing)
        return forward(source, source_packing, target, target_packing)

    monkeypatch.setattr(its.model, "forward", watch)
    next(its.turns(batch(), 1))
    closed = [[*source, END] for source in SOURCES]
    assert seen["sources"] == closed + [source for source in closed for _ in range(3)]


def test_risk_is_refused_beside_what_it_cannot_be_had_with() -> None:
    for other in ("consistency", "own_words"):
        with pytest.raises(UserError, match="risk cannot be had together"):
            build(TranslationConfig, {"risk": 0.5, other: 0.5}, Origin("test"))
