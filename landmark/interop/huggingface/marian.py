"""Marian's translators (OPUS-MT and others): their weights as our Transformer, and ours as theirs.

Marian is post-norm with scaled embeddings, one matrix for both languages and the output, a bias on
the logits, and a table of positions with all sines before all cosines. Ours has sines and cosines
in turn, which is the same up to the order of the hidden units: going out, they are reordered.
Their decoder begins with the padding token, which is then never said. Pegasus, made to summarise,
is the same with pre-norm and a last norm for each stack: a pre-norm translator of ours goes as one.
"""

from collections.abc import Mapping
from typing import Any, Literal

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
from landmark.layers.feedforward import ActivationName
from landmark.layers.position import SinusoidalPosition
from landmark.models.transformer.translator import TransformerConfig, Translator

MARIAN, PEGASUS = "marian", "pegasus"
_NORMS: dict[str, Literal["post", "pre"]] = {MARIAN: "post", PEGASUS: "pre"}
_ACTIVATIONS: dict[str, ActivationName] = {
    "swish": "swish",
    "silu": "swish",
    "relu": "relu",
    "gelu": "gelu",
    "gelu_new": "gelu-tanh",
}
_WANTED = {
    "activation_function": tuple(_ACTIVATIONS),
    "scale_embedding": (True,),
    "share_encoder_decoder_embeddings": (True,),
    "tie_word_embeddings": (True,),
    "normalize_embedding": (False,),
    "add_bias_logits": (False,),
    "static_position_embeddings": (True,),
}
_LAST_NORMS = {
    "encoder_norm": "model.encoder.layer_norm",
    "decoder_norm": "model.decoder.layer_norm",
}
_SELF = {
    "attention.input": ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
    "attention.output": "self_attn.out_proj",
    "around_attention.norm": "self_attn_layer_norm",
}
_CROSS = {
    "cross_attention.input": ("encoder_attn.q_proj", "encoder_attn.k_proj", "encoder_attn.v_proj"),
    "cross_attention.output": "encoder_attn.out_proj",
    "around_cross_attention.norm": "encoder_attn_layer_norm",
}
_FEEDFORWARD = {
    "feedforward.expand": "fc1",
    "feedforward.contract": "fc2",
    "around_feedforward.norm": "final_layer_norm",
}
_BIAS, _POSITIONS = "final_logits_bias", "embed_positions.weight"


def read_translator(
    config: Mapping[str, Any], weights: Weights
) -> tuple[TransformerConfig, dict[str, Tensor]]:
    """The shape and the weights of a model of theirs as ours."""
    where, is_pre = str(weights.where / CONFIG), _NORMS[config["model_type"]] == "pre"
    if "scale_embedding" not in config:
        raise UserError(f"{where}: scale_embedding is not set: only true is supported")
    norms = {"normalize_before": (is_pre,), "add_final_layer_norm": (is_pre,)}
    demand(config, where, {**_WANTED, **norms})
    shape = _shape(config, where, weights)
    _drop_positions(weights, shape)
    with torch.device("meta"):
        shapes = shapes_of(Translator(shape))
    state = gather(_parts(shape), shapes, weights)
    if _BIAS in weights:
        state["output.bias"] = weights.take(_BIAS, (1, *shapes["output.bias"]))[0].clone()
    else:
        state["output.bias"] = torch.zeros(shapes["output.bias"])
    for copy in ("lm_head", "model.encoder.embed_tokens", "model.decoder.embed_tokens"):
        weights.drop_copy(f"{copy}.weight", state["target_embedding.weight"])
    weights.finish()
    return shape, state


def _drop_positions(weights: Weights, shape: TransformerConfig) -> None:
    """Forget the tables of positions, which we compute; one of other numbers is refused."""
    size = (shape.max_length, shape.hidden_size)
    for name in [name for name in weights.tensors if name.endswith(_POSITIONS)]:
        table = weights.tensors.pop(name).float()
        if table.shape != size or not torch.allclose(table, _positions(shape), atol=1e-2):  # half
            raise UserError(f"{weights.where}: {name} is not a table of sines and cosines")


def _positions(shape: TransformerConfig) -> Tensor:
    return SinusoidalPosition(shape.max_length, shape.hidden_size, halves=True).table


def _shape(config: Mapping[str, Any], where: str, weights: Weights) -> TransformerConfig:
    for one, other in (
        ("encoder_ffn_dim", "decoder_ffn_dim"),
        ("encoder_attention_heads", "decoder_attention_heads"),
        ("vocab_size", "decoder_vocab_size"),
    ):
        if config.get(other) not in (None, config.get(one)):
            raise UserError(
                f"{where}: {one} {config.get(one)} and {other} {config[other]} differ: "
                "such a model is not supported"
            )
    width = number(config, where, "d_model")
    heads = number(config, where, "encoder_attention_heads")
    if not heads or width % heads:
        raise UserError(f"{where}: {heads} heads do not divide a width of {width}")
    values = {
        "vocab_size": number(config, where, "vocab_size"),
        "hidden_size": width,
        "inner_size": number(config, where, "encoder_ffn_dim"),
        "num_heads": heads,
        "encoder_layers": depth(config, where, "encoder_layers", weights),
        "decoder_layers": depth(config, where, "decoder_layers", weights),
        "dropout": share(config, "dropout"),
        "norm": _NORMS[config["model_type"]],
        "activation": _ACTIVATIONS[config.get("activation_function", "gelu")],
        "positions": "sinusoidal-halves",
        "max_length": number(config, where, "max_position_embeddings", 1024),
        "output_bias": True,
    }
    return build(TransformerConfig, values, Provenance(where))


def _parts(shape: TransformerConfig) -> list[TensorPart]:
    parts = [TensorPart("target_embedding.weight", ("model.shared.weight",))]
    for side, table in (("encoder", _SELF), ("decoder", {**_SELF, **_CROSS})):
        depth = shape.encoder_layers if side == "encoder" else shape.decoder_layers
        for block in range(depth):
            parts += layers(
                {**table, **_FEEDFORWARD}, f"{side}.{block}.", f"model.{side}.layers.{block}."
            )
    if shape.norm == "pre":
        parts += layers(_LAST_NORMS, "", "")
    return parts


def write_translator(
    model: Translator, begin: int, end: int, padding: int
) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Our model as config.json and the weights of one of theirs."""
    shape = model.config
    name = "Marian" if shape.norm == "post" else "Pegasus"
    if shape.tied != "all":
        raise UserError(
            f"Hugging Face's translators of this kind ({name}) have model.tied=all; this run has "
            f"{shape.tied}: it cannot be exported to hf"
        )
    if shape.positions == "learned":
        raise UserError(
            f"Hugging Face's translators of this kind ({name}) have sinusoidal positions; this run "
            "has learned ones: it cannot be exported to hf"
        )
    state = {name: parameter.detach() for name, parameter in model.named_parameters()}
    if shape.positions == "sinusoidal":
        state = _reordered(state, shape.hidden_size)
    bias = state.get("output.bias", torch.zeros(shape.vocab_size or 0))
    tensors = {**scatter(_parts(shape), state), _BIAS: bias[None].float().clone()}
    if shape.norm == "pre":  # Pegasus, unlike Marian, has its table in the file
        for side in ("encoder", "decoder"):
            tensors[f"model.{side}.{_POSITIONS}"] = _positions(shape)
    return _config(shape, begin, end, padding), tensors


def _reordered(state: Mapping[str, Tensor], width: int) -> dict[str, Tensor]:
    """The same model with its hidden units in another order: the even ones, then the odd ones.

    What a layer reads is reordered by columns, what it writes to the residual sum by rows.
    """
    order = torch.cat((torch.arange(0, width, 2), torch.arange(1, width, 2)))
    reordered = {}
    for name, tensor in state.items():
        reads = name.endswith(("embedding.weight", "attention.input.weight", "expand.weight"))
        writes = "attention.output." in name or "contract." in name or "norm." in name
        if reads:
            tensor = tensor[:, order]
        reordered[name] = tensor[order] if writes else tensor
    return reordered


def _config(shape: TransformerConfig, begin: int, end: int, padding: int) -> dict[str, Any]:
    names = {ours: theirs for theirs, ours in _ACTIVATIONS.items() if theirs != "silu"}
    is_post = shape.norm == "post"
    return {
        "architectures": ["MarianMTModel" if is_post else "PegasusForConditionalGeneration"],
        "model_type": MARIAN if is_post else PEGASUS,
        "is_encoder_decoder": True,
        "vocab_size": shape.vocab_size,
        "decoder_vocab_size": shape.vocab_size,
        "d_model": shape.hidden_size,
        "encoder_layers": shape.encoder_layers,
        "decoder_layers": shape.decoder_layers,
        "encoder_attention_heads": shape.num_heads,
        "decoder_attention_heads": shape.num_heads,
        "encoder_ffn_dim": shape.inner_size,
        "decoder_ffn_dim": shape.inner_size,
        "activation_function": names[shape.activation],
        "dropout": shape.dropout,
        "attention_dropout": 0.0,
        "activation_dropout": 0.0,
        "max_position_embeddings": shape.max_length,
        "scale_embedding": True,
        "share_encoder_decoder_embeddings": True,
        "static_position_embeddings": True,
        "tie_word_embeddings": True,
        "decoder_start_token_id": begin,
        "eos_token_id": end,
        "forced_eos_token_id": end,
        "pad_token_id": padding,
        "bos_token_id": None,
        "dtype": "float32",
    }
