"""What a shell completes: asked as bash, zsh and fish ask, by environment variables."""

import os
import subprocess
import sys

import pytest

from landmark.cli.completion import complete_recipe, complete_run


def bash(*words, cwd):
    """What bash is offered for the last word of a command line."""
    environment = os.environ | {
        "_LANDMARK_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(["landmark", *words]),
        "COMP_CWORD": str(len(words)),
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    line = [sys.executable, "-X", "importtime", "-m", "landmark"]
    answer = subprocess.run(
        line, env=environment, cwd=cwd, capture_output=True, text=True, check=False
    )
    assert " torch\n" not in answer.stderr, "completion imports torch"
    return answer.stdout.split()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["trai"], ["train"]),
        (["train", "lstm-"], ["lstm-shakespeare", "lstm-reading"]),
        (["recipe", "lenet5-m"], ["lenet5-mnist"]),
        (["show", "resnet-1"], ["resnet-18", "resnet-101", "resnet-152"]),
        (["list", "trans"], ["transformer"]),
        (["list", "--task", "image-c"], ["image-classification"]),
        (["figure", "ker"], ["kernels"]),
        (["translate", "runs/first", "--len"], ["--length-penalty"]),
        (["translate", "runs/m"], ["runs/mine", "runs/more/"]),
        (["race", "race-v"], ["race-vae"]),
    ],
)  # fmt: skip
def test_bash_completes_commands_names_flags_and_runs(words, offered, tmp_path):
    for run in ("mine", "other", "more/inner"):
        (tmp_path / "runs" / run).mkdir(parents=True)
        (tmp_path / "runs" / run / "recipe.yaml").touch()
    assert bash(*words, cwd=tmp_path) == offered


def test_a_recipe_may_be_a_yaml_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("mine.yaml", "mine.txt", ".hidden.yaml"):
        (tmp_path / name).touch()
    (tmp_path / "minerals").mkdir()
    assert complete_recipe("mine") == ["mine.yaml", "minerals/"]
    assert complete_run("") == ["minerals/"]
    assert complete_run(f"{tmp_path}/min") == [f"{tmp_path}/minerals/"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_for_a_shell_is_shown(shell, tmp_path):
    environment = os.environ | {
        "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1",  # it asks which process called it
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    line = [sys.executable, "-m", "landmark", "--show-completion", shell]
    answer = subprocess.run(line, env=environment, capture_output=True, text=True, check=True)
    assert "_LANDMARK_COMPLETE" in answer.stdout
    assert f"complete_{shell}" in answer.stdout
