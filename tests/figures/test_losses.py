"""Losses of runs from their logs: by step, tokens or minutes; several runs compared."""

import warnings

import pytest
from matplotlib.image import imread

from landmark.core.errors import UserError
from landmark.engine.run import Run
from landmark.figures import losses
from landmark.figures.losses import draw_comparison, loss_curves, loss_points, save_comparison

TRAIN = [
    {"kind": "train", "step": step, "loss": 9.0, "nll": 8.0 - step / 10, "seconds": 6.0 * step}
    for step in (10, 20, 30)
]
VALID = [
    {"kind": "valid", "step": 15, "loss": 5.0, "accuracy": 0.5, "best": True},
    {"kind": "valid", "step": 30, "loss": 4.0, "accuracy": 0.6, "best": True},
]
REST = [{"kind": "data", "pairs": 3}, {"kind": "end", "step": 30, "seconds": 180.0}]


def drawn(logs):
    """The two axes of a comparison."""
    return draw_comparison({name: loss_curves(records) for name, records in logs.items()}).axes


def test_training_is_the_plain_loss_that_compares_with_validation():
    by_step, _ = drawn({"runs/a": [REST[0], *TRAIN[:2], VALID[0], TRAIN[2], VALID[1], REST[1]]})
    training, validation = by_step.lines
    assert list(zip(*training.get_data(), strict=True)) == [(10, 7.0), (20, 6.0), (30, 5.0)]
    assert list(zip(*validation.get_data(), strict=True)) == [(15, 5.0), (30, 4.0)]
    labels = [text.get_text() for text in by_step.get_legend().get_texts()]
    assert labels == ["runs/a: training loss", "runs/a: validation loss"]


def test_every_validation_has_its_place_in_time():
    _, by_time = drawn({"a": [*TRAIN, *VALID]})
    training, validation = by_time.lines
    assert list(training.get_xdata()) == pytest.approx([1.0, 2.0, 3.0])
    assert list(validation.get_xdata()) == pytest.approx([1.5, 3.0])
    assert by_time.get_xlabel() == "minutes of training"


def test_each_run_has_a_colour():
    by_step, _ = drawn({"a": [*TRAIN, *VALID], "b": TRAIN[:1]})
    first, second, other = (line.get_color() for line in by_step.lines)
    assert first == second != other


def test_each_player_has_a_curve_of_its_own():
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
def test_a_run_that_has_hardly_begun_is_no_fault(records):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        by_step, by_time = drawn({"a": records})
    assert len(by_step.lines) == (1 if records is VALID else 0)
    assert by_time.lines[:] == []


def test_many_runs_are_shared_out_over_panels():
    panels = drawn({f"run {number}": [*TRAIN, *VALID] for number in range(8)})
    assert sum(len(axes.lines) for axes in panels) == 2 * 2 * 8  # by step and by time
    assert all(len(axes.lines) <= 6 for axes in panels)
    record = losses.Losses("step", {f"run {n}": loss_curves(TRAIN + VALID) for n in range(8)})
    titles = [axes.get_title() for axes in losses.draw(record).axes]
    assert titles == ["training", "validation"] * 2


def test_a_comparison_is_written_whole_or_not_at_all(tmp_path):
    save_comparison({"a": TRAIN, "$b$": VALID}, tmp_path / "x.png")
    assert imread(tmp_path / "x.png").std() > 0
    with pytest.raises(UserError, match="cannot be written"):
        save_comparison({"a": TRAIN}, tmp_path / "no" / "x.png")


LOG = [
    {"kind": "data", "tokens": 7},
    {"kind": "train", "step": 10, "loss": 4.0, "weight": 100.0, "seconds": 60.0},
    {"kind": "valid", "step": 15, "loss": 3.5, "best": True},
    {"kind": "train", "step": 20, "loss": 3.0, "weight": 300.0, "seconds": 180.0},
    {"kind": "end", "step": 20, "seconds": 180.0},
]


def test_a_loss_has_its_step_and_the_tokens_and_minutes_until_then():
    assert loss_points(LOG, "train") == {
        "loss": [
            {"loss": 4.0, "step": 10, "tokens": 100.0, "minutes": 1.0},
            {"loss": 3.0, "step": 20, "tokens": 400.0, "minutes": 3.0},
        ]
    }
    assert loss_points(LOG, "valid") == {
        "loss": [{"loss": 3.5, "step": 15, "tokens": 250.0, "minutes": 2.0}]
    }


def test_a_log_that_does_not_tell_leaves_it_out():
    records = [{"kind": "valid", "step": 15, "loss": 3.5, "best": True}]
    assert loss_points(records, "valid") == {"loss": [{"loss": 3.5, "step": 15}]}
    assert loss_points(records, "train") == {}


def test_every_player_has_its_loss():
    records = [{"kind": "train", "step": 1, "generator_loss": 1.0, "discriminator_loss": 2.0}]
    assert set(loss_points(records, "train")) == {"generator loss", "discriminator loss"}


def test_losses_are_drawn_against_steps_tokens_or_minutes(make, pretrained_runs, tmp_path):
    runs = [pretrained_runs["gpt"], pretrained_runs["lstm"]]
    for by in ("step", "tokens", "minutes"):
        picture = tmp_path / f"{by}.png"
        made = make("losses", runs=runs, by=by, log=True, output=picture)
        assert made.rows[0].split()[:3] == ["run", "training", "validation"]
        assert [line.split()[0] for line in made.rows[1:]] == ["gpt", "lstm"]
        assert imread(picture).std() > 0
    record = make("losses", runs=runs[:1], output=picture).json()
    assert (record["by"], list(record["runs"])) == ("step", ["gpt"])
    log = Run.open(runs[0]).read_log()
    valid = [(entry["step"], entry["loss"]) for entry in log if entry["kind"] == "valid"]
    points = record["runs"]["gpt"]["valid"]["loss"]
    assert [(point["step"], point["loss"]) for point in points] == valid
    assert all(point["tokens"] > 0 and point["minutes"] > 0 for point in points)


def test_bad_input_is_refused(refused, pretrained_runs, tmp_path):
    gpt, picture = pretrained_runs["gpt"], tmp_path / "x.png"
    assert "there is no such run" in refused("losses", runs=[tmp_path / "no"], output=picture)
    assert "is given twice" in refused("losses", runs=[gpt, gpt], output=picture)
    assert "--by" in refused("losses", runs=[gpt], by="weeks")
    assert "cannot be written" in refused("losses", runs=[gpt], output=tmp_path / "x.html")


def test_a_run_that_has_not_begun_has_no_losses_to_draw(refused, pretrained_runs, tmp_path):
    folder, picture = tmp_path / "begun", tmp_path / "x.png"
    folder.mkdir()
    (folder / "recipe.yaml").write_bytes((pretrained_runs["gpt"] / "recipe.yaml").read_bytes())
    (folder / "log.jsonl").write_text('{"kind": "data", "tokens": 9}\n')
    assert "begun: its log has no loss yet" in refused("losses", runs=[folder], output=picture)
    (folder / "log.jsonl").write_text('{"kind": "valid", "step": 1, "loss": 2.0, "best": true}\n')
    said = refused("losses", runs=[folder], by="tokens", output=picture)
    assert "does not contain tokens" in said
