"""The model card that `landmark export --to hf` writes."""

import json
import re

import pytest
import yaml

import landmark
from landmark import UserError
from landmark.engine.run import Run
from landmark.interop.huggingface.model_card import ModelFacts, write_card


@pytest.fixture(scope="module")
def card(pretrained_runs, tmp_path_factory):
    folder = tmp_path_factory.mktemp("export") / "gpt"
    landmark.export(pretrained_runs["gpt"], "hf", output=folder)
    return folder / "README.md"


def test_its_code_loads_the_model(card):
    (code,) = re.findall(r"```python\n(.*?)```", card.read_text(), re.DOTALL)
    names: dict[str, object] = {}
    exec(code.replace("PATH", str(card.parent)), names)
    found = sum(p.numel() for p in names["model"].parameters())  # type: ignore[attr-defined]
    assert f"A {type(names['model']).__name__} of {found:,} parameters" in card.read_text()


def test_it_states_the_data_the_settings_and_the_validation(card, pretrained_runs):
    text = card.read_text()
    header, settings = text.split("---")[1], re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)[0]
    assert yaml.safe_load(header)["pipeline_tag"] == "text-generation"
    recipe = Run(pretrained_runs["gpt"]).read_recipe()
    assert yaml.safe_load(settings)["model"] == recipe["model"]
    assert '| text | ["page.txt"] |' in text
    assert str(pretrained_runs["gpt"].parent) not in text
    (valid,) = [r for r in Run(pretrained_runs["gpt"]).read_log() if r["kind"] == "valid"]
    assert f"| loss | {valid['loss']:.4g} |" in text
    assert "Licence: not stated" in text


def test_evaluations_of_the_same_checkpoint_are_stated(command, tiny_run, own_data, tmp_path):
    words = [
        "--source",
        own_data.source,
        "--reference",
        own_data.target,
        "--beam",
        1,
        "--bootstrap",
        20,
        "--json",
    ]
    said = command("evaluate", tiny_run, *words).out
    (tmp_path / "e.json").write_text(said)
    folder = tmp_path / "out"
    command(
        "export", tiny_run, "--to", "hf", "--output", folder, "--evaluation", tmp_path / "e.json"
    )
    scores = {score["name"]: score for score in json.loads(said)["scores"]}
    line = f"| chrF2 | {scores['chrF2']['value']:.4g} ± {scores['chrF2']['interval']:.4g} |"
    assert line in (folder / "README.md").read_text()
    with pytest.raises(
        UserError, match=r"e\.json:1: is of checkpoint step-000012, but step-000004"
    ):
        landmark.export(tiny_run, "hf", evaluation=[tmp_path / "e.json"], checkpoint="4")
    (tmp_path / "e.json").write_text("a table\n")
    with pytest.raises(UserError, match=r"e\.json:1: is not a line of"):
        landmark.export(tiny_run, "hf", evaluation=[tmp_path / "e.json"])


def test_what_was_not_measured_is_not_stated():
    facts = ModelFacts("n", "BertForMaskedLM", "t", 1, "step-000001", 1, "0", "a: 1", {}, {})
    assert "This checkpoint was not evaluated." in write_card(facts)
    assert "pipeline_tag: fill-mask" in write_card(facts)
