"""Documents of sentences from files to token shards, and texts that are refused."""

import gzip

import pytest

from landmark.core.errors import DamagedError, UserError
from landmark.data.running_text.passage import (
    SIDE,
    PassageConfig,
    data_digest,
    prepare_passages,
    read_documents,
)
from landmark.data.running_text.wordpiece import WordPieceConfig, WordPieceTokenizer
from landmark.data.shards import TokenStore

TEXT = "One house. Two houses!\nThree houses.\n\nAnother house? Yes.\n\n\nThe other house.\n"


@pytest.fixture
def prepared(tmp_path):
    """Prepare a text into run/; what was reported."""

    def call(text: str = TEXT, longest: int = 50, in_pairs: bool = False, **settings):
        (tmp_path / "text.txt").write_text(text)
        records = []
        config = PassageConfig(corpus="files", text=(str(tmp_path / "text.txt"),), **settings)
        prepare_passages(
            config, WordPieceConfig(vocab_size=100), tmp_path / "run", longest, in_pairs,
            records.append,
        )  # fmt: skip
        return tmp_path / "run", records[-1]

    return call


def sentences(run, split):
    tokenizer = WordPieceTokenizer.load(run / "tokenizer.json")
    store = TokenStore(run / "data" / split, verify=True)
    return tokenizer.decode([store[SIDE, number].tolist() for number in range(len(store))])


def test_lines_are_cut_into_sentences_and_blank_lines_end_documents(prepared):
    run, record = prepared()
    assert sentences(run, "train") == [
        "one house.", "two houses!", "three houses.", "", "another house?", "yes.", "",
    ]  # fmt: skip
    assert sentences(run, "valid") == ["the other house.", ""]
    assert record["documents"] == 2
    assert record["valid_documents"] == 1


def test_the_share_to_hold_out_is_of_the_last_documents(prepared):
    run, record = prepared("".join(f"house {n}.\n\n" for n in range(100, 200)), validation=0.25)
    assert (record["documents"], record["valid_documents"]) == (75, 25)
    assert sentences(run, "valid")[-2] == "house 199."


def test_files_to_validate_on_are_read_instead(prepared, tmp_path):
    (tmp_path / "valid.txt.gz").write_bytes(gzip.compress(b"another house"))
    run, record = prepared(valid_text=(str(tmp_path / "valid.txt.gz"),))
    assert record["documents"] == 3
    assert sentences(run, "valid") == ["another house", ""]


def test_a_long_sentence_is_several_and_nothing_is_lost(prepared):
    text = "house " * 25 + "\n\nhouse\n"
    run, _ = prepared(text, longest=10)
    store = TokenStore(run / "data/train")
    assert store.lengths[SIDE].tolist() == [8, 8, 9, 0]


def test_a_text_without_blank_lines_is_cut_so_that_a_part_can_be_held_out(tmp_path):
    (tmp_path / "text.txt").write_text("line\n" * 450)
    documents = list(read_documents([str(tmp_path / "text.txt")]))
    assert [len(document) for document in documents] == [200, 200, 50]


@pytest.mark.parametrize(
    ("text", "settings", "said"),
    [
        ("", {}, r"text\.txt: is empty: give some text"),
        ("\n \n", {}, r"text\.txt: is empty: give some text"),
        ("one\ntwo\n", {}, r"text\.txt: cannot hold out a document of only one: separate"),
        ("one\n\n\u0000\n", {}, "a NUL byte, which no text has"),
        ("one\n\ntwo\n", {"in_pairs": True}, "no two documents, one of them of two sentences"),
    ],
)
def test_a_text_that_is_too_little_is_refused(prepared, text, settings, said):
    with pytest.raises(UserError, match=said):
        prepared(text, **settings)


def test_files_go_with_their_corpus_and_a_corpus_of_files_needs_some(tmp_path):
    with pytest.raises(ValueError, match=r"set data\.corpus=files"):
        PassageConfig(text=("a.txt",))
    with pytest.raises(UserError, match=r"there is no text to train on: give --text"):
        prepare_passages(
            PassageConfig(corpus="files"), WordPieceConfig(), tmp_path, 50, False, print
        )
    with pytest.raises(UserError, match=r"missing\.txt: cannot be read"):
        data_digest(PassageConfig(corpus="files", text=("missing.txt",)))


def test_a_shard_cut_short_is_found_before_anything_is_read(prepared):
    run, _ = prepared()
    shard = run / "data/train/00000.sentence.tokens"
    shard.write_bytes(shard.read_bytes()[:-2])
    with pytest.raises(DamagedError, match=r"00000\.sentence\.tokens: \d+ bytes long, not \d+"):
        TokenStore(run / "data/train")


def test_another_text_has_another_digest(tmp_path):
    (tmp_path / "text.txt").write_text(TEXT)
    config = PassageConfig(corpus="files", text=(str(tmp_path / "text.txt"),))
    before = data_digest(config)
    (tmp_path / "text.txt").write_text(TEXT + "more")
    assert data_digest(config) != before
