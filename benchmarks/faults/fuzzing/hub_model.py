"""A model's folder as Hugging Face or timm saves it, with one odd file; listings of the Hub."""

import json
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.faults.fuzzing.target import Target
from landmark.core.errors import UserError

GPT = {
    "model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "vocab_size": 4, "n_embd": 4,
    "n_head": 2, "n_layer": 1, "n_positions": 8, "activation_function": "gelu_new",
    "layer_norm_epsilon": 1e-5, "resid_pdrop": 0.1, "bos_token_id": 3, "eos_token_id": 3,
    "tie_word_embeddings": True,
}  # fmt: skip
BERT = {
    "model_type": "bert", "vocab_size": 6, "hidden_size": 4, "num_hidden_layers": 1,
    "num_attention_heads": 2, "intermediate_size": 8, "max_position_embeddings": 8,
    "type_vocab_size": 2, "layer_norm_eps": 1e-12, "hidden_act": "gelu", "pad_token_id": 0,
}  # fmt: skip
MARIAN = {
    "model_type": "marian", "vocab_size": 4, "d_model": 4, "encoder_layers": 1, "decoder_layers": 1,
    "encoder_attention_heads": 2, "decoder_attention_heads": 2, "encoder_ffn_dim": 8,
    "decoder_ffn_dim": 8, "activation_function": "swish", "scale_embedding": True,
    "max_position_embeddings": 8, "decoder_start_token_id": 3, "num_beams": 4,
}  # fmt: skip
SETTINGS = {
    "do_lower_case": True, "strip_accents": None, "bos_token": {"content": "<|endoftext|>"},
    "unk_token": "<|endoftext|>", "add_prefix_space": False,
}  # fmt: skip


@cache
def _folders() -> dict[str, Path]:
    """A GPT-2 and a BERT of a few numbers, made once in each process."""
    import torch
    from safetensors.torch import save_file

    from landmark.interop.huggingface.bert import write_bert
    from landmark.interop.huggingface.gpt import write_gpt
    from landmark.models.transformer import gpt as our
    from landmark.models.transformer.bert import BERTConfig, PretrainedBERT

    torch.manual_seed(1)
    base = Path(tempfile.mkdtemp(prefix="fuzz-hub-"))
    shape = {"hidden_size": 4, "num_heads": 2, "num_layers": 1, "max_length": 8}
    gpt = our.GPT(our.GPTConfig(vocab_size=4, **shape))
    bert = PretrainedBERT(BERTConfig(vocab_size=6, inner_size=8, **shape))
    folders = {}
    for kind, config, tensors in (
        ("gpt2", GPT, write_gpt(gpt, 3, 3)[1]),
        ("bert", BERT, write_bert(bert, 0)[1]),
    ):
        folders[kind] = base / kind
        folders[kind].mkdir()
        (folders[kind] / "config.json").write_text(json.dumps(config))
        save_file(tensors, folders[kind] / "model.safetensors")
    (folders["gpt2"] / "vocab.json").write_text(_vocabulary().decode())
    (folders["gpt2"] / "merges.txt").write_text("#version: 0.2\na b\n")
    entries = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n"
    (folders["bert"] / "vocab.txt").write_text(entries)
    return folders


def _vocabulary() -> bytes:
    return json.dumps({"a": 0, "b": 1, "ab": 2, "<|endoftext|>": 3}).encode()


def _import(folder: Path) -> object:
    """All of `landmark import hf` but the writing of the run, which only good models come to."""
    from unittest.mock import patch

    from landmark.tasks.huggingface import import_model

    with patch("landmark.tasks.huggingface.write_imported"):
        return import_model(folder, folder / "run")


def _with(kind: str, name: str, path: Path) -> object:
    """Import a folder with another file in the place of one."""
    file = _folders()[kind] / name
    before = file.read_bytes() if file.is_file() else None
    file.write_bytes(path.read_bytes())
    try:
        return _import(file.parent)
    finally:
        if before is None:
            file.unlink()
        else:
            file.write_bytes(before)


def read_config(path: Path) -> object:
    """As config.json of a folder; which one, its model_type decides."""
    kind = "bert" if b"bert" in path.read_bytes() else "gpt2"
    return _with(kind, "config.json", path)


def read_marian(path: Path) -> object:
    """Of Marian only config.json: without SentencePiece's models."""
    import torch

    from landmark.core.model_size import SizeLimit
    from landmark.core.structured_text import read_json
    from landmark.interop.huggingface.folder import Weights
    from landmark.interop.huggingface.marian import read_translator

    config = read_json(path)
    if config.get("model_type") not in ("marian", "pegasus"):
        raise UserError("of another model")
    with SizeLimit("the model", counts_meta=True):
        unknown = {str(number): torch.zeros(1) for number in range(40)}
        return read_translator(config, Weights(unknown, path))


def read_settings(path: Path) -> object:
    """As each of the files that say what special tokens there are."""
    _with("bert", "tokenizer_config.json", path)
    _with("gpt2", "special_tokens_map.json", path)
    return _with("gpt2", "added_tokens.json", path)


def read_vocabulary(path: Path) -> object:
    return _with("gpt2", "vocab.json", path)


def read_index(path: Path) -> object:
    """As the index of weights in several files."""
    from landmark.interop.huggingface.folder import read_weights

    folder = _folders()["gpt2"] / "several"
    folder.mkdir(exist_ok=True)
    (folder / "a.safetensors").write_bytes((folder.parent / "model.safetensors").read_bytes())
    (folder / "model.safetensors.index.json").write_bytes(path.read_bytes())
    return read_weights(folder)


def read_listing(path: Path) -> object:
    """As the Hub's answer to what files a model has."""
    from unittest.mock import patch

    from landmark.interop.huggingface import download

    with patch.object(download, "_open", lambda url: path.open("rb")), patch("time.sleep"):
        _, files = download._listing("http://localhost", "owner/model", "main")
    return download._wanted("owner/model", files)


def read_timm(path: Path) -> object:
    """As config.json of a model of timm."""
    from landmark.tasks.image_classification.imports import _read_folder

    folder = _folders()["gpt2"] / "timm"
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_bytes(path.read_bytes())
    (folder / "model.safetensors").touch()
    return _read_folder(folder)


def _json(*bodies: Any) -> list[bytes]:
    return [json.dumps(body).encode() for body in bodies]


WRONG: tuple[Any, ...] = (
    "4", 4.0, -1, 0, None, [], {}, True, 10**9, 10**30, 1e999, "x" * 1_000, [4], {"a": 1}, "swish",
)  # fmt: skip


def hostile_configs(*bases: dict[str, Any]) -> list[bytes]:
    """Every value replaced by every wrong one."""
    wrong = [{**base, key: value} for base in bases for key in base for value in WRONG]
    return [*_json(*wrong, [], 3, {}), b'{"a":' * 90_000, b"[" * 200_000]


INDEX = {"metadata": {"total_size": 3}, "weight_map": {"transformer.wte.weight": "a.safetensors"}}
SIBLINGS: list[dict[str, Any]] = [
    {"rfilename": "config.json", "size": 3, "blobId": "0" * 40},
    {"rfilename": "model.safetensors", "lfs": {"size": 9, "sha256": "0" * 64}},
]
LISTING = {"sha": "0" * 40, "siblings": SIBLINGS}
TIMM: dict[str, Any] = {
    "pretrained_cfg": {
        "input_size": [3, 224, 224], "crop_pct": 0.875, "mean": [0.5, 0.5, 0.5],
        "std": [0.5, 0.5, 0.5], "interpolation": "bicubic",
    },
    "label_names": ["a", "b"], "label_descriptions": {"a": "an a"},
}  # fmt: skip
TOKENS = (
    b"null",
    b"-1",
    b"1e999",
    b"[",
    b"{",
    b'"',
    b"true",
    b'"../x"',
    b"[]",
    b"{}",
    b"999999999",
)


def _target(
    name: str, read: Callable[[Path], object], bodies: Sequence[Any], more: Sequence[Any] = ()
) -> Target:
    """A reader of JSON, whose good files are read once at the start: then all is imported."""

    def good() -> list[bytes]:
        with tempfile.NamedTemporaryFile(suffix=".json") as file:
            for content in _json(*bodies):
                Path(file.name).write_bytes(content)
                with suppress(UserError):
                    read(Path(file.name))
        return _json(*bodies)

    return Target(
        name, ".json", good, read, lambda: [*hostile_configs(*bodies), *_json(*more)], TOKENS
    )


TARGETS = [
    _target("hf config", read_config, [GPT, BERT]),
    _target("marian config", read_marian, [MARIAN]),
    _target("hf tokens", read_settings, [SETTINGS, {"<new>": 4}]),
    _target("hf vocabulary", read_vocabulary, [{"a": 0, "b": 1, "ab": 2, "<|endoftext|>": 3}]),
    _target("weights index", read_index, [INDEX, {"weight_map": {"a": "../b"}}]),
    _target(
        "hub listing",
        read_listing,
        [LISTING],
        [
            {"sha": "0" * 40, "siblings": [{**file, key: value}]}
            for file in SIBLINGS
            for key in file
            for value in WRONG
        ],
    ),
    _target(
        "timm config",
        read_timm,
        [TIMM],
        [
            {"pretrained_cfg": {**TIMM["pretrained_cfg"], key: value}}
            for key in TIMM["pretrained_cfg"]
            for value in WRONG
        ],
    ),
]
