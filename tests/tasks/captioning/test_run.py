import json

import numpy as np
import pytest
import torch
from PIL import Image

import landmark
from landmark.core.errors import UserError
from landmark.data.captions.drawing import draw
from landmark.data.captions.scenes import scene_of
from landmark.data.images.form import FILE, ImageForm
from landmark.engine.checkpoint import load_tensors
from landmark.engine.run import Run
from landmark.engine.session import MODEL, load_player
from landmark.models.vision import build_network, spatial_size
from landmark.tasks.captioning import run as run_module
from landmark.tasks.captioning.run import CaptioningRun, assemble
from landmark.tasks.catalog import RECIPES, load_catalog
from landmark.tasks.training import load_config, train

load_catalog()
CAPTIONERS = sorted(name for name in RECIPES if isinstance(RECIPES[name].build(), CaptioningRun))
ENCODER = "encoder_network."
CPU = torch.device("cpu")
FEW = ["data.scenes=20", "batches.size=16", "trainer.epochs=null", "threads=1", "device=cpu"]
NETWORK = "{architecture: resnet-9, image_size: 32, width: 6, blocks: [0, 1], stem: imagenet}"


def weights(run, step=None):
    folder = run.find_checkpoint() if step is None else run.checkpoint_folder(step)
    return load_player(folder, "model")


def part(tensors, prefix):
    """The tensors whose names begin so, by the rest of their names."""
    return {n.removeprefix(prefix): t for n, t in tensors.items() if n.startswith(prefix)}


def equal(one, other):
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


@pytest.fixture
def decoder(small):
    """Settings of a small decoder; its encoder is another run's."""
    return [*(s for s in small if "encoder" not in s and "data." not in s), "data.scenes=20"]


@pytest.fixture(scope="module")
def tagger(tmp_path_factory, steps):
    """A network that has hardly learnt words of scenes."""
    from landmark.data.captions import scene_source

    settings = [*FEW, f"model={NETWORK}", "tags.min_images=2", "data.size=32", *steps(3)]
    with pytest.MonkeyPatch.context() as patch:
        for split in ("valid", "test", "test-compositional"):
            patch.setitem(scene_source.COUNTS, split, 4)
        return train("words-scenes", tmp_path_factory.mktemp("runs") / "words", settings)


@pytest.fixture(scope="module")
def classifier(tmp_path_factory, steps):
    """A network that has hardly learnt to tell how many objects there are."""
    folder = tmp_path_factory.mktemp("classes")
    for number in range(24):
        scene = scene_of("train", number, 1)
        kind = folder / "images" / str(len(scene.objects))
        kind.mkdir(parents=True, exist_ok=True)
        Image.fromarray(draw(scene, 32)).save(kind / f"{number}.png")
    own = ["data.corpus=files", f"data.folder={folder / 'images'}", "data.validation=0.2"]
    small = ["batches.size=8", "batches.workers=0", "threads=1", "device=cpu", "data.size=32"]
    settings = [*own, *small, f"model={NETWORK}", "augment={}", *steps(3)]
    return train("image-files", folder / "run", settings)


@pytest.mark.parametrize("name", CAPTIONERS)
def test_every_recipe_has_a_map_to_look_at_and_is_monitored_by_cider(name):
    config = RECIPES[name].build()
    size = spatial_size(config.model.encoder)
    assert 4 <= size.rows == size.columns <= 14
    assert (config.trainer.monitor, config.trainer.higher_is_better) == ("cider", True)
    assert config.trainer.epochs


def test_there_is_a_recipe_of_each_kind():
    kinds = {RECIPES[name].build().model.architecture for name in CAPTIONERS}
    assert kinds == {"show-attend-tell", "caption-transformer"}


def test_training_lowers_the_loss_and_reports_captions(captioner):
    log = list(Run(captioner).read_log())
    losses = [record["nll"] for record in log if record["kind"] == "train"]
    assert losses[-1] < 0.7 * losses[0]
    (validation,) = (record for record in log if record["kind"] == "valid")
    assert {"loss", "accuracy", "cider", "bleu4"} <= set(validation)
    (samples,) = (record for record in log if record["kind"] == "samples")
    assert len(samples["samples"]) == 3
    (data,) = (record for record in log if record["kind"] == "data" and "words" in record)
    tokenizer = landmark.load(captioner, device="cpu").tokenizer
    assert data["words"] == len(tokenizer) == load_config(Run(captioner)).model.vocab_size


@pytest.mark.parametrize("kind", ["soft", "hard", "transformer", "frozen"])
def test_a_resumed_run_is_the_unbroken_one_bit_for_bit(
    tmp_path, few, kind, settings_of, steps, decoder, tagger
):
    """With dropout, draws of hard attention and their baseline, mirrored images, an average."""
    settings = settings_of.get(kind, decoder)
    settings = [*settings, *steps(4, 2), "augment.flip=true", "trainer.ema_decay=0.9"]
    if kind == "frozen":
        settings += [f"init_from={tagger.folder}", "model.fine_tune=false", "model.attention=hard"]
    else:
        settings += ["objective.scheduled_sampling=0.3"]
    whole = train("caption-scenes", tmp_path / "whole", settings)
    broken = train("caption-scenes", tmp_path / "broken", settings)
    train("caption-scenes", tmp_path / "broken", settings, resume="2")
    files = sorted(p.name for p in whole.checkpoint_folder(4).glob("*.safetensors"))
    assert files
    for name in files:
        from safetensors.torch import load_file

        once, again = (load_file(run.checkpoint_folder(4) / name) for run in (whole, broken))
        assert equal(once, again), name
    scores = [
        [{k: r[k] for k in ("cider", "loss")} for r in run.read_log() if r["kind"] == "valid"][-1]
        for run in (whole, broken)
    ]
    assert scores[0] == scores[1]
    if kind in ("hard", "frozen"):
        baselines = [
            tensor
            for name in files
            for key, tensor in load_file(whole.checkpoint_folder(4) / name).items()
            if "baseline" in key
        ]
        assert len(baselines) == 1
        assert float(baselines[0]) < 0


def test_a_frozen_encoder_is_the_other_runs_and_stays_so(tmp_path, few, decoder, steps, tagger):
    settings = [*decoder, *steps(3), f"init_from={tagger.folder}", "model.fine_tune=false"]
    run = train("caption-scenes", tmp_path / "run", settings)
    config, theirs = load_config(run), load_config(tagger)
    head = build_network(theirs.model).head
    known = {n: t for n, t in weights(tagger).items() if not n.startswith(f"{head}.")}
    assert equal(part(load_tensors(run.folder / "initial", MODEL), ENCODER), known)
    assert equal(part(weights(run, 3), ENCODER), known)
    assert config.model.encoder == theirs.model
    size = spatial_size(theirs.model)
    assert (config.model.feature_size, config.model.places) == (
        size.channels, size.rows * size.columns
    )  # fmt: skip
    form, theirs_form = (ImageForm.load(its.folder / FILE) for its in (run, tagger))
    assert (form.mean, form.std, form.size) == (theirs_form.mean, theirs_form.std, 32)
    pixels = np.asarray(draw(scene_of("test", 1, 1), 32))
    with torch.no_grad():
        plain = build_network(theirs.model).eval()
        plain.load_state_dict(weights(tagger))
        expected = plain.spatial(theirs_form.network_input([pixels], 32))[0]
        pipeline = landmark.load(run.folder, device="cpu")
        found = pipeline.model.places_of(pipeline.form.network_input([pixels], 32))
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


def test_a_frozen_encoders_batches_hold_places_and_a_fine_tuned_ones_images(
    tmp_path, few, decoder, steps, tagger
):
    settings = [*decoder, *steps(1), f"init_from={tagger.folder}", "augment.flip=true"]
    shapes = {}
    for fine_tune in ("true", "false"):
        named = [*settings, f"model.fine_tune={fine_tune}"]
        run = train("caption-scenes", tmp_path / fine_tune, named)
        parts = assemble(load_config(run), run.folder, CPU)
        shapes[fine_tune] = parts.source.samples.collate(0, [0, 1]).source.shape
        assert (parts.source.samples.places is None) == (fine_tune == "true")
    config = load_config(run)
    assert shapes["true"] == (2, 3, 32, 32)
    assert shapes["false"] == (2 * config.model.places, config.model.feature_size)
    assert parts.source.samples.places.shape[:2] == (20, 2)  # of the mirror image, too
    assert parts.validation.samples.places.shape[1] == 1


def test_a_fine_tuned_encoder_begins_from_the_other_run_at_its_own_rate(
    tmp_path, few, decoder, steps, classifier
):
    base = [*decoder, *steps(1), f"init_from={classifier.folder}", "model.fine_tune=true"]
    base += ["schedule.name=constant", "schedule.warmup_steps=0", "optimizer.name=sgd",
             "optimizer.weight_decay=0"]  # fmt: skip
    known, moved = weights(classifier), {}
    for rate in (1.0, 0.25):
        settings = [*base, f"encoder_rate={rate}", "trainer.clip_norm=null"]
        run = train("caption-scenes", tmp_path / str(rate), settings)
        begun = part(load_tensors(run.folder / "initial", MODEL), ENCODER)
        assert all(torch.equal(begun[name], known[name]) for name in begun)
        its = part(weights(run, 1), ENCODER)
        moved[rate] = {name: its[name] - known[name] for name in its if name.endswith("weight")}
    name = max(moved[1.0], key=lambda name: float(moved[1.0][name].abs().max()))
    torch.testing.assert_close(moved[0.25][name], moved[1.0][name] / 4, rtol=2e-2, atol=1e-6)
    assert moved[1.0][name].abs().max() > 0


def test_a_captioner_goes_on_from_a_captioner(tmp_path, few, captioner, steps, decoder):
    settings = [*decoder, *steps(1), f"init_from={captioner}", "schedule.rate=1e-12"]
    run = train("caption-scenes", tmp_path / "run", settings)
    ours, theirs = load_config(run), load_config(Run(captioner))
    assert ours.model.encoder == theirs.model.encoder
    assert ours.data.size == theirs.data.size == 32
    begun = load_tensors(run.folder / "initial", MODEL)
    assert equal(begun, weights(Run(captioner)))
    words = [landmark.load(its, device="cpu").tokenizer.to_text() for its in (run, captioner)]
    assert words[0] == words[1]
    with pytest.raises(UserError, match="is a model of architecture 'show-attend-tell'"):
        train(
            "caption-scenes", tmp_path / "other",
            [*FEW, "model={architecture: caption-transformer}", f"init_from={captioner}"],
        )  # fmt: skip


def test_a_frozen_encoder_needs_a_run_to_begin_from(mistake, tmp_path, small):
    settings = [*small, "model.fine_tune=false"]
    line = mistake("train", "caption-scenes", "--run", tmp_path / "run", *settings)
    assert "a frozen encoder must have learnt something" in line
    assert not (tmp_path / "run" / "recipe.yaml").exists()


def test_a_grey_encoder_is_refused(tmp_path, digits_run, decoder):
    with pytest.raises(UserError, match="reads grey images: captions need coloured ones"):
        train("caption-scenes", tmp_path / "run", [*decoder, f"init_from={digits_run}"])


def test_a_run_of_text_is_no_encoder(tmp_path, tiny_run, decoder):
    with pytest.raises(UserError, match="begin from one of captioning or image-tagging"):
        train("caption-scenes", tmp_path / "run", [*decoder, f"init_from={tiny_run}"])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["model.encoder.width=9"], r"model.encoder.width: the encoder is the network of"),
        (["model.fine_tune=false", "augment.cutout=4"], "keep only augment.flip"),
    ],
)
def test_settings_that_do_not_go_with_another_runs_encoder_are_named(
    tmp_path, decoder, tagger, settings, message
):
    with pytest.raises(UserError, match=message):
        train(
            "caption-scenes", tmp_path / "run", [*decoder, f"init_from={tagger.folder}", *settings]
        )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["schedule.name=noam"], "take cosine"),
        (["trainer.sharded=true"], "leave it out"),
        (["augment.mixup=0.2"], "mixed images have no caption"),
        (["model.encoder=null"], "choose an image network"),
        (["tokenizer.min_count=100000"], "no word occurs"),
        (["model.attention=both"], r"model.attention"),
        (["data.corpus=files"], "there are no captions to train on"),
    ],
)
def test_a_wrong_setting_is_named(tmp_path, few, small, settings, message):
    with pytest.raises(UserError, match=message):
        train("caption-scenes", tmp_path / "run", [*small, *settings])
    assert not (tmp_path / "run" / "recipe.yaml").exists()


def test_a_network_that_does_not_fit_is_refused_before_images_are_read(
    tmp_path, monkeypatch, small
):
    monkeypatch.setattr(run_module, "prepare_captions", lambda *given: pytest.fail("read"))
    with pytest.raises(UserError, match="images of 2x2 pixels are too small for ResNet9"):
        train("caption-scenes", tmp_path / "run", [*small, "model.encoder.image_size=2"])


def test_ones_own_captions_are_learnt_and_tested_on(command, tmp_path, pictures, small, steps):
    lines = [f"scene-{n}.png\tA picture, number {n}!\n" for n in range(4)]
    for name, chosen in {"train": lines[:2], "valid": lines[2:3], "test": lines[3:]}.items():
        (tmp_path / f"{name}.tsv").write_text("".join(chosen))
    options = ["--captions", tmp_path / "train.tsv", "--images", pictures]
    for split in ("valid", "test"):
        options += [f"--{split}-captions", tmp_path / f"{split}.tsv"]
    settings = [setting for setting in small if "data.scenes" not in setting]
    settings += [*steps(2), "batches.size=2"]
    answer = command("train", "caption-scenes", "--run", tmp_path / "run", *options, *settings)
    assert answer.code == 0, answer.err
    evaluated = command("evaluate", tmp_path / "run", "--json", "--bootstrap", 0)
    record = json.loads(evaluated.lines[0])
    assert record["split"] == "test"
    assert next(iter(record["systems"].values()))["images"] == 1
    assert "truth" not in record


def test_test_captions_need_captions(mistake, tmp_path):
    line = mistake("train", "caption-scenes", "--run", tmp_path / "run", "--test-captions", "a.tsv")
    assert "--test-captions needs --captions" in line
