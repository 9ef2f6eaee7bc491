"""BERT, RoBERTa and DistilBERT: their weights as our BERT, and our BERT as theirs.

RoBERTa counts places from the padding token's number on, so its first rows of positions are never
read; DistilBERT has neither segments nor a pooler. Both are a BERT of ours, and go out as one.
RoBERTa-PreLayerNorm is a RoBERTa with pre-norm and a last norm: a pre-norm BERT goes out as one,
without the layer that says whether a segment follows, which has no place there.
A folder may lack what its task did not need: without a pooler ours has none, without the
next-sentence layer ours has no opinion (zeros), and without the layers that guess hidden tokens
ours begins them anew.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from landmark.core.configuration import Provenance, build
from landmark.core.errors import UserError
from landmark.interop.huggingface.correspondence import (
    TensorPart,
    demand,
    depth,
    gather,
    layers,
    number,
    scatter,
    shapes_of,
    share,
)
from landmark.interop.huggingface.folder import CONFIG, Weights
from landmark.models.transformer.bert import BERTConfig, PretrainedBERT

BERT_TYPE, ROBERTA, DISTILBERT = "bert", "roberta", "distilbert"
PRE_NORM = "roberta-prelayernorm"
_COUNTED = (ROBERTA, PRE_NORM)  # their places are counted from behind the padding token's number
_EPSILON = 1e-12  # where config.json does not say
_PLACES = "embeddings.position_embeddings.weight"
_ATTENTION = tuple(f"attention.self.{name}" for name in ("query", "key", "value"))
_LAYERS = {
    "attention.input": _ATTENTION,
    "attention.output": "attention.output.dense",
    "around_attention.norm": "attention.output.LayerNorm",
    "feedforward.expand": "intermediate.dense",
    "feedforward.contract": "output.dense",
    "around_feedforward.norm": "output.LayerNorm",
}
_PRE_NORM_LAYERS = {
    **_LAYERS,
    "around_attention.norm": "attention.LayerNorm",
    "around_feedforward.norm": "intermediate.LayerNorm",
}
_DISTILLED_LAYERS = {
    "attention.input": ("attention.q_lin", "attention.k_lin", "attention.v_lin"),
    "attention.output": "attention.out_lin",
    "around_attention.norm": "sa_layer_norm",
    "feedforward.expand": "ffn.lin1",
    "feedforward.contract": "ffn.lin2",
    "around_feedforward.norm": "output_layer_norm",
}
_HEADS = {
    BERT_TYPE: {
        "transform": "cls.predictions.transform.dense",
        "norm": "cls.predictions.transform.LayerNorm",
    },
    ROBERTA: {"transform": "lm_head.dense", "norm": "lm_head.layer_norm"},
    DISTILBERT: {"transform": "vocab_transform", "norm": "vocab_layer_norm"},
}
_HEADS[PRE_NORM] = _HEADS[ROBERTA]
_BIAS = {
    BERT_TYPE: "cls.predictions.bias",
    ROBERTA: "lm_head.bias",
    DISTILBERT: "vocab_projector.bias",
}
_BIAS[PRE_NORM] = _BIAS[ROBERTA]
_COPIES = {
    BERT_TYPE: "cls.predictions.decoder",
    ROBERTA: "lm_head.decoder",
    DISTILBERT: "vocab_projector",
}
_COPIES[PRE_NORM] = _COPIES[ROBERTA]
_WANTED = {
    "hidden_act": ("gelu",),
    "activation": ("gelu",),
    "position_embedding_type": ("absolute",),
    "is_decoder": (False,),
    "add_cross_attention": (False,),
    "tie_word_embeddings": (True,),
}


def read_bert(
    config: Mapping[str, Any], weights: Weights
) -> tuple[BERTConfig, dict[str, Tensor], list[str]]:
    """The shape and the weights of a model of theirs as ours, and notes on what it lacked."""
    kind, where = config["model_type"], str(weights.where / CONFIG)
    demand(config, where, _WANTED)
    weights.tensors = {_plain(name, kind): t for name, t in weights.tensors.items()}
    weights.drop("position_ids", "token_type_ids")
    shape = _shape(config, where, kind, weights)
    with torch.device("meta"):
        shapes = shapes_of(PretrainedBERT(shape))
    if kind in _COUNTED:
        _cut_positions(weights, number(config, where, "pad_token_id", 1) + 1)
    state = gather(_body(shape, kind), shapes, weights)
    guesses = _heads(kind)
    notes = []
    if _BIAS[kind] in weights:
        state |= gather(guesses, shapes, weights)
        weights.drop_copy(f"{_COPIES[kind]}.weight", state["bert.embedding.weight"])
        weights.drop_copy(f"{_COPIES[kind]}.bias", state["heads.output.bias"])
    else:
        state |= _fresh_heads(shape)
        notes.append(
            "the folder has no layers that guess hidden tokens: they begin anew, untrained"
        )
    state |= _next(shapes, weights)
    _leave_tasks(weights, notes)
    weights.finish()
    return shape, state, notes


def _plain(name: str, kind: str) -> str:
    """A name without the model's own, and with today's words for a norm's two tensors."""
    name = name.removeprefix(_prefix(kind))
    for old, new in (("gamma", "weight"), ("beta", "bias")):
        name = name.replace(f"LayerNorm.{old}", f"LayerNorm.{new}")
    return name


def _prefix(kind: str) -> str:
    return f"{kind.replace('-', '_')}."


def _shape(config: Mapping[str, Any], where: str, kind: str, weights: Weights) -> BERTConfig:
    distilled = kind == DISTILBERT
    width = number(config, where, "dim" if distilled else "hidden_size")
    heads = number(config, where, "n_heads" if distilled else "num_attention_heads")
    if not heads or width % heads:
        raise UserError(f"{where}: {heads} heads do not divide a width of {width}")
    places = number(config, where, "max_position_embeddings", 512)
    if kind in _COUNTED:
        places -= number(config, where, "pad_token_id", 1) + 1
    values = {
        "vocab_size": number(config, where, "vocab_size"),
        "hidden_size": width,
        "inner_size": number(config, where, "hidden_dim" if distilled else "intermediate_size"),
        "num_heads": heads,
        "num_layers": depth(
            config, where, "n_layers" if distilled else "num_hidden_layers", weights
        ),
        "max_length": places,
        "segments": 0 if distilled else number(config, where, "type_vocab_size", 2),
        "pooler": "pooler.dense.weight" in weights,
        "norm": "pre" if kind == PRE_NORM else "post",
        "dropout": share(config, "dropout" if distilled else "hidden_dropout_prob"),
        "epsilon": _EPSILON if distilled else config.get("layer_norm_eps", _EPSILON),
        "attention_dropout": share(
            config, "attention_dropout" if distilled else "attention_probs_dropout_prob"
        ),
    }
    return build(BERTConfig, values, Provenance(where))


def _cut_positions(weights: Weights, unread: int) -> None:
    """Take away the first places, which are counted but never read."""
    if _PLACES in weights and weights.tensors[_PLACES].ndim:
        weights.tensors[_PLACES] = weights.tensors[_PLACES][unread:]


def _body(shape: BERTConfig, kind: str) -> list[TensorPart]:
    parts = [
        TensorPart("bert.embedding.weight", ("embeddings.word_embeddings.weight",)),
        TensorPart("bert.position.weight", (_PLACES,)),
    ]
    if shape.segments:
        parts.append(
            TensorPart("bert.segment.weight", ("embeddings.token_type_embeddings.weight",))
        )
    parts += layers({"embedding_norm": "embeddings.LayerNorm"}, "bert.", "")
    table = {DISTILBERT: _DISTILLED_LAYERS, PRE_NORM: _PRE_NORM_LAYERS}.get(kind, _LAYERS)
    stack = "transformer.layer" if kind == DISTILBERT else "encoder.layer"
    for block in range(shape.num_layers):
        parts += layers(table, f"bert.blocks.{block}.", f"{stack}.{block}.")
    if shape.norm == "pre":
        parts += layers({"norm": "LayerNorm"}, "bert.", "")
    if shape.pooler:
        parts += layers({"pooler": "pooler.dense"}, "bert.", "")
    return parts


def _heads(kind: str) -> list[TensorPart]:
    return [*layers(_HEADS[kind], "heads.", ""), TensorPart("heads.output.bias", (_BIAS[kind],))]


_NEXT = layers({"next": "cls.seq_relationship"}, "heads.", "")


def _next(shapes: Mapping[str, torch.Size], weights: Weights) -> dict[str, Tensor]:
    """The layer that says whether a segment follows; zeros where there is none."""
    if "cls.seq_relationship.weight" in weights:
        return gather(_NEXT, shapes, weights)
    return {part.ours: torch.zeros(shapes[part.ours]) for part in _NEXT}


def _fresh_heads(shape: BERTConfig) -> dict[str, Tensor]:
    """The layers that guess hidden tokens as a training begins with them."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        heads = PretrainedBERT(shape).heads
    wanted = {part.ours.removeprefix("heads.") for part in _heads(BERT_TYPE)}
    return {f"heads.{n}": p.detach() for n, p in heads.named_parameters() if n in wanted}


def _leave_tasks(weights: Weights, notes: list[str]) -> None:
    """Leave out the layer of a task that the model was fine-tuned for."""
    endings = ("classifier.", "pre_classifier.", "qa_outputs.")
    left = sorted(name for name in weights.tensors if name.startswith(endings))
    if left:
        weights.drop(*left)
        notes.append(f"{', '.join(left)}: the layer of a task that was left out")


def write_bert(model: PretrainedBERT, padding: int) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Our model as config.json and weights: with all its heads, or for masked tokens alone."""
    shape = model.config
    state = dict(model.named_parameters())
    tensors = write_body(shape, state, padding) | scatter(_heads(_kind(shape)), state)
    if has_next(shape):
        tensors |= scatter(_NEXT, state)
    task = "ForPreTraining" if has_next(shape) else "ForMaskedLM"
    return write_config(shape, task, padding), tensors


def has_next(shape: BERTConfig) -> bool:
    """Whether the layer that says whether a segment follows has a place with them."""
    return shape.pooler and shape.norm == "post"


def write_body(
    shape: BERTConfig, state: Mapping[str, Tensor], padding: int, pooler: bool = True
) -> dict[str, Tensor]:
    """The weights below any head, by their names; a task may have no use for the pooler."""
    kind = _kind(shape)
    parts = _body(dataclasses.replace(shape, pooler=shape.pooler and pooler), kind)
    tensors = scatter(parts, state)
    if not shape.segments:  # theirs always adds a segment: one of zeros
        tensors["embeddings.token_type_embeddings.weight"] = torch.zeros(1, shape.hidden_size)
    if kind in _COUNTED:
        unread = torch.zeros(padding + 1, shape.hidden_size)
        tensors[_PLACES] = torch.cat((unread, tensors[_PLACES]))
    return {_prefix(kind) + name: tensor for name, tensor in tensors.items()}


def _kind(shape: BERTConfig) -> str:
    return PRE_NORM if shape.norm == "pre" else BERT_TYPE


def write_config(shape: BERTConfig, task: str, padding: int) -> dict[str, Any]:
    """config.json of a model that `task` names as the end of its class's name."""
    kind = _kind(shape)
    family = "RobertaPreLayerNorm" if kind == PRE_NORM else "Bert"
    return {
        "architectures": [family + task],
        "model_type": kind,
        "vocab_size": shape.vocab_size,
        "hidden_size": shape.hidden_size,
        "num_hidden_layers": shape.num_layers,
        "num_attention_heads": shape.num_heads,
        "intermediate_size": shape.inner_size or 4 * shape.hidden_size,
        "hidden_act": "gelu",
        "hidden_dropout_prob": shape.dropout,
        "attention_probs_dropout_prob": shape.attention_dropout,
        "max_position_embeddings": shape.max_length + (padding + 1 if kind in _COUNTED else 0),
        "type_vocab_size": max(1, shape.segments),
        "layer_norm_eps": shape.epsilon,
        "pad_token_id": padding,
        "bos_token_id": None,
        "eos_token_id": None,
        "tie_word_embeddings": True,
        "dtype": "float32",
    }
