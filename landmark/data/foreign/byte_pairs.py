"""Byte-pair encoding in two files: vocab.json numbers the entries, merges.txt makes them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

from landmark.core.errors import DamagedError, UserError
from landmark.core.structured_text import LONGEST_JSON, read_bounded, read_json
from landmark.data.running_text.character import ForeignSubwords
from landmark.data.tokenizer_file import is_merge, panics_as_errors

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
    entries = numbered_entries(vocabulary, folder / VOCABULARY)
    with panics_as_errors(f"{folder}: {VOCABULARY} and {MERGES} do not fit"):
        return Tokenizer(models.BPE(entries, merges, fuse_unk=False, **known))


def read_entries(path: Path) -> list[str]:
    """The lines of a vocabulary's file."""
    try:
        text = read_bounded(path, LONGEST_JSON).decode()
    except UnicodeDecodeError:
        raise DamagedError(f"{path}: damaged: not valid UTF-8") from None
    return text.removesuffix("\n").split("\n")


def _read_vocabulary(path: Path) -> dict[str, int]:
    return numbered_entries(read_json(path), path)


def numbered_entries(body: Mapping[str, Any], path: Path) -> dict[str, int]:
    """The entries of a vocab.json, which numbers them without a gap."""
    if not all(type(number) is int for number in body.values()):
        raise UserError(f"{path}: not a vocabulary: it must give each entry its number")
    if sorted(body.values()) != list(range(len(body))):
        raise UserError(f"{path}: its entries are not numbered from 0 to the last")
    return dict(body)
