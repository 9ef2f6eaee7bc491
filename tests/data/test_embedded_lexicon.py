"""The lexicon: its size, what it refuses, and that an error names file and line."""

import shutil
from pathlib import Path

import pytest

from landmark.core.errors import UserError
from landmark.data.embedded.lexicon import embedded_lexicon, lexicon_digest, load_lexicon
from landmark.data.embedded.lexicon_file import DIRECTORY

LEXICON = embedded_lexicon()


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return Path(shutil.copytree(DIRECTORY, tmp_path / "lexicon"))


def change(directory: Path, table: str, old: str, new: str) -> int:
    """Replace a text and return the number of its line."""
    path = directory / f"{table}.tsv"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    return text[: text.index(old)].count("\n") + 1


def test_the_lexicon_is_large_enough() -> None:
    assert len(LEXICON.nouns) >= 300
    assert len({verb.infinitive for verb in LEXICON.verbs}) >= 120
    assert len(LEXICON.adjectives) >= 80


def test_all_classes_of_verbs_are_present() -> None:
    verbs = LEXICON.verbs
    assert sum(1 for verb in verbs if verb.prefix) >= 15
    assert sum(1 for verb in verbs if verb.auxiliary == "sein") >= 12
    assert sum(1 for verb in verbs if verb.infinitive.endswith("ieren")) >= 6
    assert sum(1 for verb in verbs if not verb.german_participle.endswith("t")) >= 40


def test_an_english_word_has_one_german_rendering_in_one_frame() -> None:
    seen: dict[tuple[str, str], str] = {}
    for verb in LEXICON.verbs:
        assert seen.setdefault((verb.english, verb.frame), verb.infinitive) == verb.infinitive
    assert len({noun.english for noun in LEXICON.nouns}) == len(LEXICON.nouns)
    assert len({adjective.english for adjective in LEXICON.adjectives}) == len(LEXICON.adjectives)


def test_no_english_plural_equals_a_singular() -> None:
    singulars = {noun.english for noun in LEXICON.nouns if noun.has_singular}
    assert not singulars & {noun.plural for noun in LEXICON.nouns}


@pytest.mark.parametrize(
    ("table", "old", "new", "message"),
    [
        ("nouns", "\tBücher\tes\tn\t", "\tBücher\tes\tx\t", "gender 'x' is unknown"),
        ("nouns", "table\ttables\t", "table\t-\t", "both have a plural"),
        ("nouns", "cat\tcats\t", "cat\tcat\t", "must differ"),
        ("nouns", "cat\tcats\t", "dog\tcats\t", "'dog' repeats line"),
        ("verbs", "\ttransitive\t", "\ttransitif\t", "frame 'transitif' is unknown"),
        ("verbs", "\tfood\t", "\tfoood\t", "no noun has the class 'foood'"),
        ("verbs", "isst/isst", "isst/isst/isst/isst", "present must be"),
        ("verbs", "\tessen\t", "\tess\t", "not an infinitive"),
        ("verbs", "eat\tate\teaten\t", "eat\tate\t", "12 columns instead of 13"),
        ("adjectives", "tired\tmüde\tmüd\t", "tired\tmüde\t-\t", "must lose its e"),
        ("times", "0-0 1-0 2-1", "0-0 1-0 2-7", "points outside"),
        ("modals", "kann kannst kann", "kann kannst", "six German forms"),
        ("names", "Anna\tAnna\t-\tperson", "Anna\tAnna\t-\tperso", "kind 'perso' is unknown"),
        ("subject_only", "uncle", "uncel", "no noun has the class 'uncel'"),
    ],
)
def test_a_mistake_is_named_by_file_and_line(
    directory: Path, table: str, old: str, new: str, message: str
) -> None:
    line = change(directory, table, old, new)
    with pytest.raises(UserError) as caught:
        load_lexicon(directory)
    assert f"{table}.tsv, line {line}: " in str(caught.value)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_file_and_a_wrong_header_are_named(directory: Path) -> None:
    change(directory, "numerals", "english\tgerman", "english\tdeutsch")
    with pytest.raises(UserError, match=r"numerals\.tsv, line 2: header must be"):
        load_lexicon(directory)
    (directory / "numerals.tsv").unlink()
    with pytest.raises(UserError, match=r"numerals\.tsv cannot be read"):
        load_lexicon(directory)


def test_a_new_word_needs_no_code(directory: Path) -> None:
    path = directory / "nouns.tsv"
    line = "whale\twhales\tWal\tWale\ts\tm\tanimal\t-\t-\n"
    path.write_text(path.read_text(encoding="utf-8") + line, encoding="utf-8")
    assert load_lexicon(directory).nouns[-1].forms[6] == "Walen"
    assert lexicon_digest(directory) != lexicon_digest()
