"""Byte-pair encoding in two files: vocab.json numbers the entries, merges.txt makes them."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

from landmark.core.errors import DamagedError, UserError
from landmark.data.running_text.character import ForeignSubwords

VOCABULARY, MERGES = "vocab.json", "merges.txt"
END_OF_TEXT = "<|endoftext|>"


def load_gpt2_vocabulary(path: Path) -> ForeignSubwords:
    """GPT-2's vocabulary: its vocab.json, with merges.txt beside it."""
    backend = read_byte_pairs(path.parent, _read_vocabulary(path))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    if backend.token_to_id(END_OF_TEXT) is None:
        raise UserError(f"{path}: is not GPT-2's: it has no {END_OF_TEXT}")
    backend.add_special_tokens([AddedToken(END_OF_TEXT, special=True, normalized=False)])
    return ForeignSubwords(backend, {"end": END_OF_TEXT})


def read_byte_pairs(
    folder: Path,
    vocabulary: Mapping[str, int],
    suffix: str | None = None,
    unknown: str | None = None,
) -> Tokenizer:
    """A folder's merges.txt on the entries of its vocab.json."""
    merges = []
    for place, line in enumerate(read_entries(folder / MERGES), 1):
        if line and not (place == 1 and line.startswith("#version")):
            pair = line.split(" ")
            if len(pair) != 2:
                raise DamagedError(f"{folder / MERGES}:{place}: a merge is of two: {line!r}")
            if not is_merge(pair, vocabulary):
                raise UserError(f"{folder}: {VOCABULARY} and {MERGES} do not fit: {line!r}")
            merges.append((pair[0], pair[1]))
    given = {"unk_token": unknown, "end_of_word_suffix": suffix}
    known = {key: value for key, value in given.items() if value is not None}
    try:
        model = models.BPE(dict(vocabulary), merges, fuse_unk=False, **known)
    except Exception as error:  # the library raises plain Exception
        raise UserError(f"{folder}: {VOCABULARY} and {MERGES} do not fit: {error}") from None
    return Tokenizer(model)


def is_merge(pair: Sequence[str], vocabulary: Mapping[str, int], prefix: str = "") -> bool:
    """Whether both parts of a merge and its whole are entries: else the library would panic."""
    whole = pair[0] + pair[1].removeprefix(prefix)
    return {*pair, whole} <= vocabulary.keys()


def read_entries(path: Path) -> list[str]:
    """The lines of a vocabulary's file."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise DamagedError(f"{path}: damaged: not valid UTF-8") from None
    return text.removesuffix("\n").split("\n")


def _read_vocabulary(path: Path) -> dict[str, int]:
    try:
        body = json.loads("\n".join(read_entries(path)))
    except (ValueError, RecursionError):
        raise DamagedError(f"{path}: damaged: not valid JSON") from None
    if not isinstance(body, dict) or not all(type(number) is int for number in body.values()):
        raise UserError(f"{path}: not a vocabulary: it must give each entry its number")
    return body
