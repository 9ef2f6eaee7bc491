"""A GAN of images in use: samples, ways between them, features, figures of merit, exports."""

import json

import numpy as np
import onnxruntime
import pytest
import torch
from PIL import Image
from torch import nn

import landmark
from landmark.core.errors import UserError
from landmark.data.noise import as_prior, to_normal
from landmark.engine.health import LossStatistics
from landmark.engine.state import TrainingState
from landmark.tasks.image_generation.validation import diagnose


@pytest.fixture(scope="module")
def pipeline(gan):
    return landmark.load(gan)


@pytest.fixture
def command(capsys):
    from landmark.cli.main import run

    def call(*words):
        code = run([str(word) for word in words])
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


def test_the_same_seed_makes_the_same_images(pipeline):
    first, again, other = pipeline.sample(3, 5), pipeline.sample(3, 5), pipeline.sample(3, 6)
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not np.array_equal(first[0], other[0])
    assert first[0].shape == (16, 16, 1)
    assert first[0].dtype == np.uint8


def test_an_image_does_not_depend_on_its_neighbours(pipeline):
    noise = pipeline.draw(300)
    alone = pipeline.generate(noise[7:8])[0].astype(int)
    assert np.abs(pipeline.generate(noise)[7].astype(int) - alone).max() <= 1


@pytest.mark.parametrize("noise", [np.zeros((2, 9)), np.zeros(8), np.full((1, 8), np.nan)])
def test_noise_of_a_wrong_size_is_refused(pipeline, noise):
    with pytest.raises(UserError, match="noise"):
        pipeline.generate(noise)


def test_a_way_goes_from_sample_to_sample(pipeline):
    samples, rows = pipeline.sample(3), pipeline.interpolate(2, 5, way="linear")
    for way in ("linear", "spherical"):
        rows = pipeline.interpolate(2, 5, way=way)
        assert [len(row) for row in rows] == [5, 5]
        for row, first, last in zip(rows, samples, samples[1:], strict=False):
            assert np.abs(row[0].astype(int) - first).max() <= 1
            assert np.abs(row[-1].astype(int) - last).max() <= 1


def test_a_spherical_way_keeps_the_length_of_its_noise():
    from landmark.tasks.image_generation.pipeline import _great_circle

    torch.manual_seed(1)
    first, last = (vector / vector.norm() for vector in torch.randn(2, 6))
    between = _great_circle(first, last, torch.linspace(0, 1, 7)[:, None])
    torch.testing.assert_close(between.norm(dim=1), torch.ones(7))
    angles = torch.arccos((between[1:] * between[:-1]).sum(1))
    torch.testing.assert_close(angles, angles[:1].expand(6), atol=1e-4, rtol=1e-4)


def test_uniform_noise_comes_from_normal_numbers_and_goes_back():
    normal = torch.randn(100, 4).clamp(-3, 3)
    back = to_normal(as_prior(normal, "uniform"), "uniform")
    torch.testing.assert_close(back, normal, atol=1e-3, rtol=1e-3)


def test_features_are_the_discriminators(pipeline):
    images = pipeline.sample(4)
    found = pipeline.features(images)
    given = pipeline.form.normalise(torch.from_numpy(np.stack(images)).permute(0, 3, 1, 2))
    with torch.no_grad():
        expected = pipeline.discriminator.features(given)
    np.testing.assert_allclose(found, expected.numpy(), atol=1e-5)


def test_figures_of_merit_stand_between_real_images_and_noise(pipeline):
    found = pipeline.evaluate(pipeline.split("valid"), pipeline.split("train"), count=100)
    assert found.floor.kid < found.noise.kid
    assert found.floor.fid < found.noise.fid
    assert found.floor.coverage > 0.8 > found.noise.coverage
    assert 0.5 < found.floor.variety < 2


def test_a_network_of_ones_own_judges(pipeline):
    own = nn.Sequential(nn.Flatten(), nn.Linear(256, 10))
    found = pipeline.evaluate(pipeline.split("valid"), pipeline.split("train"), count=50, judge=own)
    assert found.judge == "Sequential"
    with pytest.raises(UserError, match="features of shape"):
        pipeline.evaluate(
            pipeline.split("valid"), pipeline.split("train"), count=50, judge=nn.Identity()
        )


def test_the_nearest_image_is_the_nearest(pipeline):
    train = pipeline.split("train")
    shifted = [np.clip(train[n].astype(int) + 3, 0, 255).astype(np.uint8) for n in (4, 700, 1100)]
    assert [found.index for found in pipeline.nearest(shifted, train)] == [4, 700, 1100]


def test_onnx_makes_the_same_images(pipeline, gan, tmp_path):
    folder = landmark.export(gan, "onnx", output=tmp_path / "onnx")
    session = onnxruntime.InferenceSession(folder / "generator.onnx")
    noise = pipeline.draw(5)
    (made,) = session.run(None, {"noise": noise})
    with torch.no_grad():
        expected = pipeline.form.restore(pipeline.generator(torch.from_numpy(noise)))
    np.testing.assert_allclose(made, expected.numpy(), atol=1e-4)
    facts = json.loads((folder / "manifest.json").read_text())
    assert "16" in json.dumps(facts)


def test_commands(command, gan, tmp_path):
    code, out, _ = command("sample", gan, "--count", 5, "--output", tmp_path / "grid.png")
    assert code == 0
    with Image.open(tmp_path / "grid.png") as picture:
        assert picture.size == ((3 * 18 - 2) * 6, (2 * 18 - 2) * 6)
    code, out, _ = command("sample", gan, "--count", 11, "--folder", tmp_path / "folder")
    assert len(list((tmp_path / "folder").iterdir())) == 11
    with Image.open(tmp_path / "folder" / "sample-11.png") as picture:
        assert picture.size == (16, 16)
    for name in ("way.png", "way.gif"):
        code, out, _ = command("interpolate", gan, "--ways", 2, "--output", tmp_path / name)
        assert code == 0
    with Image.open(tmp_path / "way.gif") as film:
        assert film.n_frames > 2
    image = tmp_path / "folder" / "sample-01.png"
    code, out, _ = command("features", gan, image, "--output", tmp_path / "v.npy")
    assert np.load(tmp_path / "v.npy").shape == (1, 16 * (4 + 8))
    code, out, _ = command("evaluate", gan, "--count", 100, "--parzen")
    assert code == 0
    assert "other real" in out
    assert "k-means" in out
    code, out, _ = command("evaluate", gan, "--count", 100, "--json")
    assert json.loads(out)["samples"]["images"] == 100


def test_figures(command, gan, tmp_path):
    code, out, _ = command("figure", "samples", gan, "--output", tmp_path / "f.gif")
    assert code == 0
    with Image.open(tmp_path / "f.gif") as film:
        assert film.n_frames == 2
    code, out, _ = command("figure", "nearest", gan, "--output", tmp_path / "n.png")
    assert code == 0
    assert "nearer to a training image" in out


def test_figures_of_other_runs_are_refused(command, tmp_path):
    from landmark.tasks.training import train

    points = train("gan-gaussian", tmp_path / "points", ["trainer.max_steps=1"]).folder
    code, _, err = command("figure", "samples", points)
    assert code == 2
    assert "GAN of images" in err
    code, _, err = command("interpolate", points)
    assert code == 2
    assert len(err.strip().splitlines()) == 1


def state(**extremes):
    found = TrainingState()
    found.extremes = {"variety": (0.1, 1.0), "fid": (2.0, 9.0)} | extremes
    return found


def test_signs_of_failure_are_told_apart():
    healthy = {"variety": 0.9, "fid": 2.5}
    assert diagnose(state(), healthy) is None
    assert "mode collapse" in (diagnose(state(), healthy | {"variety": 0.3}) or "")
    assert diagnose(state(variety=(0.2, 0.3)), healthy | {"variety": 0.3}) is None  # it still grows
    assert "FID 7.0, at best 2.0" in (diagnose(state(), healthy | {"fid": 7.0}) or "")
    won = state()
    won.usual = {
        "discriminator": LossStatistics(100, 0.001, 0.0),
        "generator": LossStatistics(100, 9.0, 1.0),
    }
    assert "the discriminator has won" in (diagnose(won, healthy) or "")
