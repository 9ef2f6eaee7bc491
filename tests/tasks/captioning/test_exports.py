import json
import shutil

import numpy as np
import pytest
import torch

import landmark
from landmark.data.captions.corpus import open_split
from landmark.layers.packing import Packing
from landmark.tasks.exporting import export_run

pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")
KINDS = ["soft", "hard", "transformer"]


@pytest.fixture(scope="module")
def exported(captioners, tmp_path_factory):
    """Copies of the runs, with their exports."""
    folder = tmp_path_factory.mktemp("exported")
    for kind, run in captioners.items():
        shutil.copytree(run, folder / kind)
        export_run(folder / kind, "onnx")
    return folder


@pytest.fixture(scope="module")
def both(exported):
    """Each run with torch and with its export."""
    return {
        kind: [landmark.load(exported / kind, engine=e, device="cpu") for e in ("torch", "onnx")]
        for kind in KINDS
    }


@pytest.fixture(scope="module")
def images(captioners):
    split = open_split(captioners["soft"], "test").images
    return [split[n] for n in range(12)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "options",
    [{"n_best": 3}, {"beam": 1}, {"beam": 3, "begin": "a small", "no_repeat_ngram": 2},
     {"sample": True, "seed": 4, "n_best": 2}, {"min_length": 5}],
)  # fmt: skip
def test_an_export_says_what_the_run_says(both, images, kind, options):
    ours, its = (pipeline.caption(images, **options) for pipeline in both[kind])
    for one, other in zip(ours, its, strict=True):
        assert [text for text, _ in one.alternatives] == [text for text, _ in other.alternatives]
        scores = [[score for _, score in each.alternatives] for each in (one, other)]
        np.testing.assert_allclose(*scores, atol=1e-3)
        assert one.ended == other.ended


@pytest.mark.parametrize("kind", KINDS)
@torch.no_grad()
def test_the_graphs_are_all_that_another_program_needs(exported, both, images, kind):
    """Driven by onnxruntime alone: images and tokens in, logits out, two rows of each image."""
    folder, pipeline = exported / kind / "export/onnx", both[kind][0]
    encoder, decoder = (
        runtime.InferenceSession(str(folder / f"{name}.onnx"), providers=["CPUExecutionProvider"])
        for name in ("encoder", "decoder")
    )
    given = pipeline.form.network_input(images[:3], pipeline.side).contiguous()
    names = [output.name for output in encoder.get_outputs()]
    made = dict(zip(names, encoder.run(names, {"images": given.numpy()}), strict=True))
    memory = {name: value for name, value in made.items() if name.startswith("memory_")}
    places = pipeline.model.config.places
    memory["visible"] = np.ones((3, places), np.bool_)
    state = {
        name.removeprefix("first_"): np.repeat(value, 2, 1)
        for name, value in made.items()
        if name.startswith("first_")
    }
    if kind == "transformer":
        layers, _, heads, _, size = memory["memory_keys"].shape
        empty = np.zeros((layers, 6, heads, 0, size), np.float32)
        state = {"keys": empty, "values": empty}
    captions = [[pipeline.tokenizer.begin, 5, 6, 7], [pipeline.tokenizer.begin, 8, 4, 9]] * 3
    said = []
    for time in range(4):
        tokens = np.array([caption[time] for caption in captions])
        names = [output.name for output in decoder.get_outputs()]
        found = decoder.run(names, {"tokens": tokens, **memory, **state})
        outputs = dict(zip(names, found, strict=True))
        said.append(outputs.pop("logits"))
        state = {name.removeprefix("next_"): value for name, value in outputs.items()}
    for row, caption in enumerate(captions):
        target, one = torch.tensor(caption), given[row // 2 : row // 2 + 1]
        hidden = pipeline.model(one, Packing.full(1, places), target, Packing.full(1, 4))
        expected = pipeline.model.logits(hidden).numpy()
        np.testing.assert_allclose(np.stack(said)[:, row], expected, atol=1e-3)


def test_an_export_holds_what_reading_and_writing_need(exported, both):
    folder = exported / "soft/export/onnx"
    assert {path.name for path in folder.iterdir()} == {
        "encoder.onnx", "decoder.onnx", "tokenizer.json", "classes.json", "manifest.json"
    }  # fmt: skip
    facts = json.loads((folder / "manifest.json").read_text())["facts"]
    assert facts["image_size"] == both["soft"][0].side == 32
    assert facts["search"]["beam"] == 5
    words = json.loads((folder / "tokenizer.json").read_text())
    assert len(words["model"]["vocab"]) == len(both["soft"][0].tokenizer)


def test_the_command_exports_and_describes_with_the_export(command, exported, pictures, tmp_path):
    answer = command("export", exported / "hard", "--to", "onnx", "--output", tmp_path / "out")
    assert (answer.code, answer.out) == (0, f"{tmp_path / 'out'}\n")
    spoken = [
        command("caption", exported / "hard", pictures, "--engine", engine).lines
        for engine in ("torch", "onnx")
    ]
    assert spoken[0] == spoken[1]
    assert len(spoken[0]) == 4


def test_what_an_export_cannot_do_is_refused(mistake, exported, pictures):
    run = exported / "soft"
    words = ["caption", run, pictures, "--engine", "onnx"]
    assert "is for torch" in mistake(*words, "--precision", "bf16")
    assert "no export to 'ctranslate2'" in mistake("export", run, "--to", "ctranslate2")
