"""Weights of torchvision and timm as runs: what is asked of their classes and images."""

import dataclasses
import hashlib
import json
import shutil

import pytest
import torch
from PIL import Image
from safetensors.torch import save_file

from landmark.core.errors import UserError
from landmark.data.images.form import FILE, ImageForm
from landmark.engine.run import Run
from landmark.interop.image_network import Family
from landmark.interop.torchvision import WEIGHTS, PublishedWeights, resnet_names
from landmark.models.convolutional.resnet import ResNetConfig
from landmark.models.transformer.vit import ViTConfig
from landmark.models.vision import build_network
from landmark.tasks.image_classification import imports as importing
from landmark.tasks.image_classification.imports import Preparation, import_network, read_labels
from landmark.tasks.loading import load
from landmark.tasks.training import load_config, train
from tests.interop.foreign_network import randomise
from tests.torchvision_beside import torchvision

transforms = torchvision.transforms

SHAPE = ResNetConfig(blocks=(1, 1), width=4, bottleneck=False, classes=3, image_size=24)


@pytest.fixture
def known(monkeypatch):
    """Both libraries have a small network now."""
    family = Family({"small": SHAPE}, resnet_names, "conv1", "fc", resize=32)
    for library in ("torchvision", "timm"):
        monkeypatch.setattr(f"landmark.interop.{library}.FAMILIES", (family,))


def small_state(config=SHAPE):
    network = randomise(build_network(config))
    names = resnet_names(network)
    return network, {names[ours]: tensor.clone() for ours, tensor in network.state_dict().items()}


@pytest.fixture
def weights(known, tmp_path):
    network, state = small_state()
    torch.save(state, tmp_path / "small.pth")
    return network, tmp_path / "small.pth"


def test_a_run_looks_at_images_as_torchvision_prepares_them(weights, tmp_path):
    network, path = weights
    labels = tmp_path / "names.txt"
    labels.write_text("cat\ndog\nsnow leopard\n", encoding="utf-8")
    run = import_network("torchvision", path, tmp_path / "run", labels=labels)
    picture = tmp_path / "picture.png"
    pixels = torch.randint(0, 256, (48, 66, 3), generator=torch.Generator().manual_seed(3))
    Image.fromarray(pixels.to(torch.uint8).numpy()).save(picture)
    steps = [transforms.Resize(32), transforms.CenterCrop(24), transforms.ToTensor()]
    steps.append(transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]))
    given = transforms.Compose(steps)(Image.open(picture))
    with torch.inference_mode():
        expected = network(given[None]).softmax(1)[0]
    (found,) = load(run).classify([picture])
    named = {guess.name: guess.probability for guess in found.guesses}
    assert named == pytest.approx(
        dict(zip(["cat", "dog", "snow leopard"], expected.tolist(), strict=True)), abs=1e-5
    )


def test_an_imported_network_learns_other_classes(weights, tmp_path):
    network, path = weights
    run = import_network("torchvision", path, tmp_path / "run")
    steps = ["trainer.max_steps=2", "trainer.validate_every=2", "trainer.checkpoint_every=2"]
    begin = [f"init_from={run}", "threads=1", "data.limit=64", "schedule.rate=0.001"]
    tuned = load(train("lenet5-digits", tmp_path / "tuned", [*begin, *steps]).folder)
    assert len(tuned.form.names) == tuned.config.model.classes == 10
    assert tuned.form.mean == (0.485, 0.456, 0.406)
    before, after = (
        model.get_parameter("stem.convolution.weight") for model in (network, tuned.network)
    )
    assert 0 < (before - after).abs().max() < 0.1


def test_classes_without_names_are_counted(weights, tmp_path):
    said = []
    run = import_network("timm", weights[1], tmp_path / "run", report=said.append)
    assert ImageForm.load(run / FILE).names == ("class 0", "class 1", "class 2")
    texts = [record["text"] for record in said]
    assert texts[0] == "note: the 3 classes have no names: --labels FILE gives them, a line each"
    assert texts[1] == (
        "note: small, 3 classes; images: resized to 32, centre crop 24 x 24, "
        "mean 0.485, 0.456, 0.406, std 0.229, 0.224, 0.225"
    )


def test_images_may_be_prepared_otherwise(weights, tmp_path):
    wanted = Preparation(resize=50, image_size=40, mean=(0.5,), std=(0.25, 0.5, 1.0))
    run = import_network("torchvision", weights[1], tmp_path / "run", preparation=wanted)
    form = ImageForm.load(run / FILE)
    assert (form.size, form.mean, form.std) == (50, (0.5, 0.5, 0.5), (0.25, 0.5, 1.0))
    assert load_config(Run.open(run)).model.image_size == 40
    run = import_network(
        "torchvision", weights[1], tmp_path / "other", preparation=Preparation(image_size=48)
    )
    assert ImageForm.load(run / FILE).size == 64  # as much around it as before


@pytest.fixture
def published(monkeypatch, weights):
    """torchvision publishes two kinds of weights of the small network."""
    digest = hashlib.sha256(weights[1].read_bytes()).hexdigest()[:8]
    kinds = (PublishedWeights("V1", 32, 24, "00000000"), PublishedWeights("V2", 26, 24, digest))
    monkeypatch.setitem(WEIGHTS, "small", kinds)
    return weights[1]


def size_of(run):
    return ImageForm.load(run / FILE).size


def test_published_weights_are_known_by_their_digest(published, tmp_path):
    assert size_of(import_network("torchvision", published, tmp_path / "run")) == 26
    named = import_network("torchvision", published, tmp_path / "named", weights="V1")
    assert size_of(named) == 32


def test_where_published_weights_differ_the_user_is_asked(published, tmp_path):
    state = {name: tensor.clone() for name, tensor in torch.load(published).items()}
    state["fc.bias"] += 1
    torch.save(state, tmp_path / "own.pth")
    own = tmp_path / "own.pth"
    with pytest.raises(
        UserError, match=r"--weights NAME, one of V1 \(resize 32\), V2 \(resize 26\)"
    ):
        import_network("torchvision", own, tmp_path / "run")
    with pytest.raises(UserError, match="has no weights 'V3' of small: did you mean V"):
        import_network("torchvision", own, tmp_path / "run", weights="V3")
    both = {"weights": "V2", "preparation": Preparation(resize=30)}
    with pytest.raises(UserError, match="leave out --resize"):
        import_network("torchvision", own, tmp_path / "run", **both)
    with pytest.raises(UserError, match="weights of torchvision, not of timm"):
        import_network("timm", own, tmp_path / "run", weights="V2")
    assert not (tmp_path / "run").exists()
    assert size_of(import_network("torchvision", own, tmp_path / "a", weights="V2")) == 26
    resized = Preparation(resize=30)
    run = import_network("torchvision", own, tmp_path / "b", preparation=resized)
    assert size_of(run) == 30
    larger = Preparation(image_size=48)
    run = import_network("torchvision", own, tmp_path / "c", weights="V2", preparation=larger)
    assert size_of(run) == 52


def test_a_vits_positions_say_which_weights_they_can_be(tmp_path, monkeypatch):
    from landmark.interop.torchvision import FAMILIES

    shape = ViTConfig(
        classes=3, image_size=16, patch_size=4, hidden_size=8, num_heads=2, num_layers=1
    )
    real = next(family for family in FAMILIES if "vit-b16" in family.variants)
    family = dataclasses.replace(real, variants={"small-vit": shape})
    monkeypatch.setattr("landmark.interop.torchvision.FAMILIES", (family,))
    kinds = (PublishedWeights("V1", 20, 16, "0" * 8), PublishedWeights("SWAG", 24, 24, "1" * 8))
    monkeypatch.setitem(WEIGHTS, "small-vit", kinds)

    def saved(side):
        network = build_network(dataclasses.replace(shape, image_size=side))
        names, path = family.names(network), tmp_path / f"{side}.pth"
        torch.save({names[n]: t for n, t in network.state_dict().items()}, path)
        return path

    for side, size in ((16, 20), (24, 24)):
        assert size_of(import_network("torchvision", saved(side), tmp_path / f"run{side}")) == size
    with pytest.raises(UserError, match=r"SWAG reads images of 24 pixels a side.*are for 16"):
        import_network("torchvision", saved(16), tmp_path / "run", weights="SWAG")
    with pytest.raises(UserError, match=r"of 32 pixels a side .*: give --resize PIXELS"):
        import_network("torchvision", saved(32), tmp_path / "run")


def test_grey_images_have_the_mean_of_the_colours(known, tmp_path):
    _, state = small_state(ResNetConfig(**{**vars(SHAPE), "channels": 1}))
    torch.save(state, tmp_path / "grey.pth")
    form = ImageForm.load(import_network("timm", tmp_path / "grey.pth", tmp_path / "run") / FILE)
    assert form.channels == 1
    assert form.mean == pytest.approx((0.449,), abs=1e-6)


def test_a_folder_of_timm_tells_how_its_images_are_prepared(known, tmp_path):
    network, state = small_state()
    folder = tmp_path / "theirs"
    folder.mkdir()
    save_file(state, folder / "model.safetensors")
    config = {
        "architecture": "resnet9000",
        "pretrained_cfg": {
            "input_size": [3, 40, 40],
            "crop_pct": 0.8,
            "mean": [0.1, 0.2, 0.3],
            "std": [0.4, 0.5, 0.6],
        },
        "label_names": ["n1", "n2", "n3"],
        "label_descriptions": {"n1": "one", "n2": "two"},
    }
    (folder / "config.json").write_text(json.dumps(config))
    run = import_network("timm", folder, tmp_path / "run")
    form = ImageForm.load(run / FILE)
    assert form.names == ("one", "two", "n3")
    assert (form.size, form.mean, form.std) == (50, (0.1, 0.2, 0.3), (0.4, 0.5, 0.6))
    pipeline = load(run)
    assert pipeline.config.model.image_size == 40
    assert torch.equal(
        pipeline.network.get_parameter("classifier.weight"),
        network.get_parameter("classifier.weight"),
    )
    (folder / "config.json").write_text(json.dumps({"pretrained_cfg": {"input_size": 3}}))
    with pytest.raises(UserError, match="not as timm writes it"):
        import_network("timm", folder, tmp_path / "other")
    (folder / "model.safetensors").unlink()
    with pytest.raises(UserError, match=r"neither model.safetensors nor pytorch_model.bin"):
        import_network("timm", folder, tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_a_name_on_the_hub_is_fetched_and_a_missing_file_is_not(known, tmp_path, monkeypatch):
    folder = tmp_path / "fetched"
    folder.mkdir()
    save_file(small_state()[1], folder / "model.safetensors")
    asked = []

    def fetch(name, report):
        asked.append(name)
        return folder

    monkeypatch.setattr(importing, "fetch_model", fetch)
    monkeypatch.chdir(tmp_path)
    assert str(import_network("timm", "timm/resnet9000.a1_in1k")) == "runs/resnet9000.a1_in1k"
    assert asked == ["timm/resnet9000.a1_in1k"]
    for library, source in (
        ("torchvision", "timm/resnet9000.a1_in1k"),
        ("timm", "weights/none.pth"),
        ("timm", "weights/model.safetensors"),
        ("timm", "./weights/none"),
    ):
        with pytest.raises(UserError, match="there is no such file"):
            import_network(library, source, tmp_path / "other")
    assert len(asked) == 1


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.txt", "tench\r\ngold fish \n\n"),
        ("a.json", '["tench", "gold fish"]'),
        ("a.json", '{"0": ["n01440764", "tench"], "1": ["n01443537", "gold fish"]}'),
        ("a.json", '{"1": "gold fish", "0": "tench"}'),
        ("a.json", '{"gold fish": 1, "tench": 0}'),
    ],
    ids=["lines", "list", "pairs", "numbered", "turned"],
)
def test_names_of_classes_are_read_in_every_usual_form(name, text, tmp_path):
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert read_labels(tmp_path / name) == ["tench", "gold fish"]


def test_faults_leave_nothing_behind(weights, tmp_path):
    path, run = weights[1], tmp_path / "run"
    (tmp_path / "two.txt").write_text("a\nb\n")
    (tmp_path / "gap.txt").write_text("a\n\nb\n")
    for name, text in (("odd.json", "[1, 2, 3]"), ("far.json", '{"7": "a"}'), ("no.json", "{")):
        (tmp_path / name).write_text(text)

    def refused(words, **options):
        with pytest.raises(UserError, match=words):
            import_network("torchvision", path, run, **options)
        assert not run.exists()

    refused("names 2 classes, but the network tells 3", labels=tmp_path / "two.txt")
    refused("line 2 is empty", labels=tmp_path / "gap.txt")
    for name in ("odd.json", "far.json"):
        refused("is neither a list of names", labels=tmp_path / name)
    refused("no.json: damaged: it is not valid JSON", labels=tmp_path / "no.json")
    refused("No such file", labels=tmp_path / "none.json")
    refused("2 numbers for images of 3 channels", preparation=Preparation(mean=(0.5, 0.5)))
    refused("must be above 0", preparation=Preparation(std=(0.0,)))
    refused("smaller than the centre crop of 24", preparation=Preparation(resize=20))
    refused("no network 'large' can be imported", network="large")
    monkey = small_state(ResNetConfig(**{**vars(SHAPE), "channels": 4}))[1]
    torch.save(monkey, path)
    refused("images of 4 channels: only 1 and 3")
    run.mkdir()
    (run / "mine").write_text("")
    with pytest.raises(UserError, match="exists: --run names another folder"):
        import_network("torchvision", path, run)


def test_a_size_that_dense_layers_cannot_read_is_refused(tmp_path, monkeypatch):
    from landmark.interop.torchvision import FAMILIES
    from landmark.models.convolutional.vgg import VGGConfig

    shape = VGGConfig(layout="a", width=4, dense_width=8, classes=3, image_size=64)
    names = next(family.names for family in FAMILIES if "vgg-a" in family.variants)
    family = Family({"narrow": shape}, names, "features.0", "classifier.6")
    monkeypatch.setattr("landmark.interop.torchvision.FAMILIES", (family,))
    network = build_network(shape)
    torch.save({names(network)[n]: t for n, t in network.state_dict().items()}, tmp_path / "a.pth")
    with pytest.raises(UserError, match="narrow reads images of 64 pixels a side, not 96"):
        import_network(
            "torchvision",
            tmp_path / "a.pth",
            tmp_path / "r",
            preparation=Preparation(image_size=96),
        )
    assert importing.LIBRARIES.keys() == {"torchvision", "timm"}


def test_images_are_resized_as_the_weights_say(weights, published, tmp_path, monkeypatch):
    def interpolation(library, source, name, **options):
        run = import_network(library, source, tmp_path / name, **options)
        form = ImageForm.load(run / FILE)
        assert load_config(Run.open(run)).data.interpolation == form.interpolation
        return form.interpolation

    assert interpolation("torchvision", published, "plain", weights="V1") == "bilinear"
    swag = PublishedWeights("SWAG_V1", 26, 24, "11111111")
    monkeypatch.setitem(WEIGHTS, "small", (*WEIGHTS["small"], swag))
    assert interpolation("torchvision", published, "swag", weights="SWAG_V1") == "bicubic"
    wanted = Preparation(resize=30, interpolation="bicubic")
    assert interpolation("torchvision", published, "own", preparation=wanted) == "bicubic"
    folder = tmp_path / "hub"
    folder.mkdir()
    shutil.copy(published, folder / "pytorch_model.bin")
    for name, expected in (("bicubic", "bicubic"), ("random", "bilinear")):
        config = {"pretrained_cfg": {"interpolation": name}}
        (folder / "config.json").write_text(json.dumps(config))
        assert interpolation("timm", folder, name) == expected


def test_fine_tuning_goes_on_with_the_interpolation_it_began_with(weights, tmp_path):
    wanted = Preparation(interpolation="bicubic")
    run = import_network("torchvision", weights[1], tmp_path / "run", preparation=wanted)
    steps = ["trainer.max_steps=1", "trainer.validate_every=1", "trainer.checkpoint_every=1"]
    begin = [f"init_from={run}", "threads=1", "data.limit=64", *steps]
    tuned = train("lenet5-digits", tmp_path / "tuned", begin)
    assert ImageForm.load(tuned.folder / FILE).interpolation == "bicubic"
    train("lenet5-digits", tmp_path / "tuned", begin, resume="auto")
    other = train("lenet5-digits", tmp_path / "other", [*begin, "data.interpolation=bilinear"])
    assert ImageForm.load(other.folder / FILE).interpolation == "bilinear"
