"""Vocabularies as Hugging Face saves them: tokenizer.json, or the older files that it replaced.

GPT-2 and RoBERTa: vocab.json and merges.txt of byte-level byte-pair encoding. OpenAI's first GPT:
the same two files on lower-cased words. BERT: vocab.txt. Marian: source.spm, target.spm and
vocab.json. A folder says by name which special token does what.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tokenizers import (
    AddedToken,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
)

from landmark.core.errors import DamagedError, UserError
from landmark.core.structured_text import read_json
from landmark.data.foreign.byte_pairs import (
    END_OF_TEXT,
    MERGES,
    VOCABULARY,
    numbered_entries,
    read_byte_pairs,
    read_entries,
)
from landmark.data.foreign.sentencepiece import SentencePieceTokenizer
from landmark.data.tokenizer import SubwordTokenizer
from landmark.data.tokenizer_file import load_backend
from landmark.interop.huggingface.bert import BERT_TYPE, DISTILBERT, PRE_NORM, ROBERTA
from landmark.interop.huggingface.folder import read_optional_json
from landmark.interop.huggingface.gpt import FIRST, GPT2
from landmark.interop.huggingface.marian import MARIAN, PEGASUS

SETTINGS, NAMES, WHOLE = "tokenizer_config.json", "special_tokens_map.json", "tokenizer.json"
ROLES = {
    "begin": "bos_token",
    "end": "eos_token",
    "unknown": "unk_token",
    "padding": "pad_token",
    "class": "cls_token",
    "separator": "sep_token",
    "mask": "mask_token",
}
_USUAL = {
    GPT2: {"begin": END_OF_TEXT, "end": END_OF_TEXT, "unknown": END_OF_TEXT},
    FIRST: {"unknown": "<unk>"},
    BERT_TYPE: {
        "unknown": "[UNK]",
        "padding": "[PAD]",
        "class": "[CLS]",
        "separator": "[SEP]",
        "mask": "[MASK]",
    },
    ROBERTA: {
        "begin": "<s>",
        "end": "</s>",
        "unknown": "<unk>",
        "padding": "<pad>",
        "class": "<s>",
        "separator": "</s>",
        "mask": "<mask>",
    },
    MARIAN: {"end": "</s>", "unknown": "<unk>", "padding": "<pad>"},
}
_USUAL[DISTILBERT], _USUAL[PRE_NORM] = _USUAL[BERT_TYPE], _USUAL[ROBERTA]


def read_roles(folder: Path, kind: str) -> dict[str, str]:
    """Which special token does what, by the folder's word or as such models usually have it."""
    said = {**read_optional_json(folder / NAMES), **read_optional_json(folder / SETTINGS)}
    roles = dict(_USUAL[kind])
    for role, name in ROLES.items():
        token = said.get(name)
        token = token.get("content") if isinstance(token, dict) else token
        if isinstance(token, str):
            roles[role] = token
    return roles


def read_tokenizer(folder: Path, kind: str) -> tuple[Tokenizer, dict[str, str]]:
    """A folder's vocabulary and the roles of its special tokens; each must be in it."""
    if (folder / WHOLE).is_file():
        backend = load_backend(folder / WHOLE)
    else:
        backend = _from_older_files(folder, kind)
    roles = read_roles(folder, kind)
    usual = _USUAL[kind]
    for role, token in list(roles.items()):
        if backend.token_to_id(token) is None:
            if usual.get(role) != token:
                raise UserError(f"{folder}: the vocabulary has no {token!r}, its {ROLES[role]}")
            del roles[role]
    return backend, roles


def _from_older_files(folder: Path, kind: str) -> Tokenizer:
    needed = ("vocab.txt",) if kind in (BERT_TYPE, DISTILBERT) else (VOCABULARY, MERGES)
    for name in needed:
        if not (folder / name).is_file():
            raise UserError(
                f"{folder}: has no tokenizer: neither {WHOLE} nor {' and '.join(needed)}"
            )
    settings = read_optional_json(folder / SETTINGS)
    if needed == ("vocab.txt",):
        backend = _wordpiece(folder / "vocab.txt", settings)
    elif kind == FIRST:
        backend = read_byte_pairs(
            folder, read_json(folder / VOCABULARY), "</w>", _USUAL[FIRST]["unknown"]
        )
        backend.normalizer = normalizers.BertNormalizer(lowercase=True)
        backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        backend.decoder = decoders.BPEDecoder(suffix="</w>")
    else:
        backend = read_byte_pairs(folder, read_json(folder / VOCABULARY))
        prefix = bool(settings.get("add_prefix_space", False))
        backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix)
        backend.decoder = decoders.ByteLevel()
    roles = read_roles(folder, kind)
    present = dict.fromkeys(t for t in roles.values() if backend.token_to_id(t) is not None)
    backend.add_special_tokens(
        [AddedToken(t, special=True, lstrip=t == "<mask>", normalized=False) for t in present]
    )
    _add_later_tokens(backend, folder)
    return backend


def _wordpiece(path: Path, settings: Mapping[str, Any]) -> Tokenizer:
    """BERT's way from text to pieces, by its vocab.txt: an entry a line, numbered from 0."""
    entries = read_entries(path)
    vocabulary = {entry: number for number, entry in enumerate(entries)}
    if len(vocabulary) < len(entries):
        raise DamagedError(f"{path}: not a vocabulary: an entry is there twice")
    backend = Tokenizer(models.WordPiece(vocabulary, unk_token=_USUAL[BERT_TYPE]["unknown"]))
    accents = settings.get("strip_accents")
    lowercase = settings.get("do_lower_case", True)
    backend.normalizer = normalizers.BertNormalizer(
        lowercase=bool(lowercase),
        strip_accents=None if accents is None else bool(accents),
        handle_chinese_chars=bool(settings.get("tokenize_chinese_chars", True)),
    )
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece(prefix="##")
    if {"[CLS]", "[SEP]"} <= vocabulary.keys():
        backend.post_processor = processors.BertProcessing(
            ("[SEP]", vocabulary["[SEP]"]), ("[CLS]", vocabulary["[CLS]"])
        )
    return backend


def _add_later_tokens(backend: Tokenizer, folder: Path) -> None:
    """Tokens that were added to a vocabulary after it was made, in the order of their numbers."""
    later = read_optional_json(folder / "added_tokens.json")
    if not all(type(number) is int for number in later.values()):
        raise UserError(f"{folder}: added_tokens.json does not number its entries")
    for token, number in sorted(later.items(), key=lambda item: item[1]):
        if backend.token_to_id(token) is None:
            backend.add_tokens([AddedToken(token, normalized=False)])
        if backend.token_to_id(token) != number:
            raise UserError(
                f"{folder}: added_tokens.json numbers {token!r} {number}: no room there"
            )


def read_translation_tokenizer(folder: Path, kind: str) -> SubwordTokenizer:
    """A translator's vocabulary: Marian's own, or one of ours as the export writes it."""
    if (folder / WHOLE).is_file() and not (folder / "source.spm").is_file():
        return _read_exported(folder / WHOLE)
    if kind == PEGASUS:
        raise UserError(
            f"{folder}: has no {WHOLE} as landmark exports it: Pegasus' own vocabulary is not "
            "supported"
        )
    return read_marian_tokenizer(folder)


def _read_exported(path: Path) -> SubwordTokenizer:
    """Our own vocabulary without what the export put around it: a space before, an end after."""
    backend = SubwordTokenizer.load(path).backend
    if not isinstance(backend.normalizer, normalizers.Prepend):
        raise UserError(f"{path}: puts no space before a text; was it made by landmark?")
    table = json.loads(backend.to_str())
    table |= {"normalizer": None, "post_processor": None}
    plain = Tokenizer.from_str(json.dumps(table))
    plain.decoder = decoders.ByteLevel()
    return SubwordTokenizer(plain)


def read_marian_tokenizer(folder: Path) -> SentencePieceTokenizer:
    """Marian's two SentencePiece models with their table of numbers."""
    for name in ("source.spm", "target.spm", "vocab.json"):
        if not (folder / name).is_file():
            raise UserError(f"{folder}: has no {name}, which Marian's vocabulary needs")
    if read_optional_json(folder / SETTINGS).get("separate_vocabs"):
        raise UserError(f"{folder}: has a vocabulary for each language: this is not supported")
    table = folder / "vocab.json"
    vocabulary, roles = numbered_entries(read_json(table), table), read_roles(folder, MARIAN)
    roles = {role: roles[role] for role in ("end", "unknown", "padding")}
    roles["begin"] = roles["padding"]
    for token in roles.values():
        if token not in vocabulary:
            raise UserError(f"{table}: has no {token!r}")
    source, target = ((folder / f"{side}.spm").read_bytes() for side in ("source", "target"))
    try:
        return SentencePieceTokenizer(vocabulary, source, target, roles)
    except ValueError as error:
        raise DamagedError(f"{folder}: source.spm or target.spm is damaged: {error}") from None
