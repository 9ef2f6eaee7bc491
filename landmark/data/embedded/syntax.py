"""The abstract sentence: one tree from which both languages are written.

Every node owns a few bits starting at `mark`; words of the two languages that carry a common bit
are aligned. A language writes a tree as a list of (word, bits) tokens.
"""

from dataclasses import dataclass, field

from landmark.data.embedded.entry import (
    Adjective,
    Expression,
    Modal,
    Name,
    Noun,
    Preposition,
    Verb,
)

Token = tuple[str, int]
NOUN_PHRASE_BITS = 6
COMMA = ","


@dataclass(frozen=True, eq=False, slots=True)
class Pronoun:
    """A personal, interrogative or relative pronoun: its forms and its person (0 to 5)."""

    subject: str
    object: str
    german: tuple[str, str, str]  # nominative, accusative, dative
    person: int


@dataclass(slots=True)
class NounPhrase:
    """A noun with what belongs to it, a name, or a pronoun; perhaps joined to a second one.

    Bits: determiner, then adjective, noun, degree, numeral, conjunction.
    """

    mark: int
    person: int = 2
    is_plural: bool = False
    noun: Noun | None = None
    determiner: str = "none"
    numeral: Expression | None = None
    degree: Expression | None = None
    adjective: Adjective | None = None
    pronoun: Pronoun | None = None
    name: Name | None = None
    possessor: "NounPhrase | None" = None
    relative: "Clause | None" = None
    conjunction: Expression | None = None
    conjunct: "NounPhrase | None" = None

    @property
    def is_indefinite(self) -> bool:
        """Whether German negates it with "kein"."""
        return (
            self.noun is not None
            and self.determiner in ("indefinite", "none")
            and self.numeral is None
            and self.conjunct is None
        )


@dataclass(slots=True)
class FixedPhrase:
    """An expression at a place of the tree."""

    mark: int
    expression: Expression


@dataclass(slots=True)
class PrepositionalPhrase:
    """A preposition and its noun phrase."""

    mark: int
    preposition: Preposition
    phrase: NounPhrase


Adverbial = FixedPhrase | PrepositionalPhrase


@dataclass(slots=True)
class AdjectivePhrase:
    """A predicative adjective. Bits: adjective, degree."""

    mark: int
    adjective: Adjective
    degree: Expression | None = None


@dataclass(slots=True)
class Predicate:
    """A verb (the copula if none) with its arguments and adverbials.

    Bits: finite verb, then lexical verb, negation.
    """

    mark: int
    tense: str = "present"
    verb: Verb | None = None
    aspect: str = "simple"  # simple, progressive or perfect: English only
    modal: Modal | None = None
    negated: bool = False
    dative: NounPhrase | None = None
    object: NounPhrase | None = None
    prepositional: PrepositionalPhrase | None = None
    attribute: AdjectivePhrase | NounPhrase | None = None
    frequency: FixedPhrase | None = None
    manner: FixedPhrase | None = None
    companion: PrepositionalPhrase | None = None
    place: Adverbial | None = None
    time: Adverbial | None = None
    clause: "Clause | None" = None
    infinitive: "Predicate | None" = None


@dataclass(slots=True)
class Clause:
    """A subject and one or two predicates.

    `front` names the part that stands first: "" for the subject, or a field of the predicate.
    `kind`: statement, question, subordinate (after `subjunction`) or relative.
    """

    mark: int
    subject: NounPhrase
    predicate: Predicate
    kind: str = "statement"
    front: str = ""
    subjunction: FixedPhrase | None = None
    conjunction: FixedPhrase | None = None
    second: Predicate | None = None
    adjunct: "Clause | None" = None
    adjunct_first: bool = False
    adjunct_comma: bool = False


@dataclass(slots=True)
class Sentence:
    """Main clauses joined by conjunctions, perhaps after a vocative."""

    clauses: list[Clause]
    conjunctions: list[FixedPhrase] = field(default_factory=list)
    vocative: NounPhrase | None = None
    vocative_comma: int = 0
    is_question: bool = False


def write_fixed(out: list[Token], words: tuple[str, ...], bits: tuple[int, ...], mark: int) -> None:
    """Append fixed words; a bit pattern is shifted to the node's own bits by the product."""
    for word, pattern in zip(words, bits, strict=True):
        out.append((word, pattern * mark))


def tidy_commas(out: list[Token]) -> tuple[list[str], list[int]]:
    """Words and bits without doubled commas and without a comma at the end."""
    words: list[str] = []
    bits: list[int] = []
    for word, mask in out:
        if word == COMMA and words and words[-1] == COMMA:
            bits[-1] |= mask
            continue
        words.append(word)
        bits.append(mask)
    if words[-1] == COMMA:
        words.pop()
        bits.pop()
    return words, bits


def finish(out: list[Token], is_question: bool, final_mark: int) -> tuple[list[str], list[int]]:
    """Words and bits of a sentence with its capital letter and its closing mark."""
    words = [word for word, _ in out]
    bits = [mask for _, mask in out]
    if COMMA in words:
        words, bits = tidy_commas(out)
    words[0] = words[0][0].upper() + words[0][1:]
    words.append("?" if is_question else ".")
    bits.append(final_mark)
    return words, bits
