import pytest
import torch

from landmark.data.batch import TranslationBatch
from landmark.data.translation.pairs import collate_pairs
from landmark.models.transformer.translator import TransformerConfig, Translator
from landmark.objectives.translation import TranslationConfig, TranslationObjective

PAIRS = [([5, 6, 7], [8, 9]), ([5, 8], [4, 4, 4, 6]), ([9], [7])]


def batch() -> TranslationBatch:
    return collate_pairs([source for source, _ in PAIRS], [target for _, target in PAIRS], 1, 2)


def objective(dropout: float, **config: float) -> TranslationObjective:
    torch.manual_seed(0)
    model = Translator(
        TransformerConfig(
            vocab_size=12,
            hidden_size=8,
            inner_size=16,
            num_heads=2,
            encoder_layers=1,
            decoder_layers=1,
            dropout=dropout,
            max_length=16,
        )
    )
    return TranslationObjective(model.train(), TranslationConfig(**config))


def test_two_passes_without_dropout_agree_and_give_the_plain_loss_twice() -> None:
    (plain,) = objective(0.0).turns(batch(), 1)
    (twice,) = objective(0.0, consistency=5.0).turns(batch(), 1)
    assert twice.weight == 2 * plain.weight == 20
    torch.testing.assert_close(twice.loss_sum, 2 * plain.loss_sum)
    for name, value in plain.metrics.items():
        torch.testing.assert_close(twice.metrics[name], 2 * value)


def test_two_passes_with_dropout_are_punished_for_their_difference() -> None:
    weak, strong = (
        next(objective(0.5, consistency=weight).turns(batch(), 1)) for weight in (1e-9, 5.0)
    )
    assert weak.metrics["nll"] == strong.metrics["nll"]  # the same draws of dropout
    assert strong.loss_sum > weak.loss_sum + 0.01


@pytest.mark.parametrize(("step", "passes"), [(1, 1), (9, 1), (10, 2), (11, 2)])
def test_the_second_pass_begins_at_the_step_that_was_asked_for(step: int, passes: int) -> None:
    (turn,) = objective(0.1, consistency=5.0, consistency_from=10).turns(batch(), step)
    assert turn.weight == passes * 10


def test_validation_is_one_pass() -> None:
    plain, twice = (objective(0.0, consistency=c).measure(batch()) for c in (0.0, 5.0))
    assert plain == twice
    assert plain["loss"][1] == 10


def test_a_batch_twice_is_two_batches_behind_each_other() -> None:
    one = batch()
    two = one.twice()
    for name in ("source", "target", "labels"):
        assert torch.equal(getattr(two, name), torch.cat([getattr(one, name)] * 2))
    for side in ("source_packing", "target_packing"):
        before, after = getattr(one, side), getattr(two, side)
        assert torch.equal(after.lengths, torch.cat([before.lengths] * 2))
        assert after.num_tokens == 2 * before.num_tokens
        assert torch.equal(after.positions, torch.cat([before.positions] * 2))
