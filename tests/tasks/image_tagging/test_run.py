import pytest
import torch
import yaml

import landmark
from landmark.core.errors import UserError
from landmark.data.captions.corpus import open_split
from landmark.data.images.form import FILE, ImageForm
from landmark.engine.run import Run
from landmark.engine.session import load_player
from landmark.models.convolutional.highway import HighwayConfig
from landmark.models.vision import build_network, spatial_size
from landmark.tasks.catalog import RECIPES, load_catalog
from landmark.tasks.image_tagging import run as run_module
from landmark.tasks.image_tagging.run import ImageTaggingRun, assemble, begin_at
from landmark.tasks.training import identity, load_config, resolve, train

load_catalog()
FEW = [
    "data.limit=40",
    "tags.min_images=5",
    "model.width=4",
    "model.blocks=[1]",
    "batches.size=16",
    "trainer.max_steps=4",
    "trainer.epochs=null",
    "trainer.validate_every=2",
    "trainer.checkpoint_every=2",
    "trainer.keep_last=5",
    "threads=1",
    "device=cpu",
]
TAGGERS = sorted(name for name in RECIPES if isinstance(RECIPES[name].build(), ImageTaggingRun))


@pytest.fixture
def few(from_files):
    """Settings for a training of seconds."""
    return [*from_files, *FEW]


def logged(run, kind):
    return [record for record in run.read_log() if record["kind"] == kind]


@pytest.mark.parametrize("name", TAGGERS)
def test_every_recipe_has_a_map_of_places_for_a_captioner(name):
    config = RECIPES[name].build()
    size = spatial_size(config.model)
    assert 4 <= size.rows == size.columns <= 8
    assert 128 <= size.channels <= 512
    assert (config.trainer.monitor, config.trainer.higher_is_better) == ("map", True)
    assert config.trainer.epochs


def test_it_learns_which_words_scenes_call_for(tagger):
    (validation,) = logged(Run(tagger), "valid")
    given = open_split(tagger, "valid").captions
    names = ImageForm.load(tagger / FILE).names
    chance = sum(any(name in text.split() for text in texts) for texts in given for name in names)
    assert validation["map"] > 1.5 * chance / (len(given) * len(names))
    assert validation["precision5"] > 0.5


def test_the_words_of_training_are_the_networks_classes(tagger):
    config, form = load_config(Run(tagger)), ImageForm.load(tagger / FILE)
    assert config.model.classes == len(form.names)
    assert {"circle", "red", "two", "small"} <= set(form.names)
    assert not {"a", "the", "of", "and"} & set(form.names)


def test_a_fresh_network_says_how_frequent_each_word_is(tmp_path, few):
    run = train("words-scenes", tmp_path / "run", [*few, "trainer.max_steps=1"])
    parts = assemble(load_config(run), run.folder, torch.device("cpu"))
    model, samples = parts.objective.players["model"], parts.source.samples
    nothing = torch.zeros(1, model.get_submodule(model.head).in_features)
    frequencies = samples.targets.mean(0).clamp(1e-3, 1 - 1e-3)
    torch.testing.assert_close(model.classify(nothing)[0].sigmoid(), frequencies)
    other = build_network(HighwayConfig(depths=(1,), widths=(4,)))  # its scores are its head's
    begin_at(other, torch.linspace(0, 1, 10))
    found = other.classify(torch.zeros(1, 4))[0].sigmoid()
    torch.testing.assert_close(found, torch.linspace(0, 1, 10).clamp(1e-3, 1 - 1e-3))


def test_targets_are_shares_of_captions_or_whether_any_has_the_word(tmp_path, few):
    for target, least in (("share", 0.2), ("any", 1.0)):
        settings = [*few, "trainer.max_steps=1", f"tags.target={target}"]
        run = train("words-scenes", tmp_path / target, settings)
        samples = assemble(load_config(run), run.folder, torch.device("cpu")).source.samples
        assert float(samples.targets[samples.targets > 0].min()) == pytest.approx(least)


def test_training_reads_crops_of_their_own_size_and_validation_whole_images(tmp_path, few):
    settings = [*few, "trainer.max_steps=1", "train_size=40", "augment.area=[0.5, 1]"]
    run = train("words-scenes", tmp_path / "run", settings)
    parts = assemble(load_config(run), run.folder, torch.device("cpu"))
    assert parts.source.samples.collate(0, [0, 1]).images.shape == (2, 3, 40, 40)
    assert parts.validation.samples.collate(0, [0, 1]).images.shape == (2, 3, 64, 64)


@pytest.mark.parametrize("loss", ["sigmoid", "softmax"])
def test_a_resumed_run_is_the_unbroken_one_bit_for_bit(tmp_path, loss, few):
    settings = [*few, f"objective.loss={loss}", "augment.flip=true", "augment.mixup=0.2"]
    whole = train("words-scenes", tmp_path / "whole", settings)
    broken = train("words-scenes", tmp_path / "broken", settings)
    train("words-scenes", tmp_path / "broken", settings, resume="2")
    once, again = (load_player(run.checkpoint_folder(4), "model") for run in (whole, broken))
    assert all(torch.equal(once[name], again[name]) for name in once)
    scores = [
        [{k: v for k, v in r.items() if k in ("map", "loss")} for r in logged(run, "valid")][-1]
        for run in (whole, broken)
    ]
    assert scores[0] == scores[1]


def test_another_list_of_words_is_another_run(tmp_path, few):
    words = tmp_path / "words.txt"
    words.write_text("circle\nsquare\n")
    settings = [*few, f"tags.file={words}"]
    before = identity(resolve("words-scenes", settings))
    assert before != identity(resolve("words-scenes", few))
    run = train("words-scenes", tmp_path / "run", settings)
    assert ImageForm.load(run.folder / FILE).names == ("circle", "square")
    words.write_text("circle\nstar\n")
    assert identity(resolve("words-scenes", settings)) != before
    words.unlink()
    longer = ["trainer.max_steps=6", *[s for s in settings if "max_steps" not in s]]
    recipe = yaml.safe_load((run.folder / "recipe.yaml").read_text())
    assert recipe["tags"]["file"] == str(words)
    assert train("words-scenes", run.folder, longer, resume="auto").finished()


def test_ones_own_captions_are_learnt(tmp_path, scene_files):
    options = {"captions": scene_files / "test.txt", "images": scene_files}
    run = landmark.train("words-scenes", tmp_path / "run", FEW[1:], **options)
    counts = [record for record in logged(run, "data") if "train" in record]
    assert [(record["train"], record["valid"]) for record in counts] == [(36, 4)]
    with pytest.raises(UserError, match="--images and --valid-captions need --captions"):
        landmark.train("words-scenes", tmp_path / "other", images=scene_files)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["data.captions=[]", "data.valid_captions=[]"], "there are no captions to train on"),
        (["tags.file=/nowhere/words.txt"], "/nowhere/words.txt: cannot be read"),
        (["tags.min_images=41"], "lower tags.min_images"),
        (["tags.most=1"], "tags.most"),
        (["objective.loss=hinge"], "objective.loss"),
        (["schedule.name=noam"], "take cosine"),
        (["trainer.sharded=true"], "leave it out"),
        (["batches.balanced=true"], "images with tags have no classes"),
    ],
)
def test_a_wrong_setting_is_named(tmp_path, settings, message, few):
    with pytest.raises(UserError, match=message):
        train("words-scenes", tmp_path / "run", [*few, *settings])
    assert not (tmp_path / "run" / "recipe.yaml").exists()


def test_crops_too_small_for_the_network_are_refused_before_images_are_read(tmp_path, monkeypatch):
    monkeypatch.setattr(run_module, "prepare_captions", lambda *given: pytest.fail("read"))
    with pytest.raises(UserError, match="image_size is 5, too small for ResNet9"):
        train("words-scenes", tmp_path / "run", ["train_size=5"])
