import pytest
import torch
import torch.nn.functional as F

from landmark.data.batch import WritingBatch
from landmark.data.translation.pairs import collate_pairs
from landmark.models.transformer.translator import TransformerConfig, Translator
from landmark.objectives import writing
from landmark.objectives.writing import WritingConfig, WritingObjective

PAIRS = [([5, 6, 7], [8, 9]), ([5, 8], [4, 4, 4, 6]), ([9], [7])]


def batch() -> WritingBatch:
    return collate_pairs([source for source, _ in PAIRS], [target for _, target in PAIRS], 1, 2)


def objective(**config: float) -> WritingObjective:
    torch.manual_seed(0)
    model = Translator(
        TransformerConfig(
            vocab_size=12,
            hidden_size=8,
            inner_size=16,
            num_heads=2,
            encoder_layers=1,
            decoder_layers=1,
            dropout=0.0,
            max_length=16,
        )
    )
    return WritingObjective(model.train(), WritingConfig(**config))


def test_the_loss_is_the_smoothed_cross_entropy_of_the_target_tokens() -> None:
    its, pairs = objective(label_smoothing=0.2), batch()
    (turn,) = its.turns(pairs, 1)
    hidden = its.model(pairs.source, pairs.source_packing, pairs.target, pairs.target_packing)
    logits = its.model.logits(hidden)
    expected = F.cross_entropy(logits, pairs.labels, label_smoothing=0.2, reduction="sum")
    torch.testing.assert_close(turn.loss_sum, expected)
    assert turn.weight == 10


def test_validation_is_without_smoothing() -> None:
    plain, smoothed = (objective(label_smoothing=s).measure(batch()) for s in (0.0, 0.3))
    assert plain == smoothed
    (turn,) = objective(label_smoothing=0.0).turns(batch(), 1)
    assert plain["loss"] == (pytest.approx(turn.loss_sum.item()), 10)


def test_the_share_of_own_words_grows_over_its_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    shares = []

    def mix(model, state, target, packing, share):
        shares.append(share)
        return target

    monkeypatch.setattr(writing, "mix_in_own_words", mix)
    its = objective(scheduled_sampling=0.5, scheduled_sampling_steps=10)
    for step in (1, 5, 10, 30):
        list(its.turns(batch(), step))
    assert shares == [0.05, 0.25, 0.5, 0.5]


@pytest.mark.parametrize(
    ("config", "told"),
    [
        ({"label_smoothing": 0.0}, ""),
        ({"label_smoothing": 0.3}, "label smoothing 0.3"),
        ({"label_smoothing": 0.0, "scheduled_sampling": 1.0}, "scheduled sampling"),
        ({"scheduled_sampling": 0.5}, "label smoothing 0.1, scheduled sampling"),
    ],
)
def test_what_keeps_the_training_loss_from_being_validations_is_told(config, told) -> None:
    its = objective(**config)
    (turn,) = its.turns(batch(), 1)
    loss, _ = its.measure(batch())["loss"]
    assert (turn.loss_sum.item() == pytest.approx(loss, rel=1e-5)) == (its.loss_includes == "")
    assert its.loss_includes == told
