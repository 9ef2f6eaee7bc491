import json

import pytest

from landmark.core.errors import DamagedError, UserError
from landmark.data.captions.vocabulary import WordTokenizer, WordTokenizerConfig
from landmark.data.tokenizer import SPECIAL
from landmark.data.translation.vocabulary import load_subwords

CAPTIONS = ["A dog runs.", "a dog jumps", "a cat runs", "A man's T-shirt", "a man's dog"]


@pytest.fixture
def vocabulary():
    return WordTokenizer.learn(CAPTIONS, WordTokenizerConfig(min_count=2))


def test_frequent_words_are_kept_the_most_frequent_first(vocabulary):
    assert vocabulary.names() == [*SPECIAL, "a", "dog", "man's", "runs"]
    assert (vocabulary.begin, vocabulary.end, vocabulary.unknown) == (1, 2, 3)
    assert vocabulary.merges() == {}


def test_the_vocabulary_size_bounds_the_words():
    found = WordTokenizer.learn(CAPTIONS, WordTokenizerConfig(min_count=1, vocab_size=6))
    assert found.names() == [*SPECIAL, "a", "dog"]


def test_rare_words_are_unknown_and_known_ones_come_back(vocabulary):
    numbers = vocabulary.encode(["A cat, a DOG!", "the man's dog runs", ""])
    assert numbers == [[4, 3, 4, 5], [3, 6, 5, 7], []]
    assert vocabulary.decode([[1, 4, 5, 7, 2, 0], [2]]) == ["a dog runs", ""]
    assert vocabulary.pieces([1, 4, 3, 6]) == ["<s>", "a", "<unk>", "man's"]


def test_a_special_token_in_a_text_is_text(vocabulary):
    assert vocabulary.encode(["a </s> dog"]) == [[4, 3, 5]]


def test_a_saved_vocabulary_is_the_same_when_loaded(vocabulary, tmp_path):
    vocabulary.save(tmp_path / "tokenizer.json")
    loaded = load_subwords(tmp_path / "tokenizer.json")
    assert isinstance(loaded, WordTokenizer)
    assert loaded.names() == vocabulary.names()
    assert loaded.encode(["a bird runs"]) == [[4, 3, 7]]
    assert loaded.to_text() == vocabulary.to_text()


def damaged(vocabulary, change):
    body = json.loads(vocabulary.to_text())
    change(body)
    return body


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda body: body["model"].update(unk_token="?"), "has no <unk>"),
        (lambda body: body["model"]["vocab"].update(dog=4), "not numbered"),
        (lambda body: body["model"]["vocab"].update(dog="x"), "does not number"),
        (lambda body: body["model"].pop("vocab"), "does not number"),
        (lambda body: body.update(pre_tokenizer={"type": "Digits"}), "split at spaces"),
        (lambda body: body.update(normalizer={"type": "Lowercase"}), "nothing else done"),
        (lambda body: body.pop("added_tokens"), None),
    ],
)
def test_a_damaged_vocabulary_is_refused(vocabulary, tmp_path, change, message):
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(damaged(vocabulary, change)))
    if message is None:  # special tokens are in the vocabulary, too
        assert load_subwords(path).names() == vocabulary.names()
        return
    with pytest.raises(UserError, match=message) as found:
        load_subwords(path)
    assert str(path) in str(found.value)
    assert "\n" not in str(found.value)


def test_other_numbers_of_special_tokens_are_refused(vocabulary, tmp_path):
    text = vocabulary.to_text().replace("<s>", "<begin>")
    (tmp_path / "tokenizer.json").write_text(text)
    with pytest.raises(UserError, match="token 1 must be <s>"):
        load_subwords(tmp_path / "tokenizer.json")


def test_a_cut_file_is_refused(vocabulary, tmp_path):
    (tmp_path / "tokenizer.json").write_text(vocabulary.to_text()[:-9])
    with pytest.raises(DamagedError, match="not valid JSON"):
        load_subwords(tmp_path / "tokenizer.json")


def test_captions_without_frequent_words_are_refused():
    with pytest.raises(UserError, match=r"no word occurs 3 times.*tokenizer\.min_count"):
        WordTokenizer.learn(["a dog", "two cats"], WordTokenizerConfig())


def test_words_cannot_be_added_later(vocabulary):
    with pytest.raises(UserError, match="cannot be extended"):
        vocabulary.extended(["a bird"], 1)
