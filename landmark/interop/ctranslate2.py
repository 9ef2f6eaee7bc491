"""A translator as a CTranslate2 model, through that library's own specification classes.

CTranslate2 (OpenNMT, MIT licence) runs Transformers in C++ on processors and graphics cards.
Its attention is ours: query, key and value in one product, a position table added to embeddings
that are scaled by sqrt(d). What differs: the keys' bias, which we never add, is written as zeros.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from landmark.core.errors import UserError
from landmark.data.tokenizer import SubwordTokenizer
from landmark.interop.library import library
from landmark.layers.attention import MultiHeadAttention
from landmark.layers.feedforward import FeedForward
from landmark.layers.transformer import DecoderBlock, EncoderBlock
from landmark.models.transformer.translator import TransformerConfig, Translator

_LARGEST = 63.0  # of a weight in eight bits


def save_ctranslate2(
    model: Translator, tokenizer: SubwordTokenizer, folder: Path, quantization: str | None = None
) -> None:
    """Write model.bin, config.json and the vocabulary into a folder that is there."""
    spec = build_spec(model, tokenizer)
    spec.validate()
    weights = {name: value.numpy().copy() for name, value in spec.variables().items()}
    spec.optimize(quantization=quantization)
    if quantization == "int8":
        _leave_headroom(spec, weights)
    spec.save(str(folder))


def _leave_headroom(spec: Any, weights: Mapping[str, Any]) -> None:
    """Round weights to -63 … 63 in place of -127 … 127, which CTranslate2 has done.

    Processors without VNNI add two products of a weight and an activation (0 … 255) in 16 bits and
    cut off what is larger: 2 * 255 * 127 does not fit, 2 * 255 * 63 does.
    """
    model_spec = library("ctranslate2.specs.model_spec")

    def reduce(layer: Any, name: str, value: Any) -> None:
        if name.endswith("weight") and getattr(value, "dtype", None) == "int8":
            scale = _LARGEST / np.abs(weights[name]).max(1).clip(np.finfo(np.float32).tiny)
            rounded = np.rint(weights[name] * scale[:, None]).astype(np.int8)
            layer.weight = model_spec.NumpyVariable(rounded)
            layer.weight_scale = model_spec.NumpyVariable(scale.astype(np.float32))

    model_spec.visit_spec(spec, reduce)


def build_spec(model: Translator, tokenizer: SubwordTokenizer) -> Any:
    """CTranslate2's description of the model, holding its weights."""
    config, specs = model.config, library("ctranslate2.specs")
    _refuse_others(config)
    spec = specs.TransformerSpec.from_config(
        (config.encoder_layers, config.decoder_layers),
        config.num_heads,
        pre_norm=config.norm == "pre",
        activation=specs.Activation.RELU,
    )
    _fill_stack(spec.encoder, model.encoder, model.encoder_norm)
    _fill_stack(spec.decoder, model.decoder, model.decoder_norm)
    spec.encoder.embeddings[0].weight = _array(model.source_embedding.weight)
    spec.decoder.embeddings.weight = _array(model.target_embedding.weight)
    spec.decoder.projection.weight = _array(model.output.weight)
    places = torch.arange(config.max_length)
    for side in (spec.encoder, spec.decoder):
        side.position_encodings.encodings = _array(model.position(places))
    names = tokenizer.target.names()
    spec.register_source_vocabulary(tokenizer.source.names())
    spec.register_target_vocabulary(names)
    spec.config.bos_token = spec.config.decoder_start_token = names[tokenizer.begin]
    spec.config.eos_token, spec.config.unk_token = names[tokenizer.end], names[tokenizer.unknown]
    spec.config.add_source_eos = True
    spec.config.layer_norm_epsilon = next(
        module.eps for module in model.modules() if isinstance(module, nn.LayerNorm)
    )
    return spec


def _refuse_others(config: TransformerConfig) -> None:
    """Raise if a model has what is not written here: our own runs have none of it."""
    usual = TransformerConfig()
    for key in ("activation", "output_bias", "suppress_tokens"):
        value = getattr(config, key)
        if value != getattr(usual, key):
            raise UserError(f"CTranslate2: a model with {key} {value!r} cannot be exported to it")


def _fill_stack(spec: Any, blocks: nn.ModuleList, last_norm: nn.Module) -> None:
    """Encoder or decoder blocks, and the norm that a pre-norm stack ends in."""
    for layer, block in zip(spec.layer, blocks, strict=True):
        assert isinstance(block, EncoderBlock | DecoderBlock)
        _fill_self_attention(layer.self_attention, block.attention)
        _fill_norm(layer.self_attention.layer_norm, block.around_attention.norm)
        if isinstance(block, DecoderBlock):
            _fill_cross_attention(layer.attention, block.cross_attention)
            _fill_norm(layer.attention.layer_norm, block.around_cross_attention.norm)
        _fill_feedforward(layer.ffn, block.feedforward)
        _fill_norm(layer.ffn.layer_norm, block.around_feedforward.norm)
    if isinstance(last_norm, nn.LayerNorm):
        _fill_norm(spec.layer_norm, last_norm)


def _fill_self_attention(spec: Any, attention: MultiHeadAttention) -> None:
    """Two products: query, key and value; output."""
    weight, bias = attention.input.weight, _input_bias(attention)
    _fill_linear(spec.linear[0], weight, bias)
    _fill_linear(spec.linear[1], attention.output.weight, attention.output.bias)


def _fill_cross_attention(spec: Any, attention: MultiHeadAttention) -> None:
    """Three products: query; key and value; output."""
    weight, bias = attention.input.weight, _input_bias(attention)
    size = attention.hidden_size
    _fill_linear(spec.linear[0], weight[:size], bias[:size])
    _fill_linear(spec.linear[1], weight[size:], bias[size:])
    _fill_linear(spec.linear[2], attention.output.weight, attention.output.bias)


def _input_bias(attention: MultiHeadAttention) -> Tensor:
    """The bias of query, key and value, with zeros for the keys."""
    query, key, value = attention.input.bias.chunk(3)
    return torch.cat((query, torch.zeros_like(key), value))


def _fill_feedforward(spec: Any, feedforward: FeedForward) -> None:
    _fill_linear(spec.linear_0, feedforward.expand.weight, feedforward.expand.bias)
    _fill_linear(spec.linear_1, feedforward.contract.weight, feedforward.contract.bias)


def _fill_linear(spec: Any, weight: Tensor, bias: Tensor) -> None:
    spec.weight, spec.bias = _array(weight), _array(bias)


def _fill_norm(spec: Any, norm: nn.LayerNorm) -> None:
    spec.gamma, spec.beta = _array(norm.weight), _array(norm.bias)


def _array(tensor: Tensor) -> Any:
    """A copy, because the specification's optimisation may change it in place."""
    return tensor.detach().float().cpu().clone().numpy()
