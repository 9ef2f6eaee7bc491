import sys

from examples import tour


def test_the_tour_runs_through(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["tour.py", str(tmp_path / "tour"), "--quick"])
    tour.main()
    said = capsys.readouterr().out
    first, last = (
        float(line.rpartition(" ")[2])
        for line in said.splitlines()
        if line.startswith("own loop, step")
    )
    assert last < first / 2
    for line in (
        "2015  resnet: ",
        "test: 360 images",
        "its first kernels: (6, 1, 5, 5)",
        "in bf16: ",
    ):
        assert line in said
    assert (tmp_path / "tour/maps.png").is_file()
    assert (tmp_path / "tour/translator-hf/README.md").is_file()
