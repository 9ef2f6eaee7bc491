import pytest
import torch

from landmark.core.errors import UserError
from landmark.data.images.form import FILE, ImageForm
from landmark.engine.checkpoint import load_tensors
from landmark.engine.run import Run
from landmark.engine.session import MODEL, load_player
from landmark.models.convolutional.lenet import LeNet, LeNetConfig
from landmark.models.transformer.vit import resize_positions
from landmark.tasks.image_classification.fine_tuning import POSITIONS, rate_share
from landmark.tasks.training import load_config, train

FEW = [
    "trainer.max_steps=2",
    "trainer.validate_every=2",
    "trainer.checkpoint_every=2",
    "batches.size=8",
    "batches.workers=0",
    "threads=1",
    "device=cpu",
]


@pytest.fixture
def tune(tmp_path, digits_run, digit_files):
    """Fine-tune the little run on eight of its ten classes."""

    def call(*settings: str, origin=digits_run, name="tuned") -> Run:
        own = ["data.corpus=files", f"data.folder={digit_files}", f"init_from={origin}"]
        return train(
            "image-files",
            tmp_path / name,
            [*own, "augment={}", "data.validation=0.2", *FEW, *settings],
        )

    return call


def before(run) -> dict[str, torch.Tensor]:
    return load_player(Run(run).find_checkpoint(), "model")


def after(run: Run) -> dict[str, torch.Tensor]:
    return load_player(run.checkpoint_folder(2), "model")


def test_it_takes_the_network_its_colours_and_all_weights_but_the_head(tune, digits_run):
    run = tune()
    config, old = load_config(run), load_config(Run(digits_run))
    assert config.model.architecture == "lenet"
    assert (config.model.classes, old.model.classes) == (8, 10)
    assert (config.data.size, config.data.channels) == (28, 1)
    form, old_form = (ImageForm.load(r / FILE) for r in (run.folder, digits_run))
    assert (form.mean, form.std) == (old_form.mean, old_form.std)
    assert form.names == tuple("01234567")
    begun, known = load_tensors(run.folder / "initial", MODEL), before(digits_run)
    assert begun.keys() == {name for name in known if not name.startswith("output.")}
    assert all(torch.equal(begun[name], known[name]) for name in begun)
    assert after(run)["output.weight"].shape == (8, 84)


def test_of_the_same_classes_the_head_is_kept(tmp_path, digits_run):
    own = ["data={corpus: digits}", f"init_from={digits_run}", "schedule.rate=1.0e-9"]
    run = train("lenet5-digits", tmp_path / "more", [*own, *FEW])
    found, known = after(run), before(digits_run)
    torch.testing.assert_close(found["output.weight"], known["output.weight"], rtol=0, atol=1e-6)


def test_frozen_stages_stay_as_they_are_and_the_others_learn(tune, digits_run):
    found, known = after(tune("fine_tuning.frozen_stages=4")), before(digits_run)
    for name, value in known.items():
        if not name.startswith("output."):
            is_frozen = name.startswith(("c1.", "c3."))
            assert torch.equal(found[name], value) == is_frozen, name


def test_stages_below_take_a_smaller_part_of_the_rate():
    share = rate_share(LeNet(LeNetConfig()), 0.5)
    assert [share(f"{stage}.weight") for stage in ("output", "f6", "c5", "c3", "c1")] == [
        1.0,
        0.5,
        0.25,
        0.125,  # pooling between has no weights, and does not count
        0.0625,
    ]


def test_a_run_no_longer_needs_the_one_it_began_from(tune, tmp_path, digits_run):
    import shutil

    origin = tmp_path / "origin"
    shutil.copytree(digits_run, origin)
    run = tune(origin=origin)
    shutil.rmtree(origin)
    settings = [*FEW, "trainer.max_steps=4", "augment={}", f"init_from={origin}"]
    own = load_config(run).data.folder
    more = [f"data.folder={own}", "data.corpus=files", "data.validation=0.2", *settings]
    train("image-files", run.folder, more, resume="auto")
    assert run.steps()[-1] == 4


def test_a_run_of_another_task_is_refused(tune, tiny_run):
    with pytest.raises(UserError, match="is a run of task 'translation'"):
        tune(origin=tiny_run)


def test_colour_is_refused_where_the_network_knows_grey(tune):
    with pytest.raises(UserError, match="was trained on images of 1: leave it out"):
        tune("data.channels=3")


def test_more_frozen_stages_than_there_are_is_refused(tune):
    with pytest.raises(
        UserError, match="frozen_stages is 7, but the network has 6 stages: 1 c1, 2 s2, "
    ):
        tune("fine_tuning.frozen_stages=7")


@pytest.fixture(scope="module")
def vit_run(tmp_path_factory):
    """A ViT that has begun to learn the digits, by 4 x 4 patches."""
    shape = "model={architecture: vit, image_size: 8, patch_size: 2, hidden_size: 8, num_heads: 2}"
    small = [shape, "model.num_layers=1", "augment={}", "data.size=10", *FEW]
    return train("vit-digits", tmp_path_factory.mktemp("runs") / "vit", small).folder


def test_a_vit_goes_on_with_larger_images_and_interpolated_positions(tune, vit_run):
    run = tune("model.image_size=12", "schedule.rate=1.0e-9", origin=vit_run)
    config = load_config(run)
    assert (config.model.image_size, config.data.size) == (12, 15)  # as 8 to 10
    old, new = before(vit_run)[POSITIONS], after(run)[POSITIONS]
    assert new.shape == (1, 36 + (old.shape[1] - 16), 8)
    expected = resize_positions(old, 6, 6, old.shape[1] - 16)
    torch.testing.assert_close(new, expected, rtol=0, atol=1e-6)
    again = [*FEW, "augment={}", "model.image_size=12", "schedule.rate=1.0e-9"]
    own = ["data.corpus=files", f"data.folder={config.data.folder}", "data.validation=0.2"]
    train("image-files", run.folder, [*own, f"init_from={vit_run}", *again], resume="auto")


def test_of_the_same_classes_a_vits_positions_are_interpolated_too(tmp_path, vit_run):
    own = [f"init_from={vit_run}", "model.image_size=16", "augment={}", *FEW]
    run = train("vit-digits", tmp_path / "more", own)
    assert load_config(run).data.size == 20
    assert after(run)["classifier.weight"].shape == (10, 8)


def test_without_a_size_the_networks_own_stays_whatever_the_recipe_has(tune, vit_run):
    assert load_config(tune(origin=vit_run)).model.image_size == 8


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["model.hidden_size=16"], r"model\.hidden_size=16: .* has 8, and fine-tuning does not"),
        (["model.num_layers=3", "model.dropout=0.1"], r"model\.num_layers=3"),
        (["model={architecture: lenet}"], r"model\.architecture=lenet: .* has vit"),
        (["model.classes=5"], "model.classes=5: .*it follows from the data"),
        (["model.image_size=9"], "patch_size 2 does not divide image_size 9"),
        (["model.image_size=12", "data.size=10"], "data.size is 10: smaller than the 12 pixels"),
    ],
)
def test_what_fine_tuning_cannot_change_is_refused(tmp_path, vit_run, settings, message):
    own = [f"init_from={vit_run}", "augment={}", *FEW]
    with pytest.raises(UserError, match=message):
        train("vit-digits", tmp_path / "run", [*own, *settings])
    assert not (tmp_path / "run").exists()


def test_a_setting_that_the_origins_network_lacks_is_refused(tune, vit_run):
    with pytest.raises(UserError, match=r"model\.width: the model of .* \(vit\) has none"):
        tune("model.width=8", origin=vit_run)


def test_dense_layers_do_not_take_images_of_another_size(tune):
    with pytest.raises(
        UserError, match=r"the dense layers of .* are for images of 28 pixels a side"
    ):
        tune("model.image_size=32")


def test_settings_that_are_no_part_of_the_shape_and_those_that_are_the_same_may_be_named(
    tmp_path, vit_run
):
    own = [f"init_from={vit_run}", "augment={}", *FEW, "model.hidden_size=8", "model.dropout=0.25"]
    run = train("vit-digits", tmp_path / "run", own)
    assert load_config(run).model.dropout == 0.25


def test_a_fine_tunings_own_recipe_file_can_be_trained_again(tune, tmp_path, vit_run):
    run = tune("model.image_size=12", origin=vit_run)
    again = train(str(run.folder / "recipe.yaml"), tmp_path / "again")
    assert load_config(again).model == load_config(run).model
