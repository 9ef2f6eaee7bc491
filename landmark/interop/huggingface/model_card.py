"""The model card of an exported folder: its README.md, in the form of the Hugging Face Hub.

Mitchell et al. 2019, "Model Cards for Model Reporting", arXiv 1810.03993. Only what a run knows is
stated; the licence, the intended use and the limits are for the person who publishes it.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

CARD = "README.md"
_PIPELINES = {
    "MTModel": "translation",
    "ForConditionalGeneration": "translation",
    "LMHeadModel": "text-generation",
    "ForPreTraining": "fill-mask",
    "ForMaskedLM": "fill-mask",
    "ForSequenceClassification": "text-classification",
    "ForTokenClassification": "token-classification",
    "ForQuestionAnswering": "question-answering",
    "ForMultipleChoice": "multiple-choice",
}
"""What the Hub calls a task, by how the name of a model's class ends."""


@dataclass(frozen=True)
class ModelFacts:
    """What a card states."""

    name: str
    model_class: str
    """The class of `transformers` that loads it."""
    task: str
    parameters: int
    checkpoint: str
    step: int
    version: str
    """Of landmark."""
    settings: str
    """The run's configuration as YAML."""
    data: Mapping[str, Any]
    """The settings of the data alone."""
    validation: Mapping[str, Any]
    """The log's record of the validation at this step, if there is one."""
    evaluations: Sequence[Mapping[str, Any]] = ()
    """Records as `landmark evaluate --json` prints them."""


def write_card(facts: ModelFacts) -> str:
    """A card in Markdown, with the header that the Hub reads."""
    parts = [
        _header(facts),
        f"# {facts.name}",
        f"A {facts.model_class} of {facts.parameters:,} parameters, trained for the task "
        f"`{facts.task}` with Landmark {facts.version} and exported from its checkpoint "
        f"`{facts.checkpoint}` (step {facts.step:,}).",
        "Licence: not stated. Before you publish the model, choose one that the licences of its "
        "training data allow, and put it into the header of this file (`license: …`).",
        "## Use",
        _usage(facts),
        "## Training data",
        _table(
            {key: value for key, value in facts.data.items() if value not in (None, [], "", False)}
        ),
        "## Results",
        *_results(facts),
        "## Settings",
        f"```yaml\n{facts.settings.strip()}\n```",
    ]
    return "\n\n".join(parts) + "\n"


def _header(facts: ModelFacts) -> str:
    lines = ["---", "library_name: transformers", "tags: [landmark]"]
    lines += [
        f"pipeline_tag: {task}"
        for ending, task in _PIPELINES.items()
        if facts.model_class.endswith(ending)
    ]
    return "\n".join([*lines, "---"])


def _usage(facts: ModelFacts) -> str:
    return (
        "```python\n"
        f"from transformers import AutoTokenizer, {facts.model_class}\n\n"
        'tokenizer = AutoTokenizer.from_pretrained("PATH")\n'
        f'model = {facts.model_class}.from_pretrained("PATH")\n'
        "```\n\n"
        "`PATH` is this folder or its name on the Hub. `landmark import hf PATH` makes a run of it "
        "again."
    )


def _results(facts: ModelFacts) -> list[str]:
    """The validation, then each evaluation; says so where there is neither."""
    found = []
    if facts.validation:
        found += [f"Validation at step {facts.step:,}:", _table(_measures(facts.validation))]
    for record in facts.evaluations:
        found += [f"`landmark evaluate`, {record.get('name', 'evaluation')}:"]
        found += [_table(_measures(record))]
    return found or ["This checkpoint was not evaluated."]


def _measures(record: Mapping[str, Any]) -> dict[str, Any]:
    """The numbers of a record by name; scores with their intervals."""
    found: dict[str, Any] = {}
    for key, value in record.items():
        if isinstance(value, bool) or key in ("step", "time", "seconds", "kind"):
            continue
        if isinstance(value, int | float):
            found[key] = value
        elif key == "scores" and isinstance(value, list):
            found |= {str(score["name"]): _interval(score) for score in value}
    return found


def _interval(score: Mapping[str, Any]) -> str:
    value = _number(score["value"])
    if score.get("interval") is not None:
        return f"{value} ± {_number(score['interval'])}"
    if score.get("low") is None or score.get("high") is None:
        return value
    return f"{value} ({_number(score['low'])} – {_number(score['high'])})"


def _table(values: Mapping[str, Any]) -> str:
    rows = [f"| {key} | {_number(value)} |" for key, value in values.items()]
    return "\n".join(["| what | value |", "|---|---|", *rows])


def _number(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text.replace("|", "\\|").replace("\n", " ")
