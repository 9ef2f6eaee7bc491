"""`landmark.train` and `landmark.load` as a Python user calls them; the types that they see."""

import json
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import torch
import yaml

import landmark
from landmark import UserError
from landmark.tasks.training import assignments
from landmark.tasks.translation.pipeline import TranslationPipeline

STEPS = {
    "data.validation": 0.2,
    "trainer": {"max_steps": 2, "validate_every": 1},
    "trainer.log_every": 1,
    "threads": 1,
}


def test_ones_own_pairs_are_given_by_keyword(tmp_path, tiny, own_data):
    settings = [s for s in tiny if not s.startswith("data.")] + ["data.valid_pairs=4"]
    records = []
    run = landmark.train(
        "translation",
        tmp_path / "mine",
        settings,
        source=own_data.source,
        target=str(own_data.target),
        report=records.append,
    )
    recipe = yaml.safe_load((run.folder / "recipe.yaml").read_text())
    assert recipe["data"]["source"] == [str(own_data.source)]
    assert {"data", "train", "valid", "end"} <= {record["kind"] for record in records}
    translator = landmark.load(run, kind=TranslationPipeline)
    assert translator.translate(["A dog sleeps ."])[0].text


def test_settings_are_nested_or_dotted_and_last(tmp_path, digit_files):
    run = landmark.train("lenet5-digits", tmp_path / "run", STEPS, data=digit_files, device="cpu")
    recipe = run.read_recipe()
    assert (recipe["trainer"]["max_steps"], recipe["trainer"]["log_every"]) == (2, 1)
    assert (recipe["data"]["corpus"], recipe["device"]) == ("files", "cpu")
    again = landmark.train(
        "lenet5-digits", tmp_path / "tuned", STEPS, data=digit_files, init_from=run
    )
    assert again.read_recipe()["init_from"] == str(run.folder)
    given = assignments("gpt", {"data.corpus": "shakespeare"}, {"text": "a.txt"})
    assert given.index('data.corpus="files"') < given.index('data.corpus="shakespeare"')


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"source": "a.en"}, "'source' is no option of lenet5-digits.*: it takes data, strict"),
        ({"dta": "folder"}, "'dta' is no option .* settings of the recipe go into"),
        ({"settings": "trainer.max_steps=3"}, r"not one string: \['trainer.max_steps=3'\]"),
        ({"settings": {"trainer.max_step": 3}}, "unknown key 'trainer.max_step': .*max_steps"),
    ],
)
def test_a_mistake_is_one_line_and_leaves_nothing(tmp_path, options, said):
    with pytest.raises(UserError, match=said):
        landmark.train("lenet5-digits", tmp_path / "run", **options)
    assert not (tmp_path / "run").exists()


def test_all_names_are_there_and_documented():
    for name in set(landmark.__all__) - {"__version__"}:
        found = getattr(landmark, name)
        assert found.__doc__, name
        assert name in (Path(__file__).parents[2] / "docs/python.md").read_text()
    assert torch.nn.Module in type(landmark.create("lenet5")).__mro__


def test_the_examples_of_the_page_run(tmp_path, monkeypatch, tiny, own_data):
    """Each block of docs/python.md after the other, with trainings cut to a few steps."""
    train = landmark.train

    def briefly(recipe, run=None, settings=(), **options):
        if recipe == "translation":
            settings = [s for s in tiny if not s.startswith("data.")] + ["data.valid_pairs=4"]
        return train(recipe, run, settings, **options)

    monkeypatch.setattr(landmark, "train", briefly, raising=False)
    monkeypatch.chdir(tmp_path)
    page = (Path(__file__).parents[2] / "docs/python.md").read_text()
    names: dict[str, object] = {}
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    for block in blocks:
        exec(block, names)
    assert len(blocks) >= 8
    assert (tmp_path / "maps.png").is_file()
    assert (tmp_path / "runs/digits/export/onnx").is_dir()


SCRIPT = """
    from typing import assert_type

    import landmark
    from landmark.engine.run import Run
    from landmark.tasks.catalog import System
    from landmark.tasks.translation.pipeline import Translation, TranslationPipeline
    from pathlib import Path
    from torch import nn

    network = landmark.create("resnet-18", classes=5)
    assert_type(network, nn.Module)
    run = landmark.train("translation", "runs/mine", {"trainer.max_steps": 5}, source="a.tsv")
    assert_type(run, Run)
    translator = landmark.load(run, kind=TranslationPipeline, precision="bf16")
    assert_type(translator, TranslationPipeline)
    assert_type(translator.translate(["A dog."]), list[Translation])
    assert_type(translator.translate(["A dog."])[0].text, str)
    assert_type(landmark.systems(), tuple[System, ...])
    assert_type(landmark.systems()[0].networks[0].name, str)
    assert_type(landmark.systems()[0].recipes[0].summary, str)
    assert_type(landmark.export(run, "onnx"), Path)
    landmark.create(3)  # wrong
"""


def test_a_users_script_is_typed(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(SCRIPT))
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", str(script)],
        capture_output=True,
        check=False,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    wrong = SCRIPT.count("\n", 0, SCRIPT.index("# wrong"))
    (fault, _) = checked.stdout.strip().splitlines()
    assert f"script.py:{wrong + 1}: error" in fault
    assert 'incompatible type "int"; expected "str"' in fault


def test_scores_are_those_of_the_command(command, tiny_run, own_data):
    files = {"source": own_data.source, "reference": own_data.target}
    words = ["--source", own_data.source, "--reference", own_data.target]
    words += ["--beam", 1, "--bootstrap", 0]
    said = json.loads(command("evaluate", tiny_run, *words, "--json").out)
    (record,) = landmark.evaluate(tiny_run, **files, beam=1, bootstrap=0)
    assert record.json() == said
    with pytest.raises(UserError, match="unknown key 'splt': did you mean split"):
        landmark.evaluate(tiny_run, splt="valid")


def test_a_figure_is_that_of_the_command(tmp_path, digits_run):
    drawn = landmark.figure("kernels", run=Path(digits_run), output=str(tmp_path / "kernels.png"))
    assert drawn.path is not None
    assert drawn.path.read_bytes().startswith(b"\x89PNG")
    with pytest.raises(UserError, match="unknown figure 'kernel': did you mean kernels"):
        landmark.figure("kernel", run=digits_run)
