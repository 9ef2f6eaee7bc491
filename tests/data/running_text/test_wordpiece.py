"""Word pieces against transformers' BertTokenizer, and the vocabularies that are refused."""

import json

import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import BertTokenizer

from landmark.core.errors import UserError
from landmark.data.running_text.character import CharacterTokenizer
from landmark.data.running_text.wordpiece import (
    SPECIAL,
    WordPieceConfig,
    WordPieceTokenizer,
    is_wordpiece,
)

LINES = [
    "The walkers walked, talking of walks and talks they had walked and talked before.",
    "Nobody's house was unhoused; houses were rehoused, naïvely, in 1805!",
] * 3
DIFFICULT = [
    "Walked, UNTALKED naïve Ærøskøbing",
    "日本語 and houses",
    "tab\there\u00a0and\u200bthere\u0000\ufffd",
    "e\u0301 vs é, ẞ ß İstanbul",
    "🙂 house's 12.5% walkwalkwalk",
    "",
    "x" * 120,
]


def train(size: int = 80, **settings: object) -> WordPieceTokenizer:
    return WordPieceTokenizer.train(lambda: LINES, WordPieceConfig(vocab_size=size, **settings))


@pytest.mark.parametrize("lowercase", [True, False])
def test_texts_are_cut_as_berts_own_tokenizer_cuts_them(tmp_path, lowercase):
    ours = train(lowercase=lowercase)
    (tmp_path / "vocab.txt").write_text("\n".join(ours.pieces(range(len(ours)))), encoding="utf-8")
    theirs = BertTokenizer(str(tmp_path / "vocab.txt"), do_lower_case=lowercase)
    again = WordPieceTokenizer.from_vocabulary(tmp_path / "vocab.txt", lowercase)
    for text in (*LINES, *DIFFICULT):
        expected = theirs(text, add_special_tokens=False)["input_ids"]
        assert ours.encode([text])[0] == again.encode([text])[0] == expected


def test_special_tokens_come_first_and_training_is_the_same_each_time():
    ours = train()
    assert ours.pieces(range(5)) == list(SPECIAL)
    assert len(ours) == 80
    assert ours.to_text() == train().to_text()
    assert not set(ours.ordinary) & set(range(5))


def test_a_vocabulary_is_saved_and_known_again(tmp_path):
    ours = train()
    ours.save(tmp_path / "tokenizer.json")
    assert is_wordpiece(tmp_path / "tokenizer.json")
    assert WordPieceTokenizer.open(tmp_path / "tokenizer.json").to_text() == ours.to_text()
    CharacterTokenizer("abc").save(tmp_path / "characters.json")
    assert not is_wordpiece(tmp_path / "characters.json")
    assert not is_wordpiece(tmp_path / "nothing.json")


def test_words_have_their_pieces_and_the_first_piece_begins():
    ours = train()
    text = "Nobody's walkers, unhoused"
    words = ours.words(text)
    assert [word.text for word in words] == ["Nobody", "'", "s", "walkers", ",", "unhoused"]
    assert [token for word in words for token in word.tokens] == ours.encode([text])[0]
    for word in words:
        assert [bool(ours.continues[token]) for token in word.tokens] == [
            place > 0 for place in range(len(word.tokens))
        ]
    assert any(len(word.tokens) > 1 for word in words)
    assert ours.decode([ours.encode(["walked , and talked"])[0]]) == ["walked, and talked"]


def test_special_tokens_in_a_text_are_text_unless_it_is_marked():
    ours = train()
    assert ours.mask not in ours.encode(["The [MASK] walked"])[0]
    marked = ours.encode_marked("The [MASK] walked[SEP]and")
    (the,), (walked,), (together,) = ours.encode(["The", "walked", "and"])
    assert marked == [the, ours.mask, walked, ours.separator, together]
    with pytest.raises(UserError, match=r"\[FOO\]: is not a special token: choose from \[PAD\], "):
        ours.encode_marked("The [FOO] walked")


def test_a_foreign_vocabulary_brings_special_tokens_of_its_own(tmp_path):
    names = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", "Ġhouse", "house", "s", "!"]
    backend = Tokenizer(models.BPE({name: n for n, name in enumerate(names)}, []))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    roles = {
        "class": "<s>", "separator": "</s>", "mask": "<mask>", "padding": "<pad>",
        "unknown": "<unk>", "begin": "<s>", "end": "</s>",
    }  # fmt: skip
    WordPieceTokenizer(backend, roles).save(tmp_path / "tokenizer.json")
    assert is_wordpiece(tmp_path / "tokenizer.json")
    ours = WordPieceTokenizer.load(tmp_path / "tokenizer.json")
    assert (ours.begin, ours.separator, ours.mask) == (0, 2, 4)
    assert ours.encode_marked("s<mask>s[MASK]") == [7, 4, 7, 4]
    assert ours.ordinary.tolist() == [5, 6, 7, 8]
    assert ours.continues[[5, 6, 7, 8]].tolist() == [False, True, True, False]
    assert ours.spell(5) == "house"


def test_what_is_no_vocabulary_of_berts_kind_is_refused_by_name(tmp_path):
    path = tmp_path / "vocab.txt"
    path.write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\nthe\n")
    with pytest.raises(UserError, match=r"vocab\.txt: not BERT's vocabulary: it has no \[MASK\]"):
        WordPieceTokenizer.open(path)
    path.write_text("\n".join([*SPECIAL, "the", "the"]))
    with pytest.raises(UserError, match=r"vocab\.txt: not a vocabulary: 'the' is there twice"):
        WordPieceTokenizer.open(path)
    path = tmp_path / "tokenizer.json"
    with pytest.raises(UserError, match="there is no tokenizer here"):
        WordPieceTokenizer.load(path)
    path.write_text("{")
    with pytest.raises(UserError, match=r"tokenizer\.json: damaged: it is not valid JSON"):
        WordPieceTokenizer.load(path)
    Tokenizer(models.BPE()).save(str(path))
    with pytest.raises(UserError, match="holds no word pieces as BERT reads them, but BPE"):
        WordPieceTokenizer.load(path)
    body = json.loads(train().to_text())
    body["model"]["vocab"]["[FILL]"] = body["model"]["vocab"].pop("[MASK]")
    body["added_tokens"] = []
    path.write_text(json.dumps(body))
    with pytest.raises(UserError, match=r"tokenizer\.json: not BERT's kind .* no \[MASK\]"):
        WordPieceTokenizer.load(path)
