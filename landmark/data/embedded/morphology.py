"""German inflection: the forms of nouns, verbs, determiners and adjectives, as tables.

A case is 0 nominative, 1 accusative, 2 dative, 3 genitive; a gender column is 0 masculine,
1 feminine, 2 neuter, 3 plural; a person is 0 ich, 1 du, 2 er, 3 wir, 4 ihr, 5 sie.
"""

NOMINATIVE, ACCUSATIVE, DATIVE, GENITIVE = range(4)
MASCULINE, FEMININE, NEUTER, PLURAL = range(4)
CASES = {"accusative": ACCUSATIVE, "dative": DATIVE}
GENDERS = {"m": MASCULINE, "f": FEMININE, "n": NEUTER, "p": PLURAL}

Table = tuple[tuple[str, str, str, str], ...]

# Rows are cases, columns genders.
DEFINITE: Table = (
    ("der", "die", "das", "die"),
    ("den", "die", "das", "die"),
    ("dem", "der", "dem", "den"),
    ("des", "der", "des", "der"),
)
DEMONSTRATIVE_ENDINGS: Table = (
    ("er", "e", "es", "e"),
    ("en", "e", "es", "e"),
    ("em", "er", "em", "en"),
    ("es", "er", "es", "er"),
)
INDEFINITE_ENDINGS: Table = (
    ("", "e", "", "e"),
    ("en", "e", "", "e"),
    ("em", "er", "em", "en"),
    ("es", "er", "es", "er"),
)
RELATIVE: Table = (
    ("der", "die", "das", "die"),
    ("den", "die", "das", "die"),
    ("dem", "der", "dem", "denen"),
    ("dessen", "deren", "dessen", "deren"),
)
STRONG: Table = (
    ("er", "e", "es", "e"),
    ("en", "e", "es", "e"),
    ("em", "er", "em", "en"),
    ("en", "er", "en", "er"),
)
WEAK: Table = (
    ("e", "e", "e", "en"),
    ("en", "e", "e", "en"),
    ("en", "en", "en", "en"),
    ("en", "en", "en", "en"),
)
MIXED: Table = (
    ("er", "e", "es", "en"),
    ("en", "e", "es", "en"),
    ("en", "en", "en", "en"),
    ("en", "en", "en", "en"),
)

SEIN_PRESENT = ("bin", "bist", "ist", "sind", "seid", "sind")
SEIN_PAST = ("war", "warst", "war", "waren", "wart", "waren")
HABEN_PRESENT = ("habe", "hast", "hat", "haben", "habt", "haben")
HABEN_PAST = ("hatte", "hattest", "hatte", "hatten", "hattet", "hatten")
WERDEN_PRESENT = ("werde", "wirst", "wird", "werden", "werdet", "werden")

CONTRACTIONS = {
    ("in", "dem"): "im",
    ("in", "das"): "ins",
    ("an", "dem"): "am",
    ("an", "das"): "ans",
    ("zu", "dem"): "zum",
    ("zu", "der"): "zur",
    ("bei", "dem"): "beim",
    ("von", "dem"): "vom",
}


def decline_determiner(stem: str, endings: Table) -> Table:
    """All forms of a word such as "dies" or "ein"; "euer" drops its second e before an ending."""

    def form(ending: str) -> str:
        return ("eur" if stem == "euer" and ending else stem) + ending

    return tuple((form(m), form(f), form(n), form(p)) for m, f, n, p in endings)


# Each determiner's forms and the declension of an adjective that follows it.
DETERMINERS: dict[str, tuple[Table | None, Table]] = {
    "definite": (DEFINITE, WEAK),
    "this": (decline_determiner("dies", DEMONSTRATIVE_ENDINGS), WEAK),
    "every": (decline_determiner("jed", DEMONSTRATIVE_ENDINGS), WEAK),
    "which": (decline_determiner("welch", DEMONSTRATIVE_ENDINGS), WEAK),
    "all": (decline_determiner("all", DEMONSTRATIVE_ENDINGS), WEAK),
    "indefinite": (decline_determiner("ein", INDEFINITE_ENDINGS), MIXED),
    "negative": (decline_determiner("kein", INDEFINITE_ENDINGS), MIXED),
    "my": (decline_determiner("mein", INDEFINITE_ENDINGS), MIXED),
    "your-du": (decline_determiner("dein", INDEFINITE_ENDINGS), MIXED),
    "his": (decline_determiner("sein", INDEFINITE_ENDINGS), MIXED),
    "her": (decline_determiner("ihr", INDEFINITE_ENDINGS), MIXED),
    "our": (decline_determiner("unser", INDEFINITE_ENDINGS), MIXED),
    "your-ihr": (decline_determiner("euer", INDEFINITE_ENDINGS), MIXED),
    "their": (decline_determiner("ihr", INDEFINITE_ENDINGS), MIXED),
    "your-Sie": (decline_determiner("Ihr", INDEFINITE_ENDINGS), MIXED),
    "many": (decline_determiner("viel", DEMONSTRATIVE_ENDINGS), STRONG),
    "some": (decline_determiner("einig", DEMONSTRATIVE_ENDINGS), STRONG),
    "none": (None, STRONG),
}


def decline_noun(singular: str, plural: str, ending: str) -> tuple[str, ...]:
    """Singular forms of the four cases, then the plural ones; a missing number is empty."""
    weak = singular + ending if ending in ("n", "en") else singular
    dative_plural = plural if not plural or plural[-1] in "ns" else plural + "n"
    return (singular, weak, weak, singular + ending, plural, plural, dative_plural, plural)


def conjugate_present(infinitive: str, irregular: tuple[str, ...]) -> tuple[str, ...]:
    """The six forms of the present; `irregular` holds (du, er), (ich, du, er) or nothing."""
    stem = infinitive[:-1] if infinitive.endswith(("eln", "ern")) else infinitive[:-2]
    linking = "e" if _needs_linking_vowel(stem) else ""
    first = stem[:-2] + "le" if infinitive.endswith("eln") else stem + "e"
    second = stem + ("t" if stem[-1] in "sßzx" else linking + "st")
    third = plural_second = stem + linking + "t"
    if irregular:
        second, third = irregular[-2:]
        first = irregular[0] if len(irregular) == 3 else first
    return (first, second, third, infinitive, plural_second, infinitive)


def _needs_linking_vowel(stem: str) -> bool:
    """Whether an e stands before -st and -t: du arbeitest, er öffnet, but er lernt, er wohnt."""
    if stem[-1] in "td":
        return True
    if stem[-1] not in "mn" or stem[-2] in "aeiouäöülrmn":
        return False
    return stem[-2] != "h" or stem[-3] == "c"
