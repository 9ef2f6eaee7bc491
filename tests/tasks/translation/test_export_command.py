import json
import shutil

import pytest

from landmark.tasks.training import train

pytest.importorskip("ctranslate2")


def test_export_prints_the_folder_it_wrote(command, tiny_run, tmp_path):
    shutil.copytree(tiny_run, tmp_path / "run")
    answer = command("export", tmp_path / "run", "--to", "ctranslate2", "--int8")
    folder = tmp_path / "run/export/ctranslate2-int8"
    assert (answer.code, answer.out, answer.err) == (0, f"{folder}\n", "")
    assert {path.name for path in folder.iterdir()} == {
        "config.json",
        "manifest.json",
        "model.bin",
        "shared_vocabulary.json",
        "tokenizer.json",
    }
    assert [path.name for path in folder.parent.iterdir()] == ["ctranslate2-int8"]


def test_another_place_and_checkpoint_may_be_named(command, tiny_run, tmp_path):
    output = tmp_path / "elsewhere"
    answer = command("export", tiny_run, "--to", "onnx", "--output", output, "--checkpoint", "4")
    assert (answer.code, answer.out, answer.err) == (0, f"{output}\n", "")
    facts = json.loads((output / "manifest.json").read_text())["facts"]
    assert (facts["checkpoint"], facts["target"]) == ("step-000004", "onnx")


def test_mistakes_are_answered_in_one_line(mistake, tiny_run, tmp_path):
    export = ["export", tiny_run, "--to"]
    assert "no export to 'tensorrt'" in mistake(*export, "tensorrt")
    assert "--int8 does not fit --to onnx" in mistake(*export, "onnx", "--int8")
    assert "no checkpoint '99'" in mistake(*export, "onnx", "--checkpoint", 99)
    assert "something other than an export" in mistake(*export, "onnx", "--output", tiny_run)
    assert "no such run" in mistake("export", tmp_path / "none", "--to", "onnx")
    assert not (tiny_run / "export").exists()


def test_a_run_of_another_task_is_refused(mistake, tmp_path):
    options = ["trainer.max_steps=2", "trainer.checkpoint_every=2"]
    run = train("gan-gaussian", tmp_path / "gan", options).folder
    assert "which has no export" in mistake("export", run, "--to", "ctranslate2")


def test_a_recurrent_network_goes_to_onnx_and_nowhere_else(
    mistake, recurrent_run, tmp_path, landmark_command
):
    run = shutil.copytree(recurrent_run, tmp_path / "run")
    said = mistake("export", run, "--to", "ctranslate2")
    assert said == "CTranslate2 knows Transformers, and this is none: only --to onnx takes it"
    assert not (run / "export").exists()
    exported = landmark_command("export", run, "--to", "onnx")
    assert (exported.returncode, exported.stderr) == (0, "")
    sentence = "The old woman reads a good book."
    torch_said = landmark_command("translate", run, sentence)
    onnx_said = landmark_command("translate", run, sentence, "--engine", "onnx")
    assert torch_said.stdout.strip()
    assert onnx_said.stdout == torch_said.stdout
