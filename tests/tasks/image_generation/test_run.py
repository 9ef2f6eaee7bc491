"""Trainings of GANs of images: exact to the bit, on any pictures, from another run."""

import dataclasses

import numpy as np
import pytest
import torch
from PIL import Image

import landmark
from landmark.core.errors import UserError
from landmark.engine.checkpoint import load_tensors
from landmark.engine.run import Run
from landmark.tasks.training import train
from tests.engine.test_session import assert_same_run, stop_after


def train_here(tmp_path, name, settings, recipe="dcgan-mnist", **words):
    return train(recipe, tmp_path / name, settings, **words).folder


def test_a_validation_says_how_far_samples_are_from_real_images(gan):
    records = [r for r in Run(gan).read_log() if r["kind"] == "valid"]
    assert [record["step"] for record in records] == [6, 12]
    for record in records:
        assert {"kid", "fid", "precision", "coverage", "variety", "loss"} <= record.keys()
    best = min(records, key=lambda record: record["fid"])
    assert Run(gan).find_checkpoint().name == f"step-{best['step']:06d}"
    with Image.open(gan / "samples" / "step-000012.png") as picture:
        assert picture.size == (8 * 18 - 2, 8 * 18 - 2)


@pytest.mark.parametrize(
    "extra",
    [
        [],
        ["objective.augment=[color,translation,cutout]", "objective.r1=0.1", "batches.flip=true"],
        [
            "model.discriminator_norm=spectral",
            "objective.pack=2",
            "objective.discriminator_steps=2",
        ],
        ["schedules.discriminator.rate=4e-4", "objective.label_smoothing=0.1"],
    ],
    ids=["plain", "augmented", "spectral and packed", "two rates"],
)
def test_a_resumed_training_is_bit_equal(tmp_path, small, monkeypatch, extra):
    settings = [*small, *extra]
    whole = train_here(tmp_path, "whole", settings)
    with monkeypatch.context() as patch:
        stop_after(patch, 7)
        with pytest.raises(RuntimeError, match="crash"):
            train_here(tmp_path, "broken", settings)
    broken = train_here(tmp_path, "broken", settings, resume="auto")
    assert_same_run(whole, broken, 12)
    for name in ("step-000006.png", "step-000012.png"):
        assert (whole / "samples" / name).read_bytes() == (broken / "samples" / name).read_bytes()


def test_a_checkpoint_holds_both_players_their_optimisers_and_the_average(gan):
    folder = Run(gan).checkpoint_folder(12)
    weights, state = (load_tensors(folder, f"{name}.safetensors") for name in ("model", "state"))
    average = load_tensors(folder, "average.safetensors")
    assert {name.split(".")[0] for name in weights} == {"generator", "discriminator"}
    assert {name.split(".")[1] for name in state if name.startswith("optimizer.")} == {
        "generator",
        "discriminator",
    }
    name = "generator.project.weight"
    assert not torch.equal(weights[name], average[name])
    judge = "discriminator.judge.weight"
    assert torch.equal(weights[judge], average[judge])


def test_any_folder_of_pictures_and_a_size_that_is_not_square(tmp_path, small, pictures):
    settings = [*small[1:], f"data.folder={pictures}", "model.image_size=[20,26]"]
    folder = train_here(tmp_path, "own", settings, recipe="dcgan")
    pipeline = landmark.load(folder)
    assert {image.shape for image in pipeline.sample(3)} == {(20, 26, 3)}
    one = pipeline.read(pictures / "3.png")
    with Image.open(pictures / "3.png") as picture:
        height, width = picture.height, picture.width
        scale = max(20 / height, 26 / width)
        scaled = picture.resize((round(width * scale), round(height * scale)), 2)
    left, top = (scaled.width - 26) // 2, (scaled.height - 20) // 2
    assert np.array_equal(one, np.asarray(scaled)[top : top + 20, left : left + 26])


def test_a_run_begins_from_another_with_its_size_and_noise(tmp_path, small, gan, pictures):
    settings = [*small[1:], f"data.folder={pictures}", "trainer.max_steps=1", f"init_from={gan}"]
    settings = [s for s in settings if not s.startswith(("model.", "noise."))]
    folder = train_here(tmp_path, "next", settings, recipe="dcgan")
    config = landmark.load(folder).config
    assert (config.model.image_size, config.model.channels, config.model.width) == (16, 1, 4)
    assert config.noise.noise_size == 8
    begun = load_tensors(folder / "initial", "model.safetensors")
    average = load_tensors(Run(gan).find_checkpoint(), "average.safetensors")
    assert begun.keys() == average.keys()
    assert all(torch.equal(begun[name], average[name]) for name in begun)
    moved = load_tensors(Run(folder).checkpoint_folder(1), "model.safetensors")
    name = "generator.project.weight"
    assert (moved[name] - begun[name]).abs().max() < 1e-3  # one step of Adam from there


def test_the_networks_of_2014_train_on_values_between_0_and_1(tmp_path, small):
    settings = [s for s in small if not s.startswith("model.")]
    settings += ["model.image_size=8", "model.hidden_size=20", "model.units=6"]
    folder = train_here(tmp_path, "first", settings, recipe="gan-mnist-2014")
    pipeline = landmark.load(folder)
    assert pipeline.form.mean == (0.0,)
    assert pipeline.form.std == (1.0,)
    assert pipeline.draw(1000).min() >= -1
    assert pipeline.sample(2)[0].shape == (8, 8, 1)


def mistakes(pictures, tmp_path):
    one = tmp_path / "one colour"
    one.mkdir()
    for number in range(40):
        Image.new("RGB", (16, 16), "red").save(one / f"{number}.png")
    few = tmp_path / "few"
    few.mkdir()
    for number in range(9):
        Image.new("RGB", (16, 16), (number, 0, 0)).save(few / f"{number}.png")
    return {
        "too few": ("dcgan", [f"data.folder={few}"], "8 images to train on, fewer than one batch"),
        "one colour": ("dcgan", [f"data.folder={one}"], "all images are of one and the same"),
        "no folder": ("dcgan", [], "give --data FOLDER"),
        "pack": ("dcgan-mnist", ["objective.pack=3"], "batches.size: must be divisible"),
        "size": ("dcgan-mnist", ["data.size=20"], "set model.image_size"),
        "small": ("dcgan-mnist", ["model.image_size=6"], "at least 8 pixels a side"),
        "noam": ("dcgan-mnist", ["schedule.name=noam"], "is made for Transformers"),
    }


@pytest.mark.parametrize(
    "name", ["too few", "one colour", "no folder", "pack", "size", "small", "noam"]
)
def test_a_mistake_is_one_clear_line_and_leaves_nothing(tmp_path, small, pictures, name):
    recipe, settings, said = mistakes(pictures, tmp_path)[name]
    own = small[1:] if recipe == "dcgan" else small
    with pytest.raises(UserError, match=said) as error:
        train(recipe, tmp_path / "run", [*own, *settings])
    assert "\n" not in str(error.value)
    assert not (tmp_path / "run").exists()


def test_a_judge_for_other_images_is_refused(tmp_path, small, gan, pictures):
    with pytest.raises(UserError, match="is no image classifier"):
        train_here(tmp_path, "judged", [*small, f"judge.run={gan}"])
    lenet = train(
        "lenet5-digits", tmp_path / "lenet", ["trainer.max_steps=2", "trainer.epochs=null"]
    ).folder
    judged = train_here(tmp_path, "by-lenet", [*small, f"judge.run={lenet}"])
    assert landmark.load(judged).judge_by().name == str(lenet)
    colour = [*small[1:], f"data.folder={pictures}", f"judge.run={lenet}"]
    with pytest.raises(UserError, match="classifier of grey images, and these are colour"):
        train_here(tmp_path, "colour", colour, recipe="dcgan")


def test_noise_is_an_images_own_and_other_noise_is_the_generators(gan):
    from landmark.data.images.adversarial import AdversarialImages

    pipeline = landmark.load(gan)
    config = pipeline.config
    made = AdversarialImages(
        pipeline.split("train"), pipeline.form, config.batches, config.noise, seed=3
    )
    both, one = made.collate(2, [5, 9]), made.collate(2, [9])
    assert torch.equal(both.noise[1], one.noise[0])
    assert torch.equal(both.real[1], one.real[0])
    assert not torch.equal(one.noise, one.fresh_noise)
    assert not torch.equal(one.noise, made.collate(3, [9]).noise)
    assert both.real.min() >= -1
    assert both.real.max() <= 1
    plain = dataclasses.replace(config.batches, flip=True)
    flipped = AdversarialImages(pipeline.split("train"), pipeline.form, plain, config.noise, 3)
    numbers = list(range(32))
    straight, mirrored = made.collate(2, numbers).real, flipped.collate(2, numbers).real
    is_same = (straight == mirrored).flatten(1).all(1)
    is_mirrored = (straight.flip(3) == mirrored).flatten(1).all(1)
    assert (is_same | is_mirrored).all()
    assert 5 < is_mirrored.sum() < 27
