"""Subword vocabularies by `tokenizers`: text to numbers and back, losing nothing.

Byte-level byte-pair encoding (Sennrich et al. 2016, arXiv 1508.07909; on bytes as in GPT-2), one
vocabulary for both languages. A space is put before the text, so that a word has one form
wherever it stands, and taken away again after decoding.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

from landmark.core import limits
from landmark.core.configuration import settings
from landmark.core.errors import UserError
from landmark.core.storage import write_durably
from landmark.core.structured_text import LONGEST_JSON, parse_json, read_bounded
from landmark.data.subword_training import cut_long_words, train_subwords
from landmark.data.tokenizer_file import PIECES, build_backend
from landmark.data.translation.text_form import FormName

PADDING, BEGIN, END, UNKNOWN = "<pad>", "<s>", "</s>", "<unk>"
SPECIAL = (PADDING, BEGIN, END, UNKNOWN)


@settings
class TokenizerConfig:
    """Subword tokenizer."""

    kind: Literal["bpe", "sentencepiece"] = "bpe"
    """Byte-level BPE, which loses nothing; or a unigram model of SentencePiece, which folds spaces
    and signs that look alike."""
    vocab_size: Annotated[int, Field(ge=260, le=limits.VOCABULARY)] = 8000
    """Maximum vocabulary size (of each side, if separate); a small corpus may give fewer."""
    separate: bool = False
    """Train a vocabulary for each side; false: one shared vocabulary."""
    file: str | None = None
    """Use this tokenizer.json or SentencePiece model instead of training one."""
    target_file: str | None = None
    """Another one for the target side: a vocabulary for each side."""
    extend: Annotated[int, Field(ge=0)] = 0
    """Number of new entries to learn from the data and add to the tokenizer given by `file`."""
    form: FormName = "plain"
    """Text preprocessing before subwords: plain (none) or moses-lowercase (Moses tokenization,
    lowercase).
    """


class SubwordTokenizer:
    """A trained vocabulary; `encode` and `decode` are inverse for any Unicode text."""

    begin, end, unknown = SPECIAL.index(BEGIN), SPECIAL.index(END), SPECIAL.index(UNKNOWN)

    def __init__(self, backend: Tokenizer) -> None:
        self.backend = backend
        self.backend.encode_special_tokens = True  # a "</s>" in a text is text; not saved in files

    @classmethod
    def train(
        cls, lines: Iterable[str], config: TokenizerConfig, tags: Sequence[str] = ()
    ) -> "SubwordTokenizer":
        """Learn merges from lines of text (of both languages); `tags` name target languages."""
        backend = Tokenizer(models.BPE(unk_token=None))
        backend.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Split(Regex(PIECES), behavior="isolated"),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
            ]
        )
        backend.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(
            vocab_size=config.vocab_size,
            special_tokens=[*SPECIAL, *(_tag(language) for language in tags)],
            initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
            show_progress=False,
        )
        train_subwords(backend, (f" {line}" for line in cut_long_words(lines)), trainer)
        return cls(backend)

    def extended(self, lines: Iterable[str], count: int) -> "SubwordTokenizer":
        """The same vocabulary with up to `count` more merges, learnt from lines of text.

        They come after all others, so text without the new entries is cut as before.
        """
        table = json.loads(self.backend.to_str())
        vocabulary, merges = table["model"]["vocab"], table["model"]["merges"]
        for left, right in learn_merges(self._piece_counts(lines), count, set(vocabulary)):
            vocabulary[left + right] = len(vocabulary)
            merges.append([left, right])
        return SubwordTokenizer(Tokenizer.from_str(json.dumps(table)))

    def _piece_counts(self, lines: Iterable[str]) -> dict[tuple[str, ...], int]:
        """How often each word occurs, as the tokens it is cut into now."""
        counts: Counter[str] = Counter()
        for line in cut_long_words(lines):
            counts.update(p for p, _ in self.backend.pre_tokenizer.pre_tokenize_str(f" {line}"))
        cut = self.backend.model.tokenize
        return {tuple(t.value for t in cut(piece)): count for piece, count in counts.items()}

    def merges(self) -> dict[int, tuple[int, int]]:
        """For each entry that was learnt by merging: the two it was made of."""
        model = json.loads(self.backend.to_str())["model"]
        number = model["vocab"]
        return {
            number[left + right]: (number[left], number[right]) for left, right in model["merges"]
        }

    @classmethod
    def load(cls, path: Path) -> "SubwordTokenizer":
        """Read a tokenizer.json."""
        if not path.is_file():
            raise UserError(f"{path}: there is no tokenizer here")
        return cls.parse(parse_json(read_bounded(path, LONGEST_JSON), path), path)

    @classmethod
    def parse(cls, body: Any, path: Path) -> "SubwordTokenizer":
        """Of the values that `to_text` gave; messages name the file they stood in."""
        backend = build_backend(body, path)
        for number, token in enumerate(SPECIAL):
            if backend.token_to_id(token) != number:
                raise UserError(f"{path}: token {number} must be {token}; was it made by landmark?")
        return cls(backend)

    @property
    def source(self) -> "SubwordTokenizer":
        """The vocabulary of source texts: the same for both sides, unless they are separate."""
        return self

    @property
    def target(self) -> "SubwordTokenizer":
        """The vocabulary of translations."""
        return self

    def names(self) -> list[str]:
        """Every entry as it stands in the vocabulary, by number."""
        return [str(self.backend.id_to_token(number)) for number in range(len(self))]

    def save(self, path: Path) -> None:
        write_durably(path, self.to_text().encode())

    def to_text(self) -> str:
        """What a tokenizer.json holds."""
        return str(self.backend.to_str(pretty=False))

    def __len__(self) -> int:
        return int(self.backend.get_vocab_size())

    def tag(self, language: str) -> int:
        """The token that asks for a target language."""
        number = self.backend.token_to_id(_tag(language))
        if number is None:
            raise UserError(f"the vocabulary has no tag for the language {language!r}")
        return int(number)

    @property
    def tags(self) -> tuple[str, ...]:
        """The languages that tags ask for, in the order of their numbers."""
        special = sorted(self.backend.get_added_tokens_decoder().items())
        names = (token.content for _, token in special)
        return tuple(name[2:-1] for name in names if name.startswith("<2"))

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Each text as numbers, without <s> and </s>."""
        encodings = self.backend.encode_batch_fast(
            [f" {text}" for text in texts], add_special_tokens=False
        )
        return [encoding.ids for encoding in encodings]

    def encode_targets(self, texts: Sequence[str]) -> list[list[int]]:
        """The same of texts in the target language, which here shares the vocabulary."""
        return self.encode(texts)

    def decode(self, numbers: Sequence[Sequence[int]]) -> list[str]:
        """The texts of numbers; special tokens are left out."""
        texts = self.backend.decode_batch([list(row) for row in numbers], skip_special_tokens=True)
        return [text.removeprefix(" ") for text in texts]

    def pieces(self, numbers: Sequence[int]) -> list[str]:
        """Each token as readable text of its own, for figures."""
        return [self.backend.decode([number], skip_special_tokens=False) for number in numbers]


def learn_merges(
    words: Mapping[tuple[str, ...], int], count: int, known: Set[str]
) -> Iterator[tuple[str, str]]:
    """Byte-pair encoding carried on: the commonest pair of neighbours becomes one, and again.

    A pair that occurs once, or whose whole is known already, is no gain.
    """
    cut = dict(words)
    made: set[str] = set()
    while len(made) < count:
        pairs: Counter[tuple[str, str]] = Counter()
        for word, frequency in cut.items():
            for pair in pairwise(word):
                pairs[pair] += frequency
        useful = {p: n for p, n in pairs.items() if n > 1 and "".join(p) not in known | made}
        if not useful:
            return
        best = max(useful, key=lambda pair: (useful[pair], pair))
        made.add("".join(best))
        cut = {_merged(word, best): frequency for word, frequency in cut.items()}
        yield best


def _merged(word: tuple[str, ...], pair: tuple[str, str]) -> tuple[str, ...]:
    """A word with every occurrence of a pair put together, from the left."""
    joined: list[str] = []
    rest = list(reversed(word))
    while rest:
        token = rest.pop()
        if rest and (token, rest[-1]) == pair:
            token += rest.pop()
        joined.append(token)
    return tuple(joined)


def _tag(language: str) -> str:
    return f"<2{language}>"


def words_of(text: str) -> Iterator[str]:
    """The words of a text as the tokenizer would begin to cut it: runs of letters."""
    for piece, _ in _WORDS.pre_tokenize_str(text):
        if piece[0].isalpha():
            yield piece


_WORDS = pre_tokenizers.Split(Regex(r"\p{L}[\p{L}\p{M}]*"), behavior="isolated")
