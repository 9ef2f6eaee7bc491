import random
import unicodedata
from pathlib import Path

import pytest
from tokenizers import Tokenizer, models

from landmark.core.errors import UserError
from landmark.data.tokenizer import SPECIAL, SubwordTokenizer, TokenizerConfig, words_of

LINES = [
    "Der Apfel ist rot, und die Äpfel sind grün.",
    "I ate an apple; the apples were 3,50 € each!",
    "<s> looks like a tag </s>, and so does <s>this</s>.",
] * 5
NASTY = [
    "",
    " ",
    "   ",
    " leading",
    "trailing ",
    "  two   spaces  inside ",
    "tab\tand\nnew line\r\n",
    "\n",
    "\x00\x01\x7f",
    "I ate an apple.",
    "Größe ẞ ſ",
    "e\u0301 a\u0308\u0323 \u0301",
    "👩‍👩‍👧‍👦🏳️‍🌈 ☕️",
    "漢字 かな 한국어 العربية עברית हिन्दी ไทย",
    "\u00a0\u2003\u200b\u200d\ufeff\u2028\u0085",
    "\U0010ffff\ufffd\ufffe",
    "don't 'quote' “curly” —dash… 1,000.50 x²½",
    "Ġ Ċ ĠĠ",
    "▁under ##hash @@ ▁",
    *SPECIAL,
    "a </s> b <s>c<pad><unk>",
]


@pytest.fixture(scope="module")
def tokenizer() -> SubwordTokenizer:
    return SubwordTokenizer.train(LINES, TokenizerConfig(vocab_size=320))


@pytest.mark.parametrize("text", NASTY, ids=range(len(NASTY)))
def test_decoding_undoes_encoding(tokenizer: SubwordTokenizer, text: str) -> None:
    assert tokenizer.decode(tokenizer.encode([text])) == [text]


def test_decoding_undoes_encoding_of_random_unicode(tokenizer: SubwordTokenizer) -> None:
    draw = random.Random(0)
    texts = []
    for _ in range(300):
        planes = draw.choice([(0, 0x80), (0, 0x300), (0, 0xD800), (0xE000, 0x110000)])
        signs = [chr(draw.randrange(*planes)) for _ in range(draw.randrange(30))]
        signs += [" "] * draw.randrange(4)
        draw.shuffle(signs)
        texts.append("".join(signs))
    assert tokenizer.decode(tokenizer.encode(texts)) == texts


def test_text_never_becomes_a_special_token(tokenizer: SubwordTokenizer) -> None:
    for text, numbers in zip(NASTY, tokenizer.encode(NASTY), strict=True):
        assert min(numbers) >= len(SPECIAL), text


def test_special_tokens_are_the_first_and_are_left_out_of_text(tokenizer: SubwordTokenizer) -> None:
    assert [tokenizer.backend.id_to_token(number) for number in range(4)] == list(SPECIAL)
    assert (tokenizer.begin, tokenizer.end) == (1, 2)
    (numbers,) = tokenizer.encode(["an apple"])
    assert tokenizer.decode([[1, *numbers, 2, 0, 0]]) == ["an apple"]


def test_a_word_has_one_form_wherever_it_stands(tokenizer: SubwordTokenizer) -> None:
    alone, first, second = tokenizer.encode(["apple", "apple pie", "an apple"])
    assert first[: len(alone)] == alone
    assert second[-len(alone) :] == alone


def test_training_learns_frequent_words_and_keeps_to_its_size(tokenizer: SubwordTokenizer) -> None:
    assert len(tokenizer) <= 320
    assert len(SubwordTokenizer.train(LINES, TokenizerConfig(vocab_size=280))) == 280
    assert len(tokenizer.encode(["Apfel"])[0]) < len(" Apfel")
    assert max(n for numbers in tokenizer.encode(NASTY) for n in numbers) < len(tokenizer)


def test_training_is_reproducible(tokenizer: SubwordTokenizer) -> None:
    again = SubwordTokenizer.train(iter(LINES), TokenizerConfig(vocab_size=320))
    assert again.backend.to_str() == tokenizer.backend.to_str()


def test_a_saved_tokenizer_is_the_same_when_loaded(
    tokenizer: SubwordTokenizer, tmp_path: Path
) -> None:
    tokenizer.save(tmp_path / "tokenizer.json")
    loaded = SubwordTokenizer.load(tmp_path / "tokenizer.json")
    assert loaded.encode(NASTY) == tokenizer.encode(NASTY)
    assert loaded.decode(loaded.encode(NASTY)) == NASTY
    assert len(loaded) == len(tokenizer)


def test_pieces_are_readable_and_join_to_the_text(tokenizer: SubwordTokenizer) -> None:
    (numbers,) = tokenizer.encode(["an apple"])
    assert "".join(tokenizer.pieces(numbers)) == " an apple"
    assert tokenizer.pieces([1, 2]) == ["<s>", "</s>"]


def test_foreign_files_are_refused(tmp_path: Path) -> None:
    foreign = tmp_path / "foreign.json"
    Tokenizer(models.BPE(vocab={"a": 0, "b": 1}, merges=[])).save(str(foreign))
    with pytest.raises(UserError, match=r"foreign.json: token 0 must be <pad>"):
        SubwordTokenizer.load(foreign)
    for content in (b"", b"{}", b"not json", b"\xff\xfe\x00"):
        foreign.write_bytes(content)
        with pytest.raises(UserError, match=r"foreign.json: (damaged|not a tokenizer file)"):
            SubwordTokenizer.load(foreign)
    for missing in (tmp_path, tmp_path / "none.json"):
        with pytest.raises(UserError, match="there is no tokenizer here"):
            SubwordTokenizer.load(missing)


def test_a_vocabulary_too_small_for_all_bytes_is_refused() -> None:
    with pytest.raises(ValueError, match="260"):
        TokenizerConfig(vocab_size=259)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        (" \n", []),
        ("123 !?", []),
        ("I ate an apple.", ["I", "ate", "an", "apple"]),
        ("Der Bär isst 3 Äpfel!", ["Der", "Bär", "isst", "Äpfel"]),
        ("don't x2y", ["don", "t", "x", "y"]),
        ("U-Bahn", ["U", "Bahn"]),
        (unicodedata.normalize("NFD", "Bär"), [unicodedata.normalize("NFD", "Bär")]),
        ("漢字", ["漢字"]),
    ],
)
def test_words_are_runs_of_letters(text: str, words: list[str]) -> None:
    assert list(words_of(text)) == words
