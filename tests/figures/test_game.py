"""The game of a GAN on points, drawn from the checkpoints of a real training."""

import numpy as np
import pytest
from matplotlib.image import imread
from PIL import Image
from scipy import integrate

from landmark.core.errors import UserError
from landmark.tasks.training import train
from tests.figures.drawing import as_json, make

STEPS = ["trainer.max_steps=60", "trainer.validate_every=20", "trainer.checkpoint_every=20"]
SMALL = [*STEPS, "trainer.keep_last=9", "data.batch_size=64", "data.batches=5", "threads=1"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Runs on a line and on a ring."""
    folder = tmp_path_factory.mktemp("games")
    line = ["data.noise_size=1", "data.prior=uniform"]
    train("gan-gaussian", folder / "line", [*SMALL, *line])
    train("gan-ring", folder / "ring", SMALL)
    train("gan-ring", folder / "packed", [*SMALL, "objective.pack=2"])
    return folder


def test_a_line_shows_densities_opinions_and_where_noise_goes(folder, tmp_path):
    drawn = make("game", run=folder / "line", output=tmp_path / "game.png")
    game = drawn.record
    assert [frame.step for frame in game.frames] == [20, 40, 60]
    assert integrate.trapezoid(game.data, game.places) == pytest.approx(1, abs=1e-3)
    for frame in game.frames:
        inside = (frame.arrows > game.places[0]) & (frame.arrows < game.places[-1])
        if inside.all():
            area = integrate.trapezoid(frame.generated, game.places)
            assert area == pytest.approx(1, abs=0.02)
        assert len(frame.arrows) == 25
        assert np.all((frame.opinion > 0) & (frame.opinion < 1))
    assert len(drawn.rows) == 4
    assert imread(tmp_path / "game.png").std() > 0
    assert len(as_json(drawn)["frames"]) == 3


def test_a_plane_is_a_film_with_a_frame_for_each_checkpoint(folder, tmp_path):
    drawn = make("game", run=folder / "ring", output=tmp_path / "game.gif")
    assert drawn.record.modes == 8
    assert drawn.record.frames[0].opinion.shape == drawn.record.data.shape
    with Image.open(tmp_path / "game.gif") as film:
        assert film.n_frames == 3
    make("game", run=folder / "ring", output=tmp_path / "game.png", count=2)


def test_packs_have_no_opinion_of_one_point(folder, tmp_path):
    with pytest.raises(UserError, match="judges packs of 2 points"):
        make("game", run=folder / "packed", output=tmp_path / "game.png")
