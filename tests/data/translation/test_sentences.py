import pytest

from landmark.data.translation.sentences import split_sentences, split_to_fit


@pytest.mark.parametrize(
    "sentences",
    [
        ["A man sleeps.", "A dog barks!", "Why?", "Nobody knows…", "The end."],
        ["Dr. Smith met Mr. Jones at 3.30 p.m. on the 5. May.", "They talked."],
        ["He said: “It works.”", "“Really?” she asked.", "(Yes.)", "Good."],
        ["Das kostet z.B. 3.50 Euro.", "Am 3. Mai kommt er.", "„Gut.“", "Ende."],
        ["J. R. R. Tolkien wrote it.", "It is long."],
        ["C'est vrai.", "«Oui!»", "Il part."],
        ["这是一句。", "第二句！"],
        ["no capital. so no end"],
        ["Ends without a mark"],
    ],
)
def test_text_is_cut_where_sentences_end(sentences):
    glue = "" if "。" in sentences[0] else " "
    assert split_sentences(glue.join(sentences)) == sentences


def test_blank_text_has_no_sentences():
    assert split_sentences("") == split_sentences(" \t ") == []


@pytest.mark.parametrize("limit", [1, 4, 10, 25, 80, 1000])
def test_pieces_fit_and_nothing_is_lost(limit):
    text = (
        "This is a long sentence, which has clauses; some of them are short: others are not so "
        "short – as one sees. Donaudampfschifffahrtsgesellschaft is a word! Short one."
    )
    pieces = split_to_fit(text, lambda piece: len(piece) <= limit)
    assert all(len(piece) <= limit for piece in pieces)
    assert "".join("".join(pieces).split()) == "".join(text.split())


def test_a_long_sentence_is_cut_at_a_clause_first():
    text = "When the rain had stopped at last, the children went out into the garden."
    assert split_to_fit(text, lambda piece: len(piece) < 50) == [
        "When the rain had stopped at last,",
        "the children went out into the garden.",
    ]


def test_a_sign_that_never_fits_is_left_for_the_model_to_refuse():
    assert split_to_fit("ab", lambda piece: False) == ["a", "b"]
