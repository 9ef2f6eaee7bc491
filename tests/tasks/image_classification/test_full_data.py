"""The papers' trainings, on made-up data of the right form and with narrow networks."""

import numpy as np
import pytest
import torch
from PIL import Image

from landmark.engine.run import Run
from landmark.engine.settings import resolve_epochs
from landmark.models.vision import build_network
from landmark.optim.schedule import learning_rate
from landmark.tasks.catalog import RECIPES, load_catalog
from landmark.tasks.training import load_config

load_catalog()
FEW = ["trainer.max_steps=3", "trainer.validate_every=3", "trainer.log_every=1", "batches.size=4"]
FEW += ["batches.workers=0", "threads=1", "device=cpu"]


@pytest.fixture(scope="module")
def cifar(tmp_path_factory):
    """CIFAR-10's binary version: 40 records a file, every class alike."""
    folder = tmp_path_factory.mktemp("cifar") / "cifar-10-batches-bin"
    folder.mkdir()
    noise = np.random.default_rng(1)
    for name in [*(f"data_batch_{number}" for number in range(1, 6)), "test_batch"]:
        records = noise.integers(0, 256, (40, 1 + 3072), dtype=np.uint8)
        records[:, 0] = np.arange(40) % 10
        (folder / f"{name}.bin").write_bytes(records.tobytes())
    names = "airplane automobile bird cat deer dog frog horse ship truck"
    (folder / "batches.meta.txt").write_text(names.replace(" ", "\n") + "\n\n")
    return folder


@pytest.fixture(scope="module")
def imagenet(tmp_path_factory):
    """train/ and val/ with a folder a synset, JPEG files of several sizes."""
    folder = tmp_path_factory.mktemp("imagenet")
    noise = np.random.default_rng(1)
    for split, count in (("train", 4), ("val", 2)):
        for synset in ("n01440764", "n01443537", "n02102040"):
            (folder / split / synset).mkdir(parents=True)
            for number in range(count):
                size = (300 + 20 * number, 280, 3)
                image = Image.fromarray(noise.integers(0, 256, size, dtype=np.uint8))
                image.save(folder / split / synset / f"{synset}_{number}.JPEG")
    return folder


def trained(command, recipe, data, tmp_path, *narrower):
    answer = command("train", recipe, "--data", data, *FEW, *narrower, "--run", tmp_path / "run")
    assert answer.code == 0, answer.err
    run = Run(tmp_path / "run")
    rates = [record["rate"] for record in run.read_log() if record["kind"] == "train"]
    return load_config(run), rates, answer


@pytest.mark.parametrize(
    ("recipe", "narrower", "rate"),
    [
        ("resnet20-cifar10", ["model.width=4"], 0.1),
        ("resnet110-cifar10", ["model.width=2"], 0.1),
        ("nin-cifar10", ["model.last_width=16"], 0.02),
    ],
)
def test_trainings_on_cifar10_take_a_folder_of_its_files(
    command, cifar, tmp_path, recipe, narrower, rate
):
    config, rates, answer = trained(command, recipe, cifar, tmp_path, *narrower)
    assert "180 images to train on, 20 to validate" in answer.err
    assert config.model.classes == 10
    assert rates[-1] == pytest.approx(0.01 * rate if recipe.startswith("resnet") else rate)


@pytest.mark.parametrize(
    ("recipe", "narrower"),
    [
        ("alexnet-imagenet", ["model.widths=[8,16,16,16,16]", "model.dense_width=16"]),
        ("vgg16-imagenet", ["model.width=4", "model.dense_width=16"]),
        ("resnet50-imagenet", ["model.width=4"]),
    ],
)
def test_trainings_on_imagenet_take_its_folders(command, imagenet, tmp_path, recipe, narrower):
    config, rates, answer = trained(command, recipe, imagenet, tmp_path, *narrower)
    assert "12 images to train on, 6 to validate; 3 updates a pass" in answer.err
    assert config.model.classes == 3
    assert rates == [config.schedule.rate] * 3


@pytest.mark.parametrize(
    ("recipe", "parameters"),
    [
        ("resnet20-cifar10", 269_722),
        ("resnet110-cifar10", 1_727_962),
        ("nin-cifar10", 966_986),
        ("alexnet-imagenet", 60_965_224),
        ("vgg16-imagenet", 138_357_544),
        ("resnet50-imagenet", 25_557_032),
    ],
)
def test_networks_are_the_papers(recipe, parameters):
    with torch.device("meta"):
        network = build_network(RECIPES[recipe].build().model)
    assert sum(parameter.numel() for parameter in network.parameters()) == parameters


def test_the_residual_networks_of_cifar10_divide_their_rate_where_the_paper_does():
    config = RECIPES["resnet110-cifar10"].build()
    rates = [
        learning_rate(config.schedule, step, 0, config.trainer.max_steps)
        for step in (400, 32_000, 32_001, 48_000, 48_001, 64_000)
    ]
    assert rates == pytest.approx([0.1, 0.1, 0.01, 0.01, 0.001, 0.001])


@pytest.mark.parametrize(
    ("recipe", "passes"),
    [("alexnet-imagenet", 90), ("vgg16-imagenet", 74), ("resnet50-imagenet", 120)],
)
def test_trainings_on_imagenet_last_as_many_passes_as_the_papers(recipe, passes):
    config = RECIPES[recipe].build()
    updates_a_pass = -(-1_281_167 // config.batches.size)
    assert resolve_epochs(config.trainer, updates_a_pass).max_steps == passes * updates_a_pass
