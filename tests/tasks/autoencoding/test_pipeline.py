"""An autoencoder in use: scores beside torch's distributions, images of codes, mistakes."""

import json

import numpy as np
import pytest
import torch
from PIL import Image
from torch.distributions import Bernoulli, Independent, Normal, kl_divergence

import landmark
from landmark.core.errors import UserError
from landmark.engine.run import Run


@pytest.fixture(scope="module")
def pipeline(autoencoder):
    return landmark.load(autoencoder)


def values(scores):
    return {score.name: score.value for score in scores}


def test_scores_are_those_that_validation_logged(pipeline, autoencoder):
    logged = [r for r in Run(autoencoder).read_log() if r["kind"] == "valid"][-1]
    found = values(pipeline.evaluate(pipeline.split("valid"), resamples=0).scores)
    for name in ("loss", "reconstruction", "divergence"):
        assert found[name] == pytest.approx(logged[name], abs=1e-4)


def test_the_bound_is_what_torchs_distributions_give(pipeline):
    """One draw of validation's noise is near the mean over many draws of other noise."""
    images = pipeline.split("valid")
    found = pipeline.evaluate(images, resamples=300)
    pixels = torch.from_numpy(np.stack([images[n] for n in range(len(images))])).float() / 255
    pixels = pixels.permute(0, 3, 1, 2)
    with torch.no_grad():
        mean, log_variance = pipeline.model.encode(pixels)
        code = Independent(Normal(mean, (log_variance / 2).exp()), 1)
        prior = Independent(Normal(torch.zeros_like(mean), torch.ones_like(mean)), 1)
        divergence = kl_divergence(code, prior)
        torch.manual_seed(5)
        losses = torch.stack(
            [
                -Independent(
                    Bernoulli(logits=pipeline.model.decode(code.sample()), validate_args=False), 1
                ).log_prob(pixels.flatten(1))
                for _ in range(30)
            ]
        ).mean(0)
    by_name = {score.name: score for score in found.scores}
    assert by_name["divergence"].value == pytest.approx(divergence.mean().item(), rel=1e-5)
    expected = (losses + divergence).mean().item()
    assert by_name["loss"].low < expected < by_name["loss"].high
    # Its interval is that of a mean: 1.96 standard errors to either side.
    error = divergence.std().item() / len(images) ** 0.5
    width = by_name["divergence"].high - by_name["divergence"].low
    assert width == pytest.approx(2 * 1.96 * error, rel=0.15)


def test_a_reconstruction_is_nearer_to_its_image_than_to_others(pipeline):
    images = pipeline.split("valid")
    given = np.stack([images[n] for n in range(30)]).astype(float)
    made = np.stack(pipeline.reconstruct([images[n] for n in range(30)])).astype(float)
    assert made.shape == given.shape == (30, 8, 8, 1)
    distances = ((made[:, None] - given[None]) ** 2).mean((2, 3, 4))
    own, mean = np.diag(distances), distances.mean()
    assert own.mean() < 0.7 * mean


def test_samples_are_decoded_codes_and_follow_their_seed(pipeline):
    first, again, other = (pipeline.sample(3, seed) for seed in (1, 1, 2))
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not np.array_equal(first[0], other[0])
    # A sample of more begins with the same images.
    assert np.array_equal(pipeline.sample(5, 1)[2], first[2])
    mean, deviation = pipeline.encode([pipeline.split("valid")[0]])
    assert mean.shape == deviation.shape == (1, 5)
    made = pipeline.decode(mean)[0]
    with torch.no_grad():
        expected = pipeline.model.decode(torch.from_numpy(mean)).sigmoid().view(8, 8) * 255
    assert np.abs(made[..., 0] - expected.numpy()).max() <= 0.51


def test_images_may_be_files_pixels_or_pillows(pipeline, digit_files):
    path = sorted(digit_files.rglob("*.png"))[0]
    picture = Image.open(path)
    made = pipeline.reconstruct([path, str(path), picture, np.asarray(picture)])
    assert all(np.array_equal(made[0], other) for other in made)


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("reconstruct", [None], "an image is a path, an array of pixels"),
        ("reconstruct", [], "there are no images"),
        ("sample", 0, "0 images cannot be drawn"),
        ("decode", np.zeros((2, 3)), r"codes have the shape \(N, 5\), not \(2, 3\)"),
    ],
)
def test_what_cannot_be_used_is_a_users_error(pipeline, name, given, message):
    with pytest.raises(UserError, match=message):
        getattr(pipeline, name)(given)


def test_a_model_that_gives_no_numbers_is_named(autoencoder):
    pipeline = landmark.load(autoencoder)
    with torch.no_grad():
        pipeline.model.output.weight.fill_(float("nan"))
    for use in (lambda: pipeline.sample(1), lambda: pipeline.evaluate(pipeline.split("valid"))):
        with pytest.raises(UserError, match="the model's output is not finite"):
            use()


def test_evaluate_prints_the_terms_and_draws_reconstructions(command, autoencoder, tmp_path):
    picture = tmp_path / "r.png"
    answer = command("evaluate", autoencoder, "--bootstrap", "50", "--reconstructions", picture)
    assert answer.code == 0, answer.err
    assert [line.split()[0] for line in answer.lines[1:4]] == ["negative", "reconstruction", "KL"]
    assert Image.open(picture).size[0] > 4 * Image.open(picture).size[1]  # ten wide, two high
    (record,) = [json.loads(x) for x in command("evaluate", autoencoder, "--json").lines]
    terms = {score["name"]: score["value"] for score in record["scores"]}
    assert terms["loss"] == pytest.approx(terms["reconstruction"] + terms["divergence"])


def test_a_folder_is_scored_without_classes(command, autoencoder, digit_files, tmp_path):
    import shutil

    loose = tmp_path / "loose"
    loose.mkdir()
    for path in sorted(digit_files.rglob("*.png"))[:9]:
        shutil.copy(path, loose)
    (loose / "broken.png").write_bytes(b"no image")
    answer = command("evaluate", autoencoder, "--file", loose, "--json", "--bootstrap", "0")
    assert answer.code == 0, answer.err
    record = json.loads(answer.out)
    assert (record["name"], record["images"]) == (str(loose), 9)
    assert "skipped 1 of 10 images" in answer.err
    strict = command("evaluate", autoencoder, "--file", loose, "--strict")
    assert strict.code == 2
    assert "broken.png" in strict.err


def test_samples_are_shown_written_as_a_grid_or_given_as_json(command, autoencoder, tmp_path):
    shown = command("sample", autoencoder, "--count", "2")
    assert shown.code == 0, shown.err
    assert len(shown.lines) == 2 * 9
    assert all(len(line) in (0, 16) for line in shown.lines)
    lines = command("sample", autoencoder, "--count", "2", "--json").lines
    expected = landmark.load(autoencoder).sample(2, 1)
    assert [json.loads(line)["pixels"] for line in lines] == [one.tolist() for one in expected]
    grid = tmp_path / "grid.png"
    assert command("sample", autoencoder, "--count", "5", "--output", grid).out == f"{grid}\n"
    side = 96 // 8
    assert Image.open(grid).size == ((3 * 10 - 2) * side, (2 * 10 - 2) * side)
    tile = np.asarray(Image.open(grid))[::side, ::side][:8, :8]
    assert np.array_equal(tile, expected[0][..., 0])


def test_images_are_reconstructed_on_the_command_line(command, autoencoder, digit_files, tmp_path):
    answer = command("reconstruct", autoencoder, digit_files / "3", tmp_path / "none.png", "--json")
    assert answer.code == 2
    assert "none.png: cannot be read" in answer.err
    records = [json.loads(line) for line in answer.lines]
    assert len(records) == 5
    assert all(0 < record["error"] < 0.2 for record in records)
    out = tmp_path / "r.png"
    assert command("reconstruct", autoencoder, digit_files / "3", "--output", out).code == 0
    assert Image.open(out).size[0] > Image.open(out).size[1]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["evaluate", "--split", "valid", "--file", "x"], "give --split or --file, not both"),
        (["evaluate", "--split", "tset"], "have no split 'tset'"),
        (["evaluate", "--reconstructions", "r.txt"], "name a .png file"),
        (["evaluate", "--ten-crop"], "--ten-crop does not fit"),
        (["sample", "--count", "0"], "--count"),
        (["sample", "--output", "grid.jpg"], "name a .png file"),
    ],
)
def test_a_mistake_is_answered_in_one_line(mistake, autoencoder, words, message):
    name, *rest = words
    assert message in mistake(name, autoencoder, *rest)
