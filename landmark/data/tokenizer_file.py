"""tokenizer.json of the library `tokenizers`, checked before the library gets to see it.

The library trusts its files: a chain of replacements lets a text grow without end, a regular
expression of exponential cost hangs where no signal ends it, a merge that its vocabulary lacks is
a panic. Only steps that vocabularies in use consist of are known here, and what is left is tried
on texts that make backtracking slow.
"""

import base64
import json
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from landmark.core.errors import DamagedError, UserError
from landmark.core.structured_text import LONGEST_JSON, parse_json, read_bounded
from landmark.data.regular_expression import explosive

_STEPS = {
    "normalizer": (
        "BertNormalizer", "ByteLevel", "Lowercase", "NFC", "NFD", "NFKC", "NFKD", "Nmt",
        "Precompiled", "Prepend", "Replace", "Strip", "StripAccents",
    ),
    "pre_tokenizer": (
        "BertPreTokenizer", "ByteLevel", "CharDelimiterSplit", "Digits", "Metaspace",
        "Punctuation", "Split", "UnicodeScripts", "Whitespace", "WhitespaceSplit",
    ),
    "post_processor": ("BertProcessing", "ByteLevel", "RobertaProcessing", "TemplateProcessing"),
    "decoder": (
        "BPEDecoder", "ByteFallback", "ByteLevel", "Fuse", "Metaspace", "Replace", "Strip",
        "WordPiece",
    ),
}  # fmt: skip
"""What the parts of a tokenizer may be, beside sequences of these."""
_SEQUENCES = ("normalizers", "pretokenizers", "processors", "decoders")
_MODELS = ("BPE", "Unigram", "WordLevel", "WordPiece")
_MOST_STEPS = 32
_LONGEST_TEXT = 64  # characters that a step puts in, or looks for as they are
_MOST_GROWTH = 64  # times as many characters after all replacements
_LONGEST_WORD = 1_000  # characters of a word that WordPiece still cuts: it takes their square
PIECES = r" ?\p{L}[\p{L}\p{M}]*| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+"
"""A word with the space before it; a run of digits; a run of other signs; spaces."""
_TRIAL_LENGTHS = (250, 1_000, 8_000)
_TRIAL_SECONDS = 0.1  # 8,000 characters take a thousandth
_TRIAL_SIGNS = "aA1 .-'\n\t_é中#"


def load_backend(path: Path) -> Tokenizer:
    """The tokenizer of a tokenizer.json."""
    return parse_backend(read_bounded(path, LONGEST_JSON), path)


def parse_backend(content: bytes | str, path: Path) -> Tokenizer:
    """The tokenizer of what stands in a file."""
    return build_backend(parse_json(content, path), path)


def build_backend(body: Any, path: Path) -> Tokenizer:
    """The tokenizer of the values of a tokenizer.json; messages name the file."""
    if not isinstance(body, dict) or not isinstance(body.get("model"), dict):
        raise DamagedError(f"{path}: not a tokenizer file: it has no model")
    patterns = _check_steps(body, path)
    _check_model(body["model"], path)
    with panics_as_errors(f"{path}: not a tokenizer file"):
        backend = Tokenizer.from_str(json.dumps({**body, "truncation": None, "padding": None}))
        numbers = backend.get_vocab(with_added_tokens=True).values()
    if len(set(numbers)) != len(numbers) or max(numbers, default=-1) != len(numbers) - 1:
        raise DamagedError(f"{path}: its entries are not numbered from 0 to {len(numbers) - 1}")
    _try_out(backend, patterns, path)
    return backend


@contextmanager
def panics_as_errors(message: str) -> Iterator[None]:
    """What the library raises, its panics included, as one line."""
    try:
        yield
    except UserError:
        raise
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise DamagedError(f"{message}: {' '.join(str(error).split())[:200]}") from None


def _check_steps(body: Mapping[str, Any], path: Path) -> list[str]:
    """Refuse unknown and endless steps; the regular expressions among them."""
    patterns, count = [], 0
    for part, known in _STEPS.items():
        growth = 1
        for step in _steps(body.get(part), path):
            count += 1
            kind = step.get("type")
            if kind not in known:
                raise UserError(f"{path}: {part} of type {str(kind)[:40]!r} is not supported")
            growth *= _growth(step, path)
            if isinstance(pattern := step.get("pattern"), dict) and "Regex" in pattern:
                patterns.append(_checked_pattern(pattern["Regex"], path))
        if count > _MOST_STEPS or growth > _MOST_GROWTH:
            raise UserError(f"{path}: its {part} lets texts grow without end: refused")
    return patterns


def _steps(value: Any, path: Path) -> Iterator[dict[str, Any]]:
    """The steps of a part, those of sequences one by one."""
    if value is None:
        return
    if not isinstance(value, dict):
        raise DamagedError(f"{path}: not a tokenizer file: {str(value)[:40]!r} is no step")
    if value.get("type") != "Sequence":
        yield value
        return
    inner = next((value[key] for key in _SEQUENCES if key in value), None)
    if not isinstance(inner, list):
        raise DamagedError(f"{path}: not a tokenizer file: a sequence without steps")
    for step in inner:
        yield from _steps(step, path)


def _growth(step: Mapping[str, Any], path: Path) -> int:
    """How many characters a step makes of one, at most."""
    texts = [step.get(key) for key in ("content", "prepend", "replacement", "delimiter", "suffix")]
    if isinstance(pattern := step.get("pattern"), dict):
        texts.append(pattern.get("String"))
    for text in texts:
        if text is not None and (not isinstance(text, str) or len(text) > _LONGEST_TEXT):
            raise UserError(f"{path}: a step with {str(text)[:40]!r} is not supported")
    if isinstance(pattern, dict) and pattern.get("String") == "":
        raise UserError(f"{path}: a step that looks for nothing is not supported")
    for key in ("start", "stop"):
        if key in step and step[key] not in range(_LONGEST_TEXT):
            raise UserError(f"{path}: a step with {key} {str(step[key])[:40]} is not supported")
    if step.get("type") == "Precompiled":
        _check_table(step.get("precompiled_charsmap"), path)
    return max(1, len(step.get("content") or "")) if step.get("type") == "Replace" else 1


def _check_table(table: Any, path: Path) -> None:
    """Refuse a table of characters that puts long texts in: SentencePiece's own put in 18."""
    try:
        content = base64.b64decode(table, validate=True)
        size = int.from_bytes(content[:4], "little")
        texts = content[4 + size :].split(b"\0")
    except (ValueError, TypeError):
        raise DamagedError(f"{path}: damaged: a table of characters") from None
    if len(content) < 8 or size % 4 or size > len(content) - 4:
        raise DamagedError(f"{path}: damaged: a table of characters")
    if max(map(len, texts)) > _LONGEST_TEXT:
        raise UserError(f"{path}: a table of characters that lets texts grow: refused")


def _checked_pattern(pattern: Any, path: Path) -> str:
    if not isinstance(pattern, str):
        raise DamagedError(f"{path}: not a tokenizer file: a pattern is no text")
    if reason := explosive(pattern):
        raise UserError(
            f"{path}: the regular expression {pattern[:60]!r} may take for ever ({reason}): refused"
        )
    return pattern


def _check_model(model: Mapping[str, Any], path: Path) -> None:
    """Refuse a model that the library would panic at, or be slow with."""
    kind = model.get("type", "BPE" if "merges" in model else None)
    if kind not in _MODELS:
        raise UserError(f"{path}: a model of type {str(kind)[:40]!r} is not supported")
    if model.get("max_input_chars_per_word", 0) not in range(_LONGEST_WORD + 1):
        raise UserError(f"{path}: WordPiece on words of more than {_LONGEST_WORD:,} characters")
    vocabulary = model.get("vocab")
    if kind == "Unigram":
        _check_scores(vocabulary, path)
        return
    if not isinstance(vocabulary, dict) or any(type(n) is not int for n in vocabulary.values()):
        raise DamagedError(f"{path}: damaged: its vocabulary does not number entries")
    if "" in vocabulary:
        raise DamagedError(f"{path}: damaged: an entry of its vocabulary is empty")
    if kind == "BPE":
        _check_merges(model, path)


def _check_scores(vocabulary: Any, path: Path) -> None:
    """Entries of a unigram model: a piece and a finite number."""
    for entry in vocabulary if isinstance(vocabulary, list) else [None]:
        if (
            not isinstance(entry, list)
            or len(entry) != 2
            or not isinstance(entry[0], str)
            or not isinstance(entry[1], int | float)
            or not math.isfinite(entry[1])
        ):
            raise DamagedError(f"{path}: damaged: {str(entry)[:40]} is no entry of a vocabulary")


def _check_merges(model: Mapping[str, Any], path: Path) -> None:
    """Refuse byte-pair encoding whose merges are not of its vocabulary."""
    merges, prefix = model.get("merges"), model.get("continuing_subword_prefix") or ""
    if not isinstance(merges, list) or not isinstance(prefix, str):
        raise DamagedError(f"{path}: damaged: it has no merges")
    for merge in merges:
        pair = merge.split(" ") if isinstance(merge, str) else merge
        if (
            not isinstance(pair, list)
            or len(pair) != 2
            or not all(isinstance(part, str) for part in pair)
            or not is_merge(pair, model["vocab"], prefix)
        ):
            raise DamagedError(f"{path}: damaged: {merge!r} is not a merge of its vocabulary")


def is_merge(pair: Sequence[str], vocabulary: Mapping[str, int], prefix: str = "") -> bool:
    """Whether both parts of a merge and its whole are entries: else the library would panic."""
    whole = pair[0] + pair[1].removeprefix(prefix)
    return {*pair, whole} <= vocabulary.keys()


def _try_out(backend: Tokenizer, patterns: Sequence[str], path: Path) -> None:
    """Cut texts with it: patterns must not take more than their share of time."""
    with panics_as_errors(f"{path}: not a tokenizer that works"):
        backend.decode(backend.encode("Aé 1, x").ids)
    if not set(patterns) - {PIECES}:
        return
    signs = dict.fromkeys(_TRIAL_SIGNS + "".join(patterns))
    end = "\x01" + "".join(signs)  # a search that knows that it must fail is quick
    for length in _TRIAL_LENGTHS:
        for sign in signs:
            begin = time.thread_time()
            with panics_as_errors(f"{path}: not a tokenizer that works"):
                _split(backend, sign * length + end)
            if time.thread_time() - begin > _TRIAL_SECONDS:
                raise UserError(
                    f"{path}: its regular expressions take too long on {length:,} times {sign!r}: "
                    "refused"
                )


def _split(backend: Tokenizer, text: str) -> None:
    if backend.normalizer:
        text = backend.normalizer.normalize_str(text)
    if backend.pre_tokenizer:
        backend.pre_tokenizer.pre_tokenize_str(text)
