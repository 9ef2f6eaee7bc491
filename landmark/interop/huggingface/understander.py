"""Export of a fine-tuned BERT as Hugging Face's class for its task.

Where their classifier of a pre-norm body has a layer of its own before the last, ours has the
body's pooler, which computes the same. A number is learnt as so many deviations from the mean: the
last layer is scaled on the way out, so that theirs says the number itself.
"""

from typing import Any, NamedTuple

from torch import Tensor

from landmark.core.errors import UserError
from landmark.data.understanding.corpus import Labels
from landmark.interop.huggingface.bert import write_body, write_config
from landmark.models.transformer.bert import BERTConfig
from landmark.models.understanding import UnderstandingModel


class _Task(NamedTuple):
    """Their class for a task."""

    ending: str
    head: str
    """What its last layer is called."""
    pooled: bool
    """Whether it reads the pooled first token, not every token."""


_SEQUENCE = _Task("ForSequenceClassification", "classifier", pooled=True)
_TASKS = {
    "classification": _SEQUENCE,
    "regression": _SEQUENCE,
    "choice": _Task("ForMultipleChoice", "classifier", pooled=True),
    "tagging": _Task("ForTokenClassification", "classifier", pooled=False),
    "span": _Task("ForQuestionAnswering", "qa_outputs", pooled=False),
}


def write_understander(
    model: UnderstandingModel, padding: int, labels: Labels
) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Our model as config.json and the weights of the class of theirs that does its task."""
    shape, task = model.config, _TASKS[labels.kind]
    if not isinstance(shape, BERTConfig) or (task.pooled and not shape.pooler):
        raise UserError(f"only a BERT with a pooler goes to hf for {labels.kind}")
    state = {f"bert.{name}": parameter for name, parameter in model.body.named_parameters()}
    splits = task is _SEQUENCE and shape.norm == "pre"
    tensors = write_body(shape, state, padding, pooler=task.pooled and not splits)
    last = f"{task.head}.out_proj" if splits else task.head
    weight, bias = _last_layer(model, labels)
    tensors |= {f"{last}.weight": weight, f"{last}.bias": bias}
    if splits:
        for name in ("weight", "bias"):
            tensors[f"{task.head}.dense.{name}"] = _copy(state[f"bert.pooler.{name}"])
    return write_config(shape, task.ending, padding) | _answers(labels), tensors


def _last_layer(model: UnderstandingModel, labels: Labels) -> tuple[Tensor, Tensor]:
    weight, bias = _copy(model.head.weight), _copy(model.head.bias)
    return weight * labels.deviation, bias * labels.deviation + labels.mean


def _copy(tensor: Tensor) -> Tensor:
    return tensor.detach().float().clone()


def _answers(labels: Labels) -> dict[str, Any]:
    """What config.json says of the outputs."""
    if labels.kind == "regression":
        return {"problem_type": "regression", **_names(("number",))}
    return _names(labels.names) if labels.names else {}


def _names(names: tuple[str, ...]) -> dict[str, Any]:
    return {
        "id2label": {str(number): name for number, name in enumerate(names)},
        "label2id": {name: number for number, name in enumerate(names)},
    }
