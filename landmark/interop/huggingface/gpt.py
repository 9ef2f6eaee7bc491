"""GPT-2 and OpenAI's first GPT: their weights as our GPT, and our GPT as one of them.

Pre-norm is GPT-2, post-norm the first GPT. Their linear layers are written as inputs x outputs.
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
from landmark.models.transformer.gpt import GPT, GPTConfig

GPT2, FIRST = "gpt2", "openai-gpt"
_LAYERS = {
    "attention.input": "attn.c_attn",
    "attention.output": "attn.c_proj",
    "feedforward.expand": "mlp.c_fc",
    "feedforward.contract": "mlp.c_proj",
    "around_attention.norm": "ln_1",
    "around_feedforward.norm": "ln_2",
}
_EPSILON = 1e-5
_WANTED = {
    "activation_function": ("gelu_new", "gelu_pytorch_tanh"),
    "layer_norm_epsilon": (_EPSILON,),
    "scale_attn_weights": (True,),
    "scale_attn_by_inverse_layer_idx": (False,),
    "add_cross_attention": (False,),
    "tie_word_embeddings": (True,),
}
# The first GPT calls "gelu" what all others call "gelu_new".
_WANTED_OF_FIRST = {
    "afn": ("gelu", "gelu_new"),
    "layer_norm_epsilon": (_EPSILON,),
    "tie_word_embeddings": (True,),
}


def read_gpt(config: Mapping[str, Any], weights: Weights) -> tuple[GPTConfig, dict[str, Tensor]]:
    """The shape and the weights of a model of theirs as ours."""
    where = str(weights.where / CONFIG)
    shape = _shape(config, where, weights)
    weights.tensors = {
        name.removeprefix("transformer."): tensor for name, tensor in weights.tensors.items()
    }
    weights.drop(".attn.bias", ".attn.masked_bias", "position_ids")  # masks, and a table of places
    with torch.device("meta"):
        shapes = shapes_of(GPT(shape))
    state = gather(_parts(shape), shapes, weights)
    weights.drop_copy("lm_head.weight", state["embedding.weight"])
    weights.finish()
    return shape, state


_PADDED_TO = 8  # rows of a padded vocabulary are a multiple of this, or of a multiple of it
_MOST_PADDING = 1024


def cut_padding(
    shape: GPTConfig, state: Mapping[str, Tensor], entries: int
) -> tuple[GPTConfig, dict[str, Tensor]]:
    """The model without rows of the embedding that only pad it for speed, behind the vocabulary.

    More rows than padding explains, or fewer than entries, stay as they are: a mismatch.
    """
    rows = shape.vocab_size or 0
    if not entries < rows < entries + _MOST_PADDING or rows % _PADDED_TO:
        return shape, dict(state)
    table = state["embedding.weight"][:entries].clone()
    return dataclasses.replace(shape, vocab_size=entries), {**state, "embedding.weight": table}


def _shape(config: Mapping[str, Any], where: str, weights: Weights) -> GPTConfig:
    is_first = config["model_type"] == FIRST
    demand(config, where, _WANTED_OF_FIRST if is_first else _WANTED)
    width, heads = number(config, where, "n_embd"), number(config, where, "n_head")
    if not heads or width % heads:
        raise UserError(f"{where}: {heads} heads do not divide a width of {width}")
    values = {
        "vocab_size": number(config, where, "vocab_size"),
        "hidden_size": width,
        "inner_size": config.get("n_inner") or None,
        "num_heads": heads,
        "num_layers": depth(config, where, "n_layer", weights),
        "max_length": number(config, where, "n_positions", config.get("n_ctx")),
        "dropout": share(config, "resid_pdrop"),
        "attention_dropout": share(config, "attn_pdrop"),
        "norm": "post" if is_first else "pre",
    }
    return build(GPTConfig, values, Provenance(where))


def _parts(shape: GPTConfig) -> list[TensorPart]:
    token, place = ("tokens_embed", "positions_embed") if shape.norm == "post" else ("wte", "wpe")
    parts = [
        TensorPart("embedding.weight", (f"{token}.weight",)),
        TensorPart("position.weight", (f"{place}.weight",)),
    ]
    for block in range(shape.num_layers):
        parts += layers(_LAYERS, f"blocks.{block}.", f"h.{block}.", transposed="attn mlp")
    if shape.norm == "pre":
        parts += layers({"norm": "ln_f"}, "", "")
    return parts


def write_gpt(
    model: GPT, begin: int | None, end: int | None
) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Our model as config.json and the weights of one of theirs."""
    shape = model.config
    is_first = shape.norm == "post"
    if is_first and shape.inner_size not in (None, 4 * shape.hidden_size):
        raise UserError(
            f"OpenAI's first GPT is four times as wide inside its feed-forward layers; this run "
            f"has model.inner_size={shape.inner_size}: it cannot be exported to hf"
        )
    config = {
        "architectures": ["OpenAIGPTLMHeadModel" if is_first else "GPT2LMHeadModel"],
        "model_type": FIRST if is_first else GPT2,
        "vocab_size": shape.vocab_size,
        "n_positions": shape.max_length,
        "n_embd": shape.hidden_size,
        "n_layer": shape.num_layers,
        "n_head": shape.num_heads,
        "embd_pdrop": shape.dropout,
        "resid_pdrop": shape.dropout,
        "attn_pdrop": shape.attention_dropout,
        "layer_norm_epsilon": _EPSILON,
        "tie_word_embeddings": True,
        "bos_token_id": begin,
        "eos_token_id": end,
        "dtype": "float32",
    }
    config |= (
        {"afn": "gelu"}
        if is_first
        else {"activation_function": "gelu_new", "n_inner": shape.inner_size}
    )
    tensors = scatter(_parts(shape), dict(model.named_parameters()))
    return config, {f"transformer.{name}": tensor for name, tensor in tensors.items()}
