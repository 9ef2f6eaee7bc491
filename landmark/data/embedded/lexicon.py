"""Loading the lexicon from the tables in lexicon/; whatever is wrong is named by file and line."""

import hashlib
from functools import lru_cache
from pathlib import Path

from landmark.core.errors import UserError
from landmark.data.embedded.entry import (
    Adjective,
    Expression,
    Lexicon,
    Modal,
    Name,
    Noun,
    Preposition,
    Subjunction,
    Verb,
)
from landmark.data.embedded.lexicon_file import DIRECTORY, Row, read_rows, reject_duplicates
from landmark.data.embedded.morphology import (
    CASES,
    GENDERS,
    conjugate_present,
    decline_noun,
)

TENSES = ("present", "past", "future")
FRAMES = (
    "intransitive",
    "transitive",
    "dative",
    "ditransitive",
    "prepositional",
    "located",
    "motion",
    "placement",
    "clause",
    "question",
    "infinitive",
)
VERB_FLAGS = (
    "stative",
    "preterite",
    "particle",
    "far",
    "foot",
    "jump",
    "dwelling",
    "benefit",
    "source",
)
TIMES = ("past", "present", "future", "habit", "now", "any")
ADVERB_KINDS = (
    "frequency",
    "frequency-past",
    "manner",
    "manner-plural",
    "degree",
    "degree-predicate",
)
ROLES = ("companion", "beneficiary", "direction", "place", "jump", "time", "source")
NOT_CONCRETE = frozenset(
    (
        *("human", "animal", "group", "abstract", "message", "task", "event", "audible", "media"),
        *("subject", "sport", "wealth", "drink", "food", "language-unit"),
    )
)
COLUMNS = {
    "nouns": "english plural german german_plural genitive gender classes place direction",
    "verbs": "english past participle ing german present german_participle auxiliary frame "
    "subject object preposition flags",
    "adjectives": "english german stem classes",
    "adverbs": "english german kind",
    "times": "english german tense alignment",
    "names": "english german oblique kind gender",
    "prepositions": "english german case role classes",
    "modals": "english kind past tail german negative",
    "numerals": "english german",
    "subjunctions": "english german comma tenses",
    "subject_only": "english",
}


def align_words(
    row: Row, english: tuple[str, ...], german: tuple[str, ...], kind: str
) -> Expression:
    """An expression aligned as its row says: by position, all to one, or pair by pair."""
    written = row.optional("alignment") if "alignment" in row.fields else ""
    if written:
        try:
            pairs = [tuple(int(part) for part in pair.split("-")) for pair in written.split(" ")]
        except ValueError as error:
            raise row.error(f"alignment '{written}' is not a list like 0-0 1-0") from error
    elif len(english) == len(german):
        pairs = [(position, position) for position in range(len(english))]
    else:
        raise row.error("both sides need the same number of words, or an alignment")
    english_bits = [0] * len(english)
    german_bits = [0] * len(german)
    for bit, pair in enumerate(pairs):
        if len(pair) != 2 or pair[0] >= len(english) or pair[1] >= len(german):
            raise row.error(f"alignment '{written}' points outside the words")
        english_bits[pair[0]] |= 1 << bit
        german_bits[pair[1]] |= 1 << bit
    return Expression(english, german, tuple(english_bits), tuple(german_bits), kind)


def words(text: str) -> tuple[str, ...]:
    """The words of a field."""
    return tuple(text.split(" ")) if text else ()


def third_person(base: str) -> str:
    """The English verb after he or she."""
    if base == "have":
        return "has"
    if base.endswith(("s", "x", "z", "ch", "sh", "o")):
        return base + "es"
    if base.endswith("y") and base[-2] not in "aeiou":
        return base[:-1] + "ies"
    return base + "s"


def build_noun(row: Row, subject_only: frozenset[str]) -> Noun:
    """A noun with its eight forms."""
    gender = GENDERS[row.choice("gender", tuple(GENDERS))]
    singular, plural = row.optional("german"), row.optional("german_plural")
    if not singular and not plural:
        raise row.error("a noun needs a German singular or plural")
    if bool(plural) != bool(row.optional("plural")):
        raise row.error("English and German must both have a plural, or both none")
    if singular and row.text("english") == row.text("plural"):
        raise row.error("the English plural must differ from the singular")
    ending = row.optional("genitive") if singular else ""
    forms = decline_noun(singular, plural, ending)
    place = direction = None
    if row.optional("place"):
        english, _, german = row.text("place").partition(">")
        place = Preposition(words(english), german, CASES["dative"], "place", frozenset())
    if row.optional("direction"):
        german = row.text("direction")
        case = CASES["dative" if german == "zu" else "accusative"]
        direction = Preposition(("to",), german, case, "direction", frozenset())
    return Noun(
        english=row.text("english"),
        plural=row.optional("plural"),
        forms=forms if singular else ("",) * 4 + forms[4:],
        gender=gender,
        classes=noun_classes(row),
        place=place,
        direction=direction,
        subject_only=row.text("english") in subject_only,
    )


def noun_classes(row: Row) -> frozenset[str]:
    """A noun's classes, its own name among them; "concrete" is what has colour, size and age."""
    classes = frozenset(row.items("classes")) | {row.text("english")}
    return classes if classes & NOT_CONCRETE else classes | {"concrete"}


def build_verb(row: Row, known: frozenset[str]) -> Verb:
    """A verb with all its forms."""
    english = words(row.text("english"))
    frame = row.choice("frame", FRAMES)
    prefix, _, stem_verb = row.text("german").rpartition("|")
    irregular = row.items("present", "/")
    if len(irregular) not in (0, 2, 3):
        raise row.error("present must be -, du/er or ich/du/er")
    if not stem_verb.endswith("n"):
        raise row.error(f"'{stem_verb}' is not an infinitive")
    preposition = build_verb_preposition(row)
    if (frame in ("prepositional", "placement")) != (preposition is not None):
        raise row.error(f"frame {frame} and preposition do not fit")
    tail = english[1:-1] if frame == "prepositional" else english[1:]
    joined = (prefix + "zu" + stem_verb,) if prefix else ("zu", stem_verb)
    flags = frozenset(row.items("flags"))
    if flags - set(VERB_FLAGS):
        raise row.error(f"unknown flag (known: {', '.join(VERB_FLAGS)})")
    return Verb(
        english=row.text("english"),
        base=english[0],
        third=third_person(english[0]),
        past=row.text("past"),
        participle=row.text("participle"),
        ing=row.text("ing"),
        tail=tail,
        prefix=prefix,
        infinitive=prefix + stem_verb,
        zu_infinitive=joined,
        present=conjugate_present(stem_verb, irregular),
        german_participle=row.text("german_participle"),
        auxiliary=row.choice("auxiliary", ("haben", "sein")),
        frame=frame,
        subject=known_classes(row, "subject", known),
        object=known_classes(row, "object", known),
        preposition=preposition,
        flags=flags,
    )


def build_verb_preposition(row: Row) -> Preposition | None:
    """The preposition of a prepositional verb or of a placement, written English>German>case."""
    if not row.optional("preposition"):
        return None
    parts = row.items("preposition", ">")
    if len(parts) != 3 or parts[2] not in CASES:
        raise row.error("preposition must be written English>German>accusative or dative")
    return Preposition(words(parts[0]), parts[1], CASES[parts[2]], "verb", frozenset())


def known_classes(row: Row, column: str, known: frozenset[str]) -> frozenset[str]:
    """The classes of a column, each of which some noun must have."""
    classes = frozenset(row.items(column))
    for name in sorted(classes - known):
        raise row.error(f"no noun has the class '{name}'")
    return classes


def build_name(row: Row) -> Name:
    """A name; its oblique form is the nominative unless the table gives another."""
    german = words(row.text("german"))
    return Name(
        english=words(row.text("english")),
        german=german,
        oblique=words(row.optional("oblique")) or german,
        kind=row.choice("kind", ("person", "title", "town")),
        gender=GENDERS[row.choice("gender", tuple(GENDERS))],
    )


def build_modal(row: Row) -> Modal:
    """A modal verb with its six German forms."""
    german = words(row.text("german"))
    written = row.optional("negative")
    negative = None if written == "none" else words(written) or german
    if len(german) != 6 or (negative is not None and len(negative) != 6):
        raise row.error("a modal verb needs six German forms")
    return Modal(
        english=row.text("english"),
        is_auxiliary=row.choice("kind", ("auxiliary", "verb")) == "auxiliary",
        is_past=row.optional("past") == "past",
        tail=words(row.optional("tail")),
        german=german,
        negative=negative,
    )


def build_preposition(row: Row, known: frozenset[str]) -> Preposition:
    """A preposition with the classes of nouns that follow it."""
    return Preposition(
        english=words(row.text("english")),
        german=row.text("german"),
        case=CASES[row.choice("case", tuple(CASES))],
        role=row.choice("role", ROLES),
        classes=known_classes(row, "classes", known),
    )


def build_adjective(row: Row, known: frozenset[str]) -> Adjective:
    """An adjective with the classes it describes."""
    german = row.text("german")
    stem = row.optional("stem") or german
    if stem.endswith("e"):
        raise row.error(f"the stem '{stem}' must lose its e before endings")
    return Adjective(row.text("english"), german, stem, known_classes(row, "classes", known))


def build_subjunction(row: Row) -> Subjunction:
    """A subordinating word with the tenses it joins."""
    expression = build_expression(row, "subjunction")
    pairs = tuple(tuple(pair.split(">")) for pair in row.items("tenses"))
    if not all(len(pair) == 2 and set(pair) <= set(TENSES) for pair in pairs):
        raise row.error(f"tenses must be pairs like present>past of {', '.join(TENSES)}")
    comma = row.choice("comma", ("yes", "no")) == "yes"
    return Subjunction(expression, comma, tuple((pair[0], pair[1]) for pair in pairs))


def build_expression(row: Row, kind: str) -> Expression:
    """Fixed words of both languages."""
    return align_words(row, words(row.text("english")), words(row.text("german")), kind)


def read_table(directory: Path, table: str) -> list[Row]:
    """The rows of one table; an English expression stands in it once."""
    rows = list(read_rows(directory / f"{table}.tsv", tuple(COLUMNS[table].split())))
    if not rows:
        raise UserError(f"{table}.tsv has no entries")
    # A verb may have one meaning for each frame, and "when" one for each tense.
    second = {"verbs": "frame", "subjunctions": "tenses", "prepositions": "role"}.get(table)
    reject_duplicates(rows, lambda row: (row.fields["english"], row.fields.get(second or "")))
    return rows


def load_lexicon(directory: Path = DIRECTORY) -> Lexicon:
    """The lexicon of a directory, checked."""
    rows = {table: read_table(directory, table) for table in COLUMNS}
    subject_only = frozenset(row.text("english") for row in rows["subject_only"])
    nouns = tuple(build_noun(row, subject_only) for row in rows["nouns"])
    known = frozenset().union(*(noun.classes for noun in nouns))
    for row in rows["subject_only"]:
        known_classes(row, "english", known)
    adverbs = tuple(
        build_expression(row, row.choice("kind", ADVERB_KINDS)) for row in rows["adverbs"]
    )
    times = tuple(build_expression(row, row.choice("tense", TIMES)) for row in rows["times"])
    return Lexicon(
        nouns=nouns,
        verbs=tuple(build_verb(row, known) for row in rows["verbs"]),
        adjectives=tuple(build_adjective(row, known) for row in rows["adjectives"]),
        adverbs=adverbs,
        times=times,
        names=tuple(build_name(row) for row in rows["names"]),
        prepositions=tuple(build_preposition(row, known) for row in rows["prepositions"]),
        modals=tuple(build_modal(row) for row in rows["modals"]),
        numerals=tuple(build_expression(row, "numeral") for row in rows["numerals"]),
        subjunctions=tuple(build_subjunction(row) for row in rows["subjunctions"]),
    )


@lru_cache(maxsize=1)
def embedded_lexicon() -> Lexicon:
    """The lexicon that ships with the package, loaded once."""
    return load_lexicon()


def lexicon_digest(directory: Path = DIRECTORY) -> str:
    """A hex digest of the bytes of all lexicon files, independent of line endings."""
    digest = hashlib.blake2b(digest_size=16)
    for table in sorted(COLUMNS):
        digest.update(table.encode())
        digest.update((directory / f"{table}.tsv").read_bytes().replace(b"\r\n", b"\n"))
    return digest.hexdigest()
