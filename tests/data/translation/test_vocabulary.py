"""Vocabularies of translators: shared or one for each side, ours or SentencePiece's."""

import io
import json

import pytest
import sentencepiece

from landmark.core.errors import UserError
from landmark.data.embedded import corpus
from landmark.data.foreign.sentencepiece import SentencePieceTokenizer
from landmark.data.tokenizer import SubwordTokenizer, TokenizerConfig
from landmark.data.translation.vocabulary import (
    SeparateTokenizer,
    load_subwords,
    read_subwords,
    train_subwords,
)

PAIRS = [(pair.source, pair.target) for pair in corpus.draw("train", 600, 1)]
ENGLISH, GERMAN = ([pair[side] for pair in PAIRS] for side in (0, 1))
DIFFICULT = [
    "Ein Käse für 7 €!",
    "日本語 text",
    ">>de<< is no tag",
    "</s> <s> ▁",
    "  two  spaces ",
    "",
]


def config(**changes) -> TokenizerConfig:
    return TokenizerConfig(**{"vocab_size": 400, **changes})


@pytest.fixture(scope="module")
def model_file(tmp_path_factory):
    """A model as a user trains it: with the library's own numbers, and no padding."""
    model = io.BytesIO()
    lines = iter(ENGLISH + GERMAN)
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=lines,
        model_writer=model,
        vocab_size=300,
        minloglevel=2,
        character_coverage=1.0,
    )
    path = tmp_path_factory.mktemp("models") / "own.model"
    path.write_bytes(model.getvalue())
    return path


def test_a_users_model_gives_the_ids_of_the_library(model_file, tmp_path):
    library = sentencepiece.SentencePieceProcessor(model_file=str(model_file))
    tokenizer = read_subwords(config(file=str(model_file)))
    texts = GERMAN[:50] + DIFFICULT
    assert tokenizer.encode(texts) == tokenizer.encode_targets(texts) == library.encode(texts)
    assert tokenizer.decode(library.encode(GERMAN[:50])) == GERMAN[:50]
    ids = (library.bos_id(), library.eos_id(), library.unk_id())
    assert (tokenizer.begin, tokenizer.end, tokenizer.unknown) == ids == (1, 2, 0)
    assert tokenizer.names()[:300] == [library.id_to_piece(number) for number in range(300)]
    assert tokenizer.names()[300:] == ["<pad>"]  # what it lacks comes last
    tokenizer.save(tmp_path / "tokenizer.json")
    again = load_subwords(tmp_path / "tokenizer.json")
    assert again.encode(texts) == library.encode(texts)
    assert again.to_text() == tokenizer.to_text()


def test_a_trained_model_gives_the_ids_of_the_library_and_loses_no_sign():
    tokenizer = train_subwords(ENGLISH, GERMAN, config(kind="sentencepiece"), ["de", "fr"])
    assert isinstance(tokenizer, SentencePieceTokenizer)
    library = sentencepiece.SentencePieceProcessor(model_proto=tokenizer.files["source"])
    texts = [text for text in GERMAN[:50] + DIFFICULT if ">>" not in text]
    assert tokenizer.encode(texts) == library.encode(texts)
    assert tokenizer.decode(tokenizer.encode(GERMAN[:50])) == GERMAN[:50]
    assert tokenizer.decode(tokenizer.encode(["日本語 Käse"])) == ["日本語 Käse"]  # by bytes
    ours = SubwordTokenizer.train(ENGLISH, config())
    assert (tokenizer.begin, tokenizer.end) == (ours.begin, ours.end)
    assert 300 < len(tokenizer) <= 400
    assert tokenizer.names()[tokenizer.tag("fr")] == ">>fr<<"
    assert tokenizer.tag("fr") not in {id for row in tokenizer.encode(GERMAN) for id in row}


@pytest.mark.parametrize("kind", ["bpe", "sentencepiece"])
def test_separate_vocabularies_are_what_each_side_alone_gives(kind, tmp_path):
    train = SubwordTokenizer.train if kind == "bpe" else SentencePieceTokenizer.train
    english, german = train(ENGLISH, config(), ["de"]), train(GERMAN, config())
    made = train_subwords(ENGLISH, GERMAN, config(kind=kind, separate=True), ["de"])
    made.save(tmp_path / "tokenizer.json")
    for tokenizer in (made, load_subwords(tmp_path / "tokenizer.json")):
        assert tokenizer.encode(ENGLISH[:9]) == english.encode(ENGLISH[:9])
        assert tokenizer.encode_targets(GERMAN[:9]) == german.encode(GERMAN[:9])
        assert tokenizer.encode(GERMAN[:9]) != tokenizer.encode_targets(GERMAN[:9])
        assert tokenizer.decode(german.encode(GERMAN[:9])) == GERMAN[:9]
        assert tokenizer.source.decode(english.encode(ENGLISH[:9])) == ENGLISH[:9]
        assert (len(tokenizer.source), len(tokenizer)) == (len(english), len(german))
        assert tokenizer.tag("de") == english.tag("de")
        assert (tokenizer.begin, tokenizer.end) == (german.begin, german.end)


def test_a_shared_vocabulary_is_its_own_source_and_target():
    made = train_subwords(ENGLISH, GERMAN, config(), [])
    assert made.source is made
    assert made.target is made
    both = [line for pair in PAIRS for line in pair]
    assert made.to_text() == SubwordTokenizer.train(both, config()).to_text()


def test_two_files_make_separate_vocabularies(model_file, tmp_path):
    first = SentencePieceTokenizer.train(ENGLISH, config())
    first.save(tmp_path / "first.json")
    second = SubwordTokenizer.train(GERMAN, config())
    second.save(tmp_path / "second.json")
    files = {"file": str(tmp_path / "first.json"), "target_file": str(tmp_path / "second.json")}
    made = read_subwords(config(**files))
    assert made.encode(ENGLISH[:5]) == first.encode(ENGLISH[:5])
    assert made.encode_targets(GERMAN[:5]) == second.encode(GERMAN[:5])
    made.save(tmp_path / "both.json")
    again = read_subwords(config(file=str(tmp_path / "both.json"), separate=True))
    assert again.to_text() == made.to_text()
    with pytest.raises(UserError, match="is one vocabulary for both sides: give the target's own"):
        read_subwords(config(file=str(model_file), separate=True))


def test_two_that_end_differently_are_refused(model_file, tmp_path):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(GERMAN), model_writer=model, vocab_size=300, minloglevel=2,
        unk_id=2, eos_id=0,
    )  # fmt: skip
    other = tmp_path / "other.spm"
    other.write_bytes(model.getvalue())
    with pytest.raises(UserError, match="number </s> differently \\(2 and 0\\): train them alike"):
        read_subwords(config(file=str(model_file), target_file=str(other)))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\xff\xfe\x00no model", "is neither a tokenizer.json nor a SentencePiece model"),
        (b"{}", "not a tokenizer file"),
        (b'{"kind": "separate"}', "not a tokenizer file"),
        (b'{"kind": "separate", "source": {}, "target": []}', "not a tokenizer file"),
        (b'{"kind": "sentencepiece"}', "not a vocabulary of SentencePiece"),
    ],
)
def test_files_that_are_none_are_refused(tmp_path, content, said):
    path = tmp_path / "bad.json"
    path.write_bytes(content)
    with pytest.raises(UserError, match=f"bad.json: {said}"):
        load_subwords(path)


def test_too_few_pieces_for_the_bytes_are_one_line():
    with pytest.raises(UserError, match="SentencePiece cannot learn 261 pieces: ") as caught:
        train_subwords(ENGLISH, GERMAN, config(kind="sentencepiece", vocab_size=261), [])
    assert "\n" not in str(caught.value)


def test_separate_vocabularies_have_no_entries_in_common():
    made = train_subwords(ENGLISH, GERMAN, config(separate=True), [])
    assert isinstance(made, SeparateTokenizer)
    with pytest.raises(UserError, match="this needs one that both share"):
        _ = made.backend
    with pytest.raises(UserError, match="two vocabularies cannot be extended"):
        made.extended(ENGLISH, 3)
    assert json.loads(made.to_text())["kind"] == "separate"
