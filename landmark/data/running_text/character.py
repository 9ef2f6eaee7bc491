"""Vocabularies of running text: of single characters, or of subwords that take any text.

A vocabulary of characters holds those of its training text, in the order in which they appear. It
knows no other: a character that is not in it is an error that says which and where.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from landmark.core.errors import ItemError, UserError
from landmark.core.storage import write_durably
from landmark.core.structured_text import LONGEST_JSON, parse_json, read_bounded
from landmark.data.tokenizer import SubwordTokenizer
from landmark.data.tokenizer_file import build_backend

CHARACTERS, FOREIGN = "characters", "foreign"


class UnknownCharacterError(ItemError):
    """A text holds a character that training never saw."""

    def __init__(self, character: str, offset: int, place: str = "") -> None:
        self.character, self.offset = character, offset
        super().__init__(
            f"{place or f'character {offset + 1}'}: {character!r} (U+{ord(character):04X}) was "
            "never seen in training: leave it out, or train with tokenizer.kind=subwords, which "
            "takes any text"
        )

    def at(self, place: str) -> "UnknownCharacterError":
        """The same, with its place as the reader knows it."""
        return UnknownCharacterError(self.character, self.offset, place)


class CharacterTokenizer:
    """Characters to numbers and back; `encode` and `decode` are inverse."""

    def __init__(self, characters: Iterable[str]) -> None:
        self.characters = tuple(dict.fromkeys(characters))
        codes = np.array([ord(character) for character in self.characters], np.uint32)
        self._order = np.argsort(codes)
        self._codes = codes[self._order]

    @classmethod
    def load(cls, path: Path) -> "CharacterTokenizer":
        """Read a tokenizer.json of characters."""
        characters = _read(path).get(CHARACTERS)
        if not isinstance(characters, str) or not characters:
            raise UserError(f"{path}: not a vocabulary of characters")
        if len(set(characters)) < len(characters):
            raise UserError(f"{path}: not a vocabulary of characters: one is there twice")
        return cls(characters)

    def save(self, path: Path) -> None:
        body = {"kind": CHARACTERS, CHARACTERS: "".join(self.characters)}
        write_durably(path, json.dumps(body, ensure_ascii=False).encode())

    def __len__(self) -> int:
        return len(self.characters)

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Each text as numbers."""
        return [self.encode_array(text).tolist() for text in texts]

    def encode_array(self, text: str) -> NDArray[np.int64]:
        """A text as an array of numbers, without a Python object for each."""
        codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
        places = np.searchsorted(self._codes, codes)
        places = np.minimum(places, len(self) - 1)
        is_unknown = self._codes[places] != codes
        if is_unknown.any():
            offset = int(np.argmax(is_unknown))
            raise UnknownCharacterError(text[offset], offset)
        return self._order[places]

    def decode(self, numbers: Sequence[Sequence[int]]) -> list[str]:
        """The texts of numbers."""
        return ["".join(self.characters[number] for number in row) for row in numbers]


class RunningSubwords(SubwordTokenizer):
    """Subwords of running text, which has no space put before it as a sentence has.

    So a text cut anywhere is encoded piece by piece without loss.
    """

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Each text as numbers."""
        encodings = self.backend.encode_batch_fast(list(texts), add_special_tokens=False)
        return [encoding.ids for encoding in encodings]

    def decode(self, numbers: Sequence[Sequence[int]]) -> list[str]:
        """The texts of numbers; special tokens are left out."""
        texts: list[str] = self.backend.decode_batch(
            [list(row) for row in numbers], skip_special_tokens=True
        )
        return texts


class ForeignSubwords(RunningSubwords):
    """A vocabulary of somebody else's, which keeps its own special tokens.

    `roles` says which of them does what: end (of a text), unknown, padding and so on.
    """

    end: int | None  # type: ignore[assignment]

    def __init__(self, backend: Tokenizer, roles: Mapping[str, str]) -> None:
        super().__init__(backend)
        self.backend.no_padding()
        self.backend.no_truncation()
        self.roles = dict(roles)
        self.end = backend.token_to_id(roles["end"]) if "end" in roles else None

    @classmethod
    def load(cls, path: Path) -> "ForeignSubwords":
        """Read a tokenizer.json that `save` wrote."""
        body = _read(path)
        roles = body.get("roles")
        backend = build_backend(body.get("tokenizer"), path)
        if not isinstance(roles, dict) or any(
            backend.token_to_id(str(token)) is None for token in roles.values()
        ):
            raise UserError(f"{path}: not a tokenizer file: its special tokens are not in it")
        return cls(backend, roles)

    def to_text(self) -> str:
        body = {"kind": FOREIGN, "roles": self.roles, "tokenizer": json.loads(super().to_text())}
        return json.dumps(body, ensure_ascii=False)


TextTokenizer = CharacterTokenizer | RunningSubwords


def load_tokenizer(path: Path) -> TextTokenizer:
    """The vocabulary that a tokenizer.json holds, of whichever kind it is."""
    body = _read(path)
    kind = body.get("kind")
    if kind == CHARACTERS:
        return CharacterTokenizer.load(path)
    if kind == FOREIGN:
        return ForeignSubwords.load(path)
    return RunningSubwords(SubwordTokenizer.parse(body, path).backend)


def _read(path: Path) -> dict[str, object]:
    if not path.is_file():
        raise UserError(f"{path}: there is no tokenizer here")
    body = parse_json(read_bounded(path, LONGEST_JSON), path)
    return body if isinstance(body, dict) else {}
