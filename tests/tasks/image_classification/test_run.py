import dataclasses
import shutil

import pytest
import torch
from torch import nn

from landmark.core.errors import UserError
from landmark.engine.run import Run
from landmark.engine.session import load_player
from landmark.models.vision import build_network
from landmark.tasks.catalog import RECIPES, load_catalog
from landmark.tasks.image_classification import run as run_module
from landmark.tasks.image_classification.run import ImageClassificationRun
from landmark.tasks.training import load_config, resolve, train

load_catalog()
FEW = [
    "trainer.max_steps=4",
    "trainer.validate_every=2",
    "trainer.checkpoint_every=2",
    "trainer.keep_last=5",
    "data.limit=60",
    "batches.size=16",
    "batches.workers=0",
    "threads=1",
    "device=cpu",
]
NORMED = [
    "model={architecture: resnet-9, width: 4, blocks: [1]}",
    "model.image_size=8",
    "data.size=8",
    "optimizer={name: sgd, momentum: 0.9, nesterov: true, weight_decay: 1.0e-3}",
    "schedule.rate=0.05",
]
ON_IMAGES = sorted(
    name for name in RECIPES if isinstance(RECIPES[name].build(), ImageClassificationRun)
)


def weights(run: Run, step: int) -> dict[str, torch.Tensor]:
    return load_player(run.checkpoint_folder(step), "model")


def logged(run: Run, kind: str) -> list[dict]:
    return [record for record in run.read_log() if record["kind"] == kind]


@pytest.mark.parametrize("name", ON_IMAGES)
def test_every_recipe_builds_its_network_and_ends(name):
    config = RECIPES[name].build()
    assert config.trainer.epochs or config.trainer.max_steps < 100_000  # not the default
    assert config.trainer.monitor == "accuracy"
    assert config.trainer.higher_is_better
    with torch.device("meta"):
        network = build_network(config.model)
        side = config.model.image_size
        scores = network.eval()(torch.empty(2, config.model.channels, side, side))
    assert scores.shape == (2, config.model.classes)


def test_it_learns_to_tell_digits_apart(digits_run):
    validations = logged(Run(digits_run), "valid")
    assert validations[-1]["accuracy"] > 0.75
    assert validations[-1]["top5"] >= validations[-1]["accuracy"]
    (data,) = logged(Run(digits_run), "data")
    assert data["images"] + data["valid_images"] == 1437


def test_the_network_is_fitted_to_the_data(tmp_path, digit_files):
    settings = [
        *FEW,
        *NORMED,
        "data.corpus=files",
        f"data.folder={digit_files}",
        "data.validation=0.2",
    ]
    config = load_config(train("image-files", tmp_path / "run", settings))
    assert config.model.classes == 8
    assert config.model.channels == 3
    grey = load_config(
        train("image-files", tmp_path / "grey", [*settings, "data.channels=1", "augment={}"])
    )
    assert grey.model.channels == 1


def test_images_of_ones_own_are_scaled_to_what_the_network_reads(tmp_path, digit_files):
    settings = [*FEW, *NORMED, "data.corpus=files", f"data.folder={digit_files}"]
    settings += ["data.validation=0.2", "data.size=null"]
    assert load_config(train("image-files", tmp_path / "run", settings)).data.size == 8


def test_epochs_become_updates_unless_these_end_before(tmp_path):
    timed = [*FEW, "trainer.max_steps=1000", "trainer.epochs=0.5"]
    config = load_config(train("lenet5-digits", tmp_path / "run", timed))
    assert config.trainer.max_steps == 2  # of 60 images, 16 at a time
    assert config.schedule.warmup_steps == 1
    assert load_config(train("lenet5-digits", tmp_path / "short", FEW)).trainer.max_steps == 4


def test_a_resumed_run_is_the_unbroken_one_bit_for_bit(tmp_path):
    """With kernels that lie channels-last, momentum, batch norms and their moving average."""
    settings = [*FEW, *NORMED, "trainer.ema_decay=0.9", "augment.mixup=0.2", "augment.cutout=2"]
    whole = train("lenet5-digits", tmp_path / "whole", settings)
    begun = [*settings, "trainer.max_steps=4"]
    broken = train("lenet5-digits", tmp_path / "broken", begun)
    for run in (whole, broken):
        assert run.steps() == [2, 4]
    train("lenet5-digits", tmp_path / "broken", begun, resume="2")
    once, again = weights(whole, 4), weights(broken, 4)
    assert once.keys() == again.keys()
    assert all(torch.equal(once[name], again[name]) for name in once)


def test_its_steps_are_those_of_plain_torch(tmp_path):
    """Two updates, written out: the fused kernels see the order that kernels lie in."""
    settings = [*FEW, *NORMED, "trainer.max_steps=2", "schedule.name=constant"]
    settings += ["schedule.warmup_steps=0", "batches.size=20", "data.limit=20"]
    run = train("lenet5-digits", tmp_path / "run", settings)
    config = load_config(run)
    from landmark.tasks.image_classification.run import assemble

    parts = assemble(config, run.folder, torch.device("cpu"))
    torch.manual_seed(config.seed)
    network = build_network(config.model).train()
    optimizer = torch.optim.SGD(
        network.parameters(), lr=0.05, momentum=0.9, nesterov=True, weight_decay=1e-3, fused=False
    )
    for epoch in range(2):
        (chosen,) = parts.source.plan(epoch)
        batch = parts.source.samples.collate(epoch, chosen)
        optimizer.zero_grad()
        nn.functional.cross_entropy(network(batch.images.contiguous()), batch.labels).backward()
        optimizer.step()
    found = weights(run, 2)
    for name, expected in network.state_dict().items():
        torch.testing.assert_close(found[name], expected, rtol=1e-3, atol=1e-5, msg=name)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["model.widht=3"], "unknown key 'model.widht'"),
        (["model={architecture: lenit}"], "'lenit' is none of"),
        (["model={architecture: resnet-9}", "model.image_size=7"], "at least 8 pixels"),
        (["schedule.name=noam"], "take cosine"),
        (["trainer.sharded=true"], "leave it out"),
        (["optimizer={name: sgd, nesterov: true}"], "nesterov needs a momentum"),
        (["fine_tuning.frozen_stages=9"], "the network has 6 stages"),
        (["augment.hue=0.2"], "these images are grey"),
    ],
)
def test_a_wrong_setting_is_named(tmp_path, settings, message):
    with pytest.raises(UserError, match=message):
        train("lenet5-digits", tmp_path / "run", [*FEW, *settings])
    assert not (tmp_path / "run" / "recipe.yaml").exists()


def test_images_too_small_for_the_network_are_refused_before_any_is_decoded(tmp_path, monkeypatch):
    monkeypatch.setattr(run_module, "prepare_images", lambda *given: pytest.fail("decoded"))
    with pytest.raises(UserError, match="at least 8 pixels"):
        train("lenet5-digits", tmp_path / "run", ["model={architecture: resnet-9, image_size: 7}"])


def test_an_unknown_key_inside_the_network_finds_the_nearest_of_that_network():
    with pytest.raises(UserError, match=r"unknown key 'model.widht': did you mean width\?"):
        resolve("resnet-cifar", ["model.widht=3"])


def test_every_architecture_can_be_chosen_by_its_name():
    from landmark.models.vision import _NETWORKS

    for kind in _NETWORKS:
        (name,) = (f.default for f in dataclasses.fields(kind) if f.name == "architecture")
        config = resolve("lenet5-digits", [f"model={{architecture: {name}}}"])
        assert type(config.model) is kind


@pytest.mark.parametrize("method", ["adam", "adamw", "adamax", "amsgrad"])
def test_adam_has_its_usual_settings_where_a_recipe_has_another_method(method):
    own = resolve("resnet-cifar", [f"optimizer.name={method}"]).optimizer
    assert (own.betas, own.epsilon) == ((0.9, 0.999), 1e-8)


def test_a_run_of_a_method_without_betas_goes_on_whatever_betas_it_wrote_down(
    tmp_path, rewrite_recipe
):
    folder = tmp_path / "run"
    steps = ["trainer.max_steps=2", "trainer.validate_every=2", "trainer.checkpoint_every=2"]
    settings = ["optimizer.name=sgd", "threads=1", "data.limit=64", *steps]
    train("lenet5-digits", folder, settings)
    rewrite_recipe(folder, "betas: [0.9, 0.999]", "betas: [0.9, 0.98]")
    again = [*settings, "trainer.max_steps=4"]
    assert train("lenet5-digits", folder, again, resume="auto").finished()
    rewrite_recipe(folder, "name: sgd", "name: adam")
    with pytest.raises(UserError, match=r"was trained with optimizer\.betas="):
        train("lenet5-digits", folder, [*again, "optimizer.name=adam"], resume="auto")


def test_a_plateau_divides_the_rate_and_goes_on_exactly_when_resumed(tmp_path):
    """No validation is the best after the first: the network cannot learn at this rate."""
    settings = [*FEW, *NORMED, "trainer.max_steps=6", "trainer.validate_every=1"]
    settings += ["trainer.checkpoint_every=1", "trainer.log_every=1", "trainer.keep_last=9"]
    settings += ["schedule={name: plateau, rate: 1.0e-12, patience: 1, warmup_steps: 0}"]
    whole = train("lenet5-digits", tmp_path / "whole", settings)
    rates = [record["rate"] for record in logged(whole, "train")]
    assert rates == pytest.approx([1e-12, 1e-12, 1e-12, 1e-13, 1e-13, 1e-14])
    broken = train("lenet5-digits", tmp_path / "broken", settings)
    train("lenet5-digits", tmp_path / "broken", settings, resume="2")
    assert [record["rate"] for record in logged(broken, "train")] == rates
    assert all(torch.equal(weights(whole, 6)[n], w) for n, w in weights(broken, 6).items())


def test_rare_classes_count_more_or_come_more_often(tmp_path, digit_files):
    own = tmp_path / "own"
    shutil.copytree(digit_files, own)
    for number in range(1, 5):
        (own / "3" / f"3-{number}.png").unlink()
    settings = [*FEW, *NORMED, "data.corpus=files", f"data.folder={own}", "data.validation=0.2"]
    settings += ["trainer.log_every=1", "trainer.max_steps=1", "batches.size=64", "augment={}"]
    run = train("image-files", tmp_path / "run", [*settings, "objective.class_weights=balanced"])
    (record,) = logged(run, "train")
    # Seven classes of 4 images and one of 1: weights of all add up to the images.
    assert record["weight"] == pytest.approx(29)
    run = train("image-files", tmp_path / "even", [*settings, "batches.balanced=true"])
    assert len(logged(run, "train")) == 1
    given = [*settings, "objective.class_weights=[1,2]"]
    with pytest.raises(UserError, match=r"objective.class_weights: 2 weights for 8 classes: 0, 1"):
        train("image-files", tmp_path / "wrong", given)
    assert not (tmp_path / "wrong").exists()
    with pytest.raises(
        UserError, match="class_weights: balanced, or a list of numbers, not 'even'"
    ):
        resolve("image-files", ["objective.class_weights=even"])
