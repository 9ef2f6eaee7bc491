"""WordPiece vocabularies: each word cut into the longest pieces there are, as BERT reads text.

Schuster and Nakajima 2012, "Japanese and Korean Voice Search"; with the normaliser and the words of
Devlin et al. 2019, arXiv 1810.04805. A piece that goes on a word begins with ##. What cannot be
made of pieces is [UNK]. A special token that stands in a text is text: only `encode_marked`, for
texts with blanks to fill in, reads it as the token. Foreign models may bring a vocabulary of
another kind with special tokens of other names (RoBERTa's <mask>), and its roles with it.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
from pydantic import Field
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from landmark.core import limits
from landmark.core.configuration import settings
from landmark.core.errors import UserError
from landmark.core.storage import write_durably
from landmark.core.structured_text import LONGEST_JSON, parse_json, read_bounded
from landmark.data.subword_training import cut_long_words, train_subwords
from landmark.data.text_file import read_lines
from landmark.data.tokenizer_file import build_backend

PADDING, UNKNOWN, BEGIN, SEPARATOR, MASK = "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"
SPECIAL = (PADDING, UNKNOWN, BEGIN, SEPARATOR, MASK)
_ROLES = dict(zip(("padding", "unknown", "class", "separator", "mask"), SPECIAL, strict=True))
_FOREIGN = "foreign"
_PREFIX, _SPACE = "##", "Ġ"  # of what goes on a word; of what begins one, where bytes are merged
_MOST_CHARACTERS = 1000  # in a vocabulary; rarer ones are unknown
_IN_BRACKETS = r"\[[A-Z]+\]"


@settings
class WordPieceConfig:
    """WordPiece tokenizer."""

    vocab_size: Annotated[int, Field(ge=30, le=limits.VOCABULARY)] = 8000
    """Maximum vocabulary size; a small corpus may give fewer entries."""
    lowercase: bool = True
    """Lowercase the text and strip accents (BERT uncased)."""
    file: str | None = None
    """Use this vocabulary instead of training one: a tokenizer.json, or BERT's vocab.txt."""


class Word(NamedTuple):
    """A word of a text as it stands there, and its pieces."""

    text: str
    tokens: tuple[int, ...]


class WordPieceTokenizer:
    """A vocabulary of word pieces; text to numbers and, as nearly as can be, back."""

    def __init__(self, backend: Tokenizer, roles: Mapping[str, str] = _ROLES) -> None:
        """`roles`: what the special tokens of a foreign vocabulary are for."""
        self.backend = backend
        self.backend.no_padding()
        self.backend.no_truncation()
        self.backend.encode_special_tokens = True  # a "[SEP]" in a text is text; not saved in files
        self.roles = {role: roles.get(role, token) for role, token in _ROLES.items()}
        self.padding, self.unknown, self.begin, self.separator, self.mask = (
            self._number(self.roles[role]) for role in _ROLES
        )
        tokens = self.pieces(range(len(self)))
        self.continues = np.array([_continues(backend, token) for token in tokens])
        """Which entries go on a word."""
        special = {*self.roles.values(), *roles.values()}
        is_special = [token in special or token.startswith("[unused") for token in tokens]
        self.ordinary = np.flatnonzero(~np.array(is_special))
        """The entries that stand for text."""

    @classmethod
    def train(
        cls, lines: Callable[[], Iterable[str]], config: WordPieceConfig
    ) -> "WordPieceTokenizer":
        """Learn pieces from lines of text, which are read twice."""
        backend = _empty({}, config.lowercase)
        first, later = _characters(backend, lines())
        # The library numbers what goes on a word in an order of chance, and settles ties by these
        # numbers. Given with the special tokens, they have theirs, and the result is the same
        # each time.
        trainer = trainers.WordPieceTrainer(
            vocab_size=config.vocab_size,
            special_tokens=[*SPECIAL, *(_PREFIX + character for character in later)],
            initial_alphabet=first,
            limit_alphabet=len(first),
            show_progress=False,
        )
        train_subwords(backend, cut_long_words(lines()), trainer)
        return cls(_empty(backend.get_vocab(), config.lowercase))

    @classmethod
    def from_vocabulary(cls, path: Path, lowercase: bool = True) -> "WordPieceTokenizer":
        """Read BERT's vocab.txt: an entry a line, numbered from 0."""
        entries = [line.strip() for line in read_lines(path)]
        vocabulary = {entry: number for number, entry in enumerate(entries)}
        if len(vocabulary) < len(entries):
            twice = Counter(entries).most_common(1)[0][0]
            raise UserError(f"{path}: not a vocabulary: {twice!r} is there twice")
        if missing := [token for token in SPECIAL if token not in vocabulary]:
            raise UserError(f"{path}: not BERT's vocabulary: it has no {', '.join(missing)}")
        return cls(_empty(vocabulary, lowercase))

    @classmethod
    def load(cls, path: Path) -> "WordPieceTokenizer":
        """Read a tokenizer.json of word pieces."""
        backend, roles = _read(path)
        if roles is None and not isinstance(backend.model, models.WordPiece):
            kind = type(backend.model).__name__
            raise UserError(f"{path}: holds no word pieces as BERT reads them, but {kind}")
        try:
            return cls(backend, roles or _ROLES)
        except UserError as error:
            raise UserError(f"{path}: {error}") from None

    @classmethod
    def open(cls, path: Path, lowercase: bool = True) -> "WordPieceTokenizer":
        """Read a tokenizer.json or a vocab.txt."""
        if path.suffix == ".txt":
            return cls.from_vocabulary(path, lowercase)
        return cls.load(path)

    def save(self, path: Path) -> None:
        write_durably(path, self.to_text().encode())

    def to_text(self) -> str:
        """What a tokenizer.json of it holds."""
        body = str(self.backend.to_str(pretty=False))
        if isinstance(self.backend.model, models.WordPiece) and self.roles == _ROLES:
            return body
        whole = {"kind": _FOREIGN, "roles": self.roles, "tokenizer": json.loads(body)}
        return json.dumps(whole, ensure_ascii=False)

    def __len__(self) -> int:
        return int(self.backend.get_vocab_size())

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Each text as numbers, without [CLS] and [SEP]."""
        encodings = self.backend.encode_batch_fast(list(texts), add_special_tokens=False)
        return [encoding.ids for encoding in encodings]

    def encode_marked(self, text: str) -> list[int]:
        """A text in which special tokens stand for themselves, as "The [MASK] sat"."""
        own = {token: self._number(token) for token in self.roles.values()}
        known = {token: own[self.roles[role]] for role, token in _ROLES.items()} | own
        numbers: list[int] = []
        for part in re.split(f"({'|'.join(map(re.escape, known))}|{_IN_BRACKETS})", text):
            if part in known:
                numbers.append(known[part])
            elif re.fullmatch(_IN_BRACKETS, part):
                raise UserError(f"{part}: is not a special token: choose from {', '.join(own)}")
            else:
                numbers += self.encode([part])[0]
        return numbers

    def words(self, text: str) -> list[Word]:
        """The words and signs of a text, each with its pieces."""
        encoding = self.backend.encode(text, add_special_tokens=False)
        found: list[tuple[int, int, list[int]]] = []
        before = None
        for word, (start, stop), number in zip(
            encoding.word_ids, encoding.offsets, encoding.ids, strict=True
        ):
            if word == before and found:
                found[-1] = (found[-1][0], stop, [*found[-1][2], number])
            else:
                found.append((start, stop, [number]))
            before = word
        return [Word(text[start:stop], tuple(numbers)) for start, stop, numbers in found]

    def decode(self, numbers: Sequence[Sequence[int]]) -> list[str]:
        """The texts of numbers, pieces put together to words; special tokens are left out."""
        texts: list[str] = self.backend.decode_batch(
            [list(row) for row in numbers], skip_special_tokens=True
        )
        return texts

    def spell(self, number: int) -> str:
        """An entry as text, without the sign that it goes on a word."""
        if isinstance(self.backend.model, models.WordPiece):
            prefix = self.backend.model.continuing_subword_prefix
            return str(self.backend.id_to_token(number)).removeprefix(prefix)
        return str(self.backend.decode([number], skip_special_tokens=False)).strip()

    def pieces(self, numbers: Sequence[int]) -> list[str]:
        """Each entry as the vocabulary writes it."""
        return [str(self.backend.id_to_token(int(number))) for number in numbers]

    def _number(self, token: str) -> int:
        number = self.backend.token_to_id(token)
        if number is None:
            raise UserError(f"not BERT's kind of vocabulary: it has no {token}")
        return int(number)


def is_wordpiece(path: Path) -> bool:
    """Whether a tokenizer.json is of BERT's kind: word pieces, or anything that has a mask."""
    try:
        backend, roles = _read(path)
    except UserError:  # whoever loads the file says what it is
        return False
    return isinstance(backend.model, models.WordPiece) if roles is None else "mask" in roles


def _read(path: Path) -> tuple[Tokenizer, dict[str, str] | None]:
    """What a tokenizer.json holds, and the roles of its special tokens if it names them."""
    if not path.is_file():
        raise UserError(f"{path}: there is no tokenizer here")
    body = parse_json(read_bounded(path, LONGEST_JSON), path)
    if not isinstance(body, dict) or body.get("kind") != _FOREIGN:
        return build_backend(body, path), None
    roles = body.get("roles")
    if not isinstance(roles, dict):
        raise UserError(f"{path}: not a tokenizer file: it names no special tokens")
    return build_backend(body.get("tokenizer"), path), {str(r): str(t) for r, t in roles.items()}


def _continues(backend: Tokenizer, token: str) -> bool:
    """Whether an entry goes on a word."""
    if isinstance(backend.model, models.WordPiece):
        return token.startswith(backend.model.continuing_subword_prefix)
    return token[:1].isalpha() and not token.startswith(_SPACE)


def _empty(vocabulary: dict[str, int], lowercase: bool) -> Tokenizer:
    """BERT's way from text to pieces, with this vocabulary."""
    backend = Tokenizer(models.WordPiece(vocabulary, unk_token=UNKNOWN))
    backend.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece(prefix=_PREFIX)
    if vocabulary:
        backend.add_special_tokens(list(SPECIAL))
    return backend


def _characters(backend: Tokenizer, lines: Iterable[str]) -> tuple[list[str], list[str]]:
    """The commonest characters of a text, and those of them that stand inside words."""
    counts: Counter[str] = Counter()
    later: set[str] = set()
    for word in _words(backend, lines):
        counts.update(word)
        later.update(word[1:])
    kept = sorted(counts, key=lambda character: (-counts[character], character))
    kept = kept[:_MOST_CHARACTERS]
    return sorted(kept), sorted(later & set(kept))


def _words(backend: Tokenizer, lines: Iterable[str]) -> Iterator[str]:
    """The different words of lines, in BERT's form; most of a text is words that come again."""
    known: set[str] = set()
    for line in lines:
        normalized = backend.normalizer.normalize_str(line)
        fresh = {word for word, _ in backend.pre_tokenizer.pre_tokenize_str(normalized)} - known
        known |= fresh
        yield from fresh
