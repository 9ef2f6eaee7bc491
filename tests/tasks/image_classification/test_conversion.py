"""`landmark import torchvision|timm` and `landmark export --to onnx` as a user calls them."""

import json
import shutil

import numpy as np
import pytest
import torch
from PIL import Image

from landmark.tasks.loading import load
from tests.interop.foreign_network import built
from tests.timm_beside import timm, torchvision


@pytest.fixture(scope="module")
def theirs(tmp_path_factory):
    """A GoogLeNet of torchvision and a small ViT of timm, as files."""
    folder = tmp_path_factory.mktemp("theirs")
    google = built(torchvision.models.GoogLeNet, 4, aux_logits=False, init_weights=False)
    vit = built(timm.create_model, "vit_tiny_patch16_224", num_classes=4)
    torch.save(google.state_dict(), folder / "google.pth")
    torch.save({"state_dict": vit.state_dict(), "epoch": 3}, folder / "vit.pth")
    (folder / "names.txt").write_text("ant\nbee\ncat\ndog\n")
    noise = np.random.default_rng(1).integers(0, 256, (300, 300, 3), np.uint8)
    Image.fromarray(noise).save(folder / "picture.png")
    return folder


def probabilities(answer):
    assert answer.code == 0, answer
    (line,) = answer.out.splitlines()
    return {one["name"]: one["probability"] for one in json.loads(line)["classes"]}


def test_their_networks_name_images_and_go_out_to_onnx(command, theirs, tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    for library, file, network in (
        ("torchvision", "google.pth", "googlenet-bn"),
        ("timm", "vit.pth", "vit-ti16"),
    ):
        run = tmp_path / library
        answer = command(
            "import", library, theirs / file, "--run", run, "--labels", theirs / "names.txt"
        )
        assert (answer.code, answer.out) == (0, f"{run}\n"), answer
        assert f"note: {network}, 4 classes; images: resized to 2" in " ".join(answer.err.split())
        named = probabilities(command("classify", run, theirs / "picture.png", "--json"))
        assert named.keys() == {"ant", "bee", "cat", "dog"}
        exported = command("export", run, "--to", "onnx")
        folder = run / "export/onnx"
        assert (exported.code, exported.out, exported.err) == (0, f"{folder}\n", "")
        by_onnx = command("classify", run, theirs / "picture.png", "--json", "--engine", "onnx")
        assert probabilities(by_onnx) == pytest.approx(named, abs=1e-4)
        inside = {path.name for path in folder.iterdir()}
        assert inside == {"network.onnx", "classes.json", "manifest.json"}
        # What the manifest says is all that another program needs.
        facts = json.loads((folder / "manifest.json").read_text())["facts"]["images"]
        pixels = load(run).read(theirs / "picture.png")
        top, left = ((side - facts["side"]) // 2 for side in pixels.shape[:2])
        middle = pixels[top : top + facts["side"], left : left + facts["side"]] / 255
        given = (middle - np.array(facts["mean"])) / np.array(facts["deviation"])
        session = runtime.InferenceSession(str(folder / "network.onnx"))
        images = given.transpose(2, 0, 1)[None].astype(np.float32)
        (scores,) = session.run(None, {"images": images})
        shares = torch.from_numpy(scores).softmax(1)[0].tolist()
        expected = dict(zip(("ant", "bee", "cat", "dog"), shares, strict=True))
        assert named == pytest.approx(expected, abs=1e-4)


def test_receptive_fields_of_an_import_need_no_image(command, theirs, tmp_path):
    run, output = tmp_path / "run", tmp_path / "r.png"
    assert command("import", "torchvision", theirs / "google.pth", "--run", run).code == 0
    answer = command("figure", "receptive", run, "--output", output)
    assert (answer.code, answer.err) == (0, "")
    fresh = command("figure", "receptive", "googlenet-bn", "--output", output)
    assert answer.lines == fresh.lines


def test_mistakes_are_answered_in_one_line(mistake, command, theirs, tmp_path):
    run = tmp_path / "run"
    torchvision_file = ["import", "torchvision", theirs / "google.pth", "--run", run]
    assert "there is no such file" in mistake("import", "timm", tmp_path / "x.pth", "--run", run)
    assert "is a folder: name a file" in mistake("import", "torchvision", theirs, "--run", run)
    assert "neither model.safetensors" in mistake("import", "timm", theirs, "--run", run)
    assert "as resnet-18, the file lacks" in mistake(*torchvision_file, "--network", "resnet-18")
    said = mistake(*torchvision_file, "--network", "resnet18")
    assert "no network 'resnet18' can be imported: did you mean resnet-18?" in said
    said = mistake(*torchvision_file, "--weights", "IMAGENET1K_V9")
    assert "torchvision has no weights 'IMAGENET1K_V9' of googlenet-bn" in said
    said = mistake(*torchvision_file, "--weights", "IMAGENET1K_V1", "--resize", 300)
    assert "--weights says how images are resized: leave out --resize" in said
    said = mistake(*torchvision_file, "--mean", "0.5,much")
    assert said == "--mean 0.5,much: give numbers with commas between them, as 0.5,0.5,0.5"
    said = mistake("import", "torchvision", theirs / "vit.pth", "--run", run)
    assert "does not hold a known network (it begins with 'cls_token')" in said
    said = mistake(*torchvision_file, "--labels", theirs / "picture.png")
    assert "picture.png" in said
    assert not run.exists()
    assert command(*torchvision_file).code == 0
    assert "exists: --run names another folder" in mistake(*torchvision_file)
    for words in (
        ["evaluate", run],
        ["evaluate", run, "--split", "valid"],
        ["figure", "maps", run],
        ["figure", "saliency", run],
    ):
        assert "run has no images of its own: name an image, or to evaluate it --file FOLDER" in (
            mistake(*words)
        )
    classify = ["classify", run, theirs / "picture.png", "--engine"]
    assert "has torch, compiled, onnx and onnx-int8" in mistake(*classify, "ctranslate2")
    assert "there is no export yet: landmark export" in mistake(*classify, "onnx")
    assert "no export to 'hf': it has onnx" in mistake("export", run, "--to", "hf")
    assert "--calibration FOLDER" in mistake("export", run, "--to", "onnx", "--int8")
    assert "something other than an export" in mistake(
        "export", run, "--to", "onnx", "--output", theirs
    )
    shutil.rmtree(run / "checkpoints")
    assert "has no checkpoint yet" in mistake("export", run, "--to", "onnx")
