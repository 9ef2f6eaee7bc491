from matplotlib.image import imread

from tests.figures.drawing import as_json, make


def test_momentum_is_drawn_beside_plain_descent(tmp_path):
    picture = tmp_path / "m.png"
    drawn = make("momentum", output=picture)
    names = ["gradient descent", "momentum, the same rate", "momentum, its own rate"]
    assert [line[:25].strip() for line in drawn.rows[1:]] == names
    assert "step" in drawn.rows[3]  # the last alone arrives
    assert "step" not in drawn.rows[1] + drawn.rows[2]
    assert imread(picture).std() > 0
    record = as_json(drawn)
    assert set(record) == {"steps", "plain", "same_rate", "own_rate"}
    assert len(record["plain"]["points"]) == 61
