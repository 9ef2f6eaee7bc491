import os
from pathlib import Path

import numpy as np
import pytest

from landmark.core.configuration import Provenance, build
from landmark.core.errors import UserError
from landmark.data.running_text import document
from landmark.data.running_text.character import load_tokenizer
from landmark.data.running_text.document import (
    TextConfig,
    TextTokenizerConfig,
    data_digest,
    prepare_text,
)
from landmark.data.shards import TokenStore

CHARACTERS, SUBWORDS = TextTokenizerConfig(), TextTokenizerConfig(kind="subwords", vocab_size=300)
VERSES = "".join(f"line {n} of the text\n   and {n * n} more,\n\nFür dich!\n" for n in range(40))


@pytest.fixture
def prepare(tmp_path):
    """Prepare files of a user's own; the two parts of the text as training will see them."""

    def call(*texts, tokenizer=CHARACTERS, chunk=4, said=None, **settings):
        paths = []
        for number, content in enumerate(texts):
            paths.append(tmp_path / f"{number}.txt")
            paths[-1].write_bytes(content.encode() if isinstance(content, str) else content)
        names = tuple(str(path) for path in paths)
        config = TextConfig(corpus="files", text=names, **settings)
        report = said.append if said is not None else lambda record: None
        size = prepare_text(config, tokenizer, tmp_path / "run", chunk, report)
        assert size == len(load_tokenizer(tmp_path / "run/tokenizer.json"))
        return tuple(stored(tmp_path / "run", split) for split in ("train", "valid"))

    return call


def stored(folder: Path, split: str) -> str:
    """The text that a run's token store holds."""
    tokenizer, store = (
        load_tokenizer(folder / "tokenizer.json"),
        TokenStore(folder / "data" / split),
    )
    tokens = np.concatenate([store["text", number] for number in range(len(store))])
    return tokenizer.decode([tokens.tolist()])[0]


@pytest.mark.parametrize("tokenizer", [CHARACTERS, SUBWORDS], ids=["characters", "subwords"])
@pytest.mark.parametrize("share", [0.1, 0.25])
def test_the_last_part_of_the_text_is_held_out_and_nothing_is_lost(prepare, tokenizer, share):
    train, valid = prepare(VERSES, tokenizer=tokenizer, validation=share)
    assert train + valid == VERSES
    assert len(train) == int(len(VERSES) * (1 - share))


def test_several_files_are_one_text(prepare):
    said = []
    train, valid = prepare("first\n", "second\n", "third and last\n", said=said)
    assert train + valid == "first\nsecond\nthird and last\n"
    (record,) = said
    assert record == {
        "kind": "data",
        "unit": "characters",
        "tokens": len(train),
        "valid_tokens": len(valid),
        "vocabulary": 15,
        "summary": "25 characters to train on, 3 to validate, 15 different ones",
    }


def test_own_validation_text_leaves_all_of_the_text_for_training(prepare, tmp_path):
    (tmp_path / "valid.txt").write_text("tell\n")
    train, valid = prepare("let it all\n", valid_text=(str(tmp_path / "valid.txt"),))
    assert (train, valid) == ("let it all\n", "tell\n")


@pytest.mark.parametrize("tokenizer", [CHARACTERS, SUBWORDS], ids=["characters", "subwords"])
def test_a_text_in_pieces_has_the_tokens_of_the_whole(prepare, monkeypatch, tmp_path, tokenizer):
    def tokens():
        store = TokenStore(tmp_path / "run/data/train")
        return len(store), np.concatenate([store["text", n] for n in range(len(store))]).tolist()

    prepare(VERSES, tokenizer=tokenizer)
    whole = tokens()
    if tokenizer is SUBWORDS:  # the pieces that merges are learnt from are not what is tested here
        tokenizer = TextTokenizerConfig(file=str(tmp_path / "kept.json"))
        (tmp_path / "run/tokenizer.json").rename(tmp_path / "kept.json")
    monkeypatch.setattr(document, "_PIECE", 50)
    prepare(VERSES, tokenizer=tokenizer)
    pieces = tokens()
    assert (whole[0], pieces[1]) == (1, whole[1])
    assert pieces[0] > 10


def test_the_vocabulary_holds_the_held_out_characters_too(prepare):
    train, valid = prepare("aaaaaaaaaaaaaaaaaaab")
    assert "b" in valid
    assert "b" not in train


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"", r"0\.txt: is empty: give some text"),
        (b"good\nb\xffd\n", r"0\.txt:2: not valid UTF-8 \(byte 2 of the line\): convert the file"),
        (b"\x1f\x8b broken", r"0\.txt: damaged gzip file"),
        (b"abcd", r"0\.txt: the text is too short: 3 tokens to train on, but one chunk takes 5"),
        (b"abcdefgh", r"0\.txt: the text is too short: 1 tokens to validate on"),
    ],
)
def test_a_text_that_will_not_do_is_named_with_what_to_do(prepare, text, said):
    with pytest.raises(UserError, match=said):
        prepare(text)


def test_an_empty_file_among_others_is_named(prepare):
    with pytest.raises(UserError, match=r"1\.txt: is empty"):
        prepare("some text\n", "", "more text\n")


def test_an_unseen_character_of_own_validation_text_is_named_with_file_and_line(prepare, tmp_path):
    valid = tmp_path / "valid.txt"
    valid.write_text("tell\nit\ntélé\n", encoding="utf-8")
    with pytest.raises(UserError) as caught:
        prepare("tell it all\n", valid_text=(str(valid),))
    assert str(caught.value).startswith(f"{valid}:3: 'é' (U+00E9) was never seen in training")
    train, _ = prepare("tell it all\n" * 5, valid_text=(str(valid),), tokenizer=SUBWORDS)
    assert train == "tell it all\n" * 5


def test_lines_are_counted_within_each_file_and_each_piece(prepare, tmp_path, monkeypatch):
    monkeypatch.setattr(document, "_PIECE", 10)
    valid = [tmp_path / "v0.txt", tmp_path / "v1.txt"]
    valid[0].write_text("t\n" * 30)
    valid[1].write_text("tell\n" * 30 + "till Z\n")
    with pytest.raises(UserError, match=r"v1\.txt:31: 'Z' "):
        prepare("tell it all\n", valid_text=tuple(map(str, valid)))


def test_no_text_at_all_is_refused(tmp_path):
    with pytest.raises(UserError, match="no text to train on: give --text"):
        prepare_text(TextConfig(corpus="files"), CHARACTERS, tmp_path, 4, print)


def test_files_without_their_corpus_are_refused():
    with pytest.raises(UserError, match=r"data\.corpus is 'shakespeare': set data\.corpus=files"):
        build(TextConfig, {"text": ["x"]}, Provenance("test"))


def test_one_word_is_trained_and_validated_on(tmp_path):
    prepare_text(TextConfig(corpus="hello"), CHARACTERS, tmp_path, 4, lambda record: None)
    assert stored(tmp_path, "train") == stored(tmp_path, "valid") == "hello"
    assert load_tokenizer(tmp_path / "tokenizer.json").characters == ("h", "e", "l", "o")


def test_the_digest_follows_the_content_and_what_it_is_for(tmp_path):
    one, two = tmp_path / "one.txt", tmp_path / "two.txt"
    one.write_text("one")
    two.write_text("two")

    def digest(text, valid=()):
        files = {"text": tuple(map(str, text)), "valid_text": tuple(map(str, valid))}
        return data_digest(TextConfig(corpus="files", **files))

    digests = [
        digest([one]), digest([two]), digest([one, two]), digest([two, one]), digest([one], [two]),
        data_digest(TextConfig()), data_digest(TextConfig(corpus="hello")),
    ]  # fmt: skip
    assert len(set(digests)) == len(digests)
    before = digest([one])
    one.rename(tmp_path / "moved.txt")
    assert digest([tmp_path / "moved.txt"]) == before
    with pytest.raises(UserError, match=r"one\.txt: cannot be read"):
        digest([one])


@pytest.mark.skipif(
    not (Path(os.environ.get("LANDMARK_DATA", "")) / "tinyshakespeare").is_dir(),
    reason="set LANDMARK_DATA to a folder with tinyshakespeare",
)
def test_shakespeare_is_the_original_and_is_cut_where_others_cut_it(tmp_path):
    size = prepare_text(TextConfig(), CHARACTERS, tmp_path, 64, lambda record: None)
    train, valid = (stored(tmp_path, split) for split in ("train", "valid"))
    assert (size, len(train), len(valid)) == (65, 1_003_854, 111_540)
    assert train.startswith("First Citizen:\nBefore we proceed any further, hear me speak.")
    assert valid.endswith("Whiles thou art waking.\n")
