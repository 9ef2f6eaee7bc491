import warnings

import pytest
from matplotlib.figure import Figure

from landmark.plots import curve

TRAIN = [
    {"kind": "train", "step": step, "loss": 9.0, "nll": 8.0 - step / 10, "seconds": 6.0 * step}
    for step in (10, 20, 30)
]
VALID = [
    {"kind": "valid", "step": 15, "loss": 5.0, "accuracy": 0.5, "best": True},
    {"kind": "valid", "step": 30, "loss": 4.0, "accuracy": 0.6, "best": True},
]
REST = [{"kind": "data", "pairs": 3}, {"kind": "end", "step": 30, "seconds": 180.0}]


@pytest.fixture
def drawn(monkeypatch, tmp_path):
    """The two axes of a figure as it is saved."""
    figures = []
    save = Figure.savefig

    def keep(figure, *arguments, **options):
        figures.append(figure)
        save(figure, *arguments, **options)

    monkeypatch.setattr(Figure, "savefig", keep)

    def draw(logs):
        curve.save_curves(logs, tmp_path / "out.png")
        assert (tmp_path / "out.png").read_bytes().startswith(b"\x89PNG")
        return figures[-1].axes

    return draw


def test_training_is_the_plain_loss_that_compares_with_validation(drawn):
    by_step, _ = drawn({"runs/a": [REST[0], *TRAIN[:2], VALID[0], TRAIN[2], VALID[1], REST[1]]})
    training, validation = by_step.lines
    assert list(zip(*training.get_data(), strict=True)) == [(10, 7.0), (20, 6.0), (30, 5.0)]
    assert list(zip(*validation.get_data(), strict=True)) == [(15, 5.0), (30, 4.0)]
    labels = [text.get_text() for text in by_step.get_legend().get_texts()]
    assert labels == ["runs/a: training loss", "runs/a: validation loss"]


def test_every_validation_has_its_place_in_time(drawn):
    _, by_time = drawn({"a": [*TRAIN, *VALID]})
    training, validation = by_time.lines
    assert list(training.get_xdata()) == pytest.approx([1.0, 2.0, 3.0])
    assert list(validation.get_xdata()) == pytest.approx([1.5, 3.0])
    assert by_time.get_xlabel() == "minutes of training"


def test_each_run_has_a_colour(drawn):
    by_step, _ = drawn({"a": [*TRAIN, *VALID], "b": TRAIN[:1]})
    colours = [line.get_color() for line in by_step.lines]
    assert colours == ["C0", "C0", "C1"]


def test_each_player_has_a_curve_of_its_own(drawn):
    records = [
        {"kind": "train", "step": 1, "generator_loss": 1.0, "discriminator_loss": 2.0, "seconds": 1}
    ]
    by_step, _ = drawn({"gan": records})
    assert [line.get_label() for line in by_step.lines] == [
        "gan: training generator loss",
        "gan: training discriminator loss",
    ]
    assert len({line.get_linestyle() for line in by_step.lines}) == 2


@pytest.mark.parametrize("records", [[], REST, VALID])
def test_a_run_that_has_hardly_begun_is_no_fault(drawn, records):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        by_step, by_time = drawn({"a": records})
    assert len(by_step.lines) == (1 if records is VALID else 0)
    assert by_time.lines[:] == []


def test_figures_that_cannot_be_written_raise(tmp_path):
    with pytest.raises(OSError, match="No such file"):
        curve.save_curves({"a": TRAIN}, tmp_path / "no" / "x.png")
    with pytest.raises(ValueError, match="not supported"):
        curve.save_curves({"a": TRAIN}, tmp_path / "x.nonsense")
