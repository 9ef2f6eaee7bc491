from matplotlib.image import imread

from landmark.figures import style
from tests.figures.drawing import as_json, make, module_of


def test_bias_correction_is_drawn_for_every_beta2_and_rate(tmp_path):
    picture = tmp_path / "b.png"
    drawn = make("bias", beta2=[0.9, 0.999], rate=[0.1, 0.01], steps=20, output=picture)
    assert drawn.rows[0].split()[-2:] == ["0.01", "0.1"]
    assert [line[:27].strip() for line in drawn.rows[1:]] == [
        f"beta2 {beta2}, {word}"
        for beta2 in (0.9, 0.999)
        for word in ("corrected", "not corrected")
    ]
    assert imread(picture).std() > 0
    record = as_json(drawn)
    assert set(record) == {"steps", "seed", "runs"}
    assert len(record["runs"]) == 8
    assert {len(run["losses"]) for run in record["runs"]} == {20}


def test_many_beta2s_have_more_rows_rather_than_more_lines(tmp_path):
    beta2s = [0.5, 0.9, 0.99, 0.999]
    drawn = make("bias", beta2=beta2s, rate=[0.01], steps=3, output=tmp_path / "b.png")
    axes = module_of("bias").draw(drawn.record).axes
    assert len(axes) == 2 * 3
    assert all(len(one.lines) <= style.MOST_LINES for one in axes)
