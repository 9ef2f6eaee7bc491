"""The entries of the lexicon: one typed class for each kind of word."""

from dataclasses import dataclass


@dataclass(frozen=True, eq=False, slots=True)
class Preposition:
    """An English preposition with its German one and the case that follows."""

    english: tuple[str, ...]
    german: str
    case: int
    role: str
    classes: frozenset[str]


@dataclass(frozen=True, eq=False, slots=True)
class Noun:
    """A noun of both languages; `forms` are four singular cases, then four plural ones."""

    english: str
    plural: str  # "" for a mass noun
    forms: tuple[str, ...]
    gender: int
    classes: frozenset[str]
    place: Preposition | None
    direction: Preposition | None
    subject_only: bool

    @property
    def has_singular(self) -> bool:
        return bool(self.forms[0])

    @property
    def has_plural(self) -> bool:
        return bool(self.forms[4])


@dataclass(frozen=True, eq=False, slots=True)
class Verb:
    """A verb of both languages in one frame, with all its forms."""

    english: str
    base: str
    third: str
    past: str
    participle: str
    ing: str
    tail: tuple[str, ...]  # English words after the inflected one
    prefix: str  # the separable prefix, or ""
    infinitive: str
    zu_infinitive: tuple[str, ...]
    present: tuple[str, ...]
    german_participle: str
    auxiliary: str
    frame: str
    subject: frozenset[str]
    object: frozenset[str]
    preposition: Preposition | None
    flags: frozenset[str]


@dataclass(frozen=True, eq=False, slots=True)
class Adjective:
    """An adjective with its German stem before endings."""

    english: str
    german: str
    stem: str
    classes: frozenset[str]


@dataclass(frozen=True, eq=False, slots=True)
class Expression:
    """Fixed words of both languages; words of equal bits in the two masks are aligned."""

    english: tuple[str, ...]
    german: tuple[str, ...]
    english_bits: tuple[int, ...]
    german_bits: tuple[int, ...]
    kind: str


@dataclass(frozen=True, eq=False, slots=True)
class Name:
    """A person, a titled person or a town."""

    english: tuple[str, ...]
    german: tuple[str, ...]
    oblique: tuple[str, ...]
    kind: str
    gender: int


@dataclass(frozen=True, eq=False, slots=True)
class Modal:
    """A modal verb; `negative` are the German forms under "not", none if it cannot be negated."""

    english: str
    is_auxiliary: bool
    is_past: bool
    tail: tuple[str, ...]
    german: tuple[str, ...]
    negative: tuple[str, ...] | None


@dataclass(frozen=True, eq=False, slots=True)
class Subjunction:
    """A subordinating word and the pairs of main and subordinate tense it joins."""

    expression: Expression
    comma: bool
    tenses: tuple[tuple[str, str], ...]


@dataclass(frozen=True, eq=False)
class Lexicon:
    """Everything the grammar draws from; the order of each list is the rank of its words."""

    nouns: tuple[Noun, ...]
    verbs: tuple[Verb, ...]
    adjectives: tuple[Adjective, ...]
    adverbs: tuple[Expression, ...]
    times: tuple[Expression, ...]
    names: tuple[Name, ...]
    prepositions: tuple[Preposition, ...]
    modals: tuple[Modal, ...]
    numerals: tuple[Expression, ...]
    subjunctions: tuple[Subjunction, ...]


def word_pair(english: str, german: str) -> Expression:
    """An English word and its German one."""
    return Expression((english,), (german,), (1,), (1,), "word")
