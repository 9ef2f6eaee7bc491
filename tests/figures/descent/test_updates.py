"""A real training, watched."""

import pytest
import torch
from matplotlib.image import imread

from landmark.core.errors import UserError
from landmark.engine.run import Run
from landmark.figures import style
from landmark.figures.descent.updates import Updates, draw
from landmark.probes.descent.update import LayerUpdates
from tests.figures.drawing import as_json, make


def test_updates_of_a_recipe_are_drawn_told_and_given_as_json(tmp_path):
    picture = tmp_path / "u.png"
    drawn = make(
        "updates", recipe="lenet5-digits", overrides=["threads=1"], steps=6, output=picture
    )
    assert drawn.rows[0].split("  ")[0] == "median of all steps"
    layers = [line.split()[0] for line in drawn.rows[1:-1]]
    assert layers == ["c1", "c3", "c5", "f6", "output"]
    assert drawn.rows[-1].startswith("learning rate")
    assert imread(picture).std() > 0
    record = as_json(drawn)
    assert set(record) == {"recipe", "method", "learning_rates", "layers"}
    assert [one["layer"] for one in record["layers"]] == layers
    assert {len(one["shares"]) for one in record["layers"]} == {6}
    assert record["method"] == "adamw"
    assert not list(tmp_path.glob("*/"))  # no run is left behind


def test_plain_descent_has_one_effective_rate_which_is_the_schedules(tmp_path):
    words = ["optimizer.name=sgd", "optimizer.weight_decay=0", "schedule.rate=0.05", "threads=1"]
    drawn = make(
        "updates", recipe="lenet5-digits", overrides=words, steps=4, output=tmp_path / "u.png"
    )
    for one in drawn.record.layers:
        assert one.rates == pytest.approx(drawn.record.learning_rates, rel=0.01)


def test_every_player_of_a_game_is_watched(tmp_path):
    drawn = make(
        "updates", recipe="gan-gaussian", overrides=["threads=1"], steps=3,
        output=tmp_path / "u.png",
    )  # fmt: skip
    players = {one.layer.partition(":")[0] for one in drawn.record.layers}
    assert players == {"generator", "discriminator"}
    assert {len(one.rates) for one in drawn.record.layers} == {3}


def test_a_runs_own_training_begins_anew(tiny_run, tmp_path):
    record = make("updates", recipe=str(tiny_run), steps=3, output=tmp_path / "u.png").record
    assert record.method == "adam"
    assert len(record.layers) > 2
    assert Run(tiny_run).steps()[-1] == 12
    assert torch.tensor([one.shares for one in record.layers]).isfinite().all()


def test_many_layers_have_more_rows_rather_than_more_lines():
    layers = [LayerUpdates(f"layer {n}", [0.1, 0.0, 0.2], [0.1] * 3) for n in range(12)]
    axes = draw(Updates("r", "adam", [0.1] * 3, layers)).axes
    assert len(axes) == 2 * 2
    named = [[text.get_text() for text in one.get_legend().get_texts()] for one in axes[1::2]]
    assert [name for names in named for name in names if name.startswith("layer")] == [
        one.layer for one in layers
    ]
    assert all(len(names) <= style.MOST_LINES + 2 for names in named)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"recipe": "lenet5-digts"},
            r"unknown recipe 'lenet5-digts': did you mean lenet5-digits\?",
        ),
        (
            {"recipe": "lenet5-digits", "overrides": ["optimizer.nam=sgd"]},
            r"unknown key 'optimizer\.nam'",
        ),
        (
            {"recipe": "lenet5-digits", "overrides": ["optimizer.betas=[0.9,1]"]},
            r"optimizer\.betas\.1",
        ),
        ({"recipe": "lenet5-digits", "output": "no/u.png"}, "there is no folder no"),
    ],
)
def test_mistakes_are_named(tmp_path, monkeypatch, given, said):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=said):
        make("updates", **given)
