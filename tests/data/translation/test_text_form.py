import pytest

from landmark.data.translation.text_form import TextForm


@pytest.mark.parametrize("text", ["", "  Two  spaces, \u00a0 and „quotes“", "İ ﬁ\u200b\n"])
def test_plain_text_passes_as_it_is(text):
    form = TextForm("plain", "en")
    assert form.write(form.read(text)) == form.read(text) == text
    assert not form.is_tokenized


def test_moses_form_is_that_of_the_moses_scripts():
    """The expected lines are what the Moses scripts themselves are known to give."""
    english = TextForm("moses-lowercase", "en")
    assert english.read("A man's dog, isn't it?") == "a man 's dog , isn 't it ?"
    assert english.read("Mr. Smith  paid $5.50 (USD).") == "mr. smith paid $ 5.50 ( usd ) ."
    assert english.is_tokenized
    french = TextForm("moses-lowercase", "fr")
    assert french.read("L'homme d'à côté.") == "l' homme d' à côté ."


def test_written_text_has_its_spaces_back_but_not_its_case():
    form = TextForm("moses-lowercase", "en")
    text = "A man's dog, isn't it? (Yes.)"
    assert form.write(form.read(text)) == text.lower()
