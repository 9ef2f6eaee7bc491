import pytest
import torch

from landmark.core.errors import UserError
from landmark.data.images.form import FILE, ImageForm
from landmark.engine.checkpoint import load_tensors
from landmark.engine.run import Run
from landmark.engine.session import MODEL, load_player
from landmark.models.convolutional.lenet import LeNet, LeNetConfig
from landmark.tasks.image_classification.fine_tuning import rate_share
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
    assert (form.mean, form.deviation) == (old_form.mean, old_form.deviation)
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
        0.0625,  # pooling between counts, too
        0.015625,
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
    with pytest.raises(UserError, match="frozen_stages is 7, but the network has 6 stages"):
        tune("fine_tuning.frozen_stages=7")
