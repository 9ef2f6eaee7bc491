import pytest

from landmark.core.errors import UserError
from landmark.tasks.translation.glossary import Glossary


@pytest.fixture
def read(tmp_path):
    def read(content):
        path = tmp_path / "terms.tsv"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return Glossary.read(path)

    return read


def required(glossary, text):
    """The target terms that a text requires, each encoded as one token: itself."""
    found = glossary.phrases(text, lambda terms: [[term] for term in terms], longest=1)
    return tuple(term for (term,) in found)


def test_terms_are_found_as_whole_words_in_the_order_of_the_text(read):
    glossary = read("cat\tKater\ndog\tRüde\n")
    assert required(glossary, "A dog and a cat.") == ("Rüde", "Kater")
    assert required(glossary, "(dog)dog's dog-cat") == ("Rüde", "Kater")
    assert required(glossary, "dogs, catty hotdog dog2 dog_x") == ()
    assert required(glossary, "") == ()


def test_letters_of_any_script_and_their_marks_make_words(read):
    glossary = read("öl\tA\nहिन\tB\ncafe\tC\ncafé\tD\n")
    assert required(glossary, "ölig möl हिन्दी") == ()
    assert required(glossary, "cafe\u0301") == ("D",)  # composed or not
    assert required(glossary, "हिन öl") == ("B", "A")


def test_the_longest_term_wins_and_none_overlaps(read):
    glossary = read("new\tneu\nnew york\tNeu-York\nyork city\tYork-Stadt\ncity\tStadt\n")
    assert required(glossary, "a new york city") == ("Neu-York", "Stadt")
    assert required(glossary, "a new  york-city") == ("Neu-York", "Stadt")
    assert required(glossary, "new yorkers") == ("neu",)


def test_small_letters_stand_for_capitals_but_not_the_other_way(read):
    glossary = read("polish\tpolieren\nPolish\tpolnisch\nUS\tUSA\nroad sign\tSchild\n")
    assert required(glossary, "polish it") == ("polieren",)
    assert required(glossary, "Polish it") == ("polnisch",)
    assert required(glossary, "POLISH") == ("polieren",)  # the first in the file
    assert required(glossary, "give us the US") == ("USA",)
    assert required(glossary, "Road Sign") == ("Schild",)


def test_a_term_required_twice_is_required_once(read):
    assert required(read("dog\tHund\nhound\tHund\n"), "dog hound dog") == ("Hund",)


def test_signs_belong_to_terms(read):
    glossary = read("C++\tC-plus-plus\n.NET\tPunktnetz\n")
    assert required(glossary, "We like C++, not .NET.") == ("C-plus-plus", "Punktnetz")
    assert required(glossary, "C+") == ()


def test_blank_lines_marks_and_repeated_lines_are_harmless(read):
    glossary = read("\ufeffdog\tHund\r\n\r\n dog \t Hund \n\n")
    assert len(glossary) == 1
    assert required(glossary, "dog") == ("Hund",)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a\tb\ndog\n", r"terms.tsv:2: 1 columns, but a glossary has two: source term, tab"),
        ("a\tb\tc\n", r"terms.tsv:1: 3 columns"),
        ("a\tb\n\tb\n", r"terms.tsv:2: the source term is empty: write one"),
        ("a\t \n", r"terms.tsv:1: the target term is empty: write one"),
        ("a\tb\nx\ty\na\tc\n", r"terms.tsv:3: 'a' must be 'c' here, but 'b' in line 1: keep one"),
        ("a\tb\u2028c\n", r"terms.tsv:1: a term has a line break in it"),
        (b"a\tb\nc\t\xff\n", r"terms.tsv:2: not valid UTF-8"),
        ("", r"terms.tsv: has no terms: write source term, tab, target term"),
    ],
)
def test_mistakes_name_the_file_and_the_line(read, content, message):
    with pytest.raises(UserError, match=message):
        read(content)


def test_a_file_that_cannot_be_read_is_refused(tmp_path):
    with pytest.raises(UserError, match=r"none\.tsv: cannot be read"):
        Glossary.read(tmp_path / "none.tsv")
    with pytest.raises(UserError, match="is a folder, not a file"):
        Glossary.read(tmp_path)


def test_phrases_are_encoded_and_those_too_long_are_named(read):
    glossary = read("dog\tRüde\ncat\tKa\nfish\t?\n")

    def encode(texts):
        return [[ord(letter) for letter in text if letter.isalpha()] for text in texts]

    assert glossary.phrases("cat, cat", encode, 3) == ((75, 97),)
    assert glossary.phrases("bird", encode, 3) == ()
    with pytest.raises(UserError, match=r"terms.tsv:1: 'Rüde' has 4 tokens, .* may have 1 to 3"):
        glossary.phrases("cat dog", encode, 3)
    with pytest.raises(UserError, match=r"terms.tsv:3: '\?' has 0 tokens"):
        glossary.phrases("fish", encode, 3)
