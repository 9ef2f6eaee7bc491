import pytest
import torch

from landmark.core.errors import UserError
from landmark.figures.text_reader import open_reader


@pytest.fixture(scope="module")
def readers(pretrained_runs):
    return {name: open_reader(run, device="cpu") for name, run in pretrained_runs.items()}


def test_a_gpt_reads_the_text_alone_and_its_pieces_are_the_text(readers):
    reader = readers["gpt"]
    text = "the old man ☂ reads"
    reading = reader.read(text)
    assert reader.architecture == "gpt"
    assert "".join(reading.pieces) == text
    assert [text[a:b] for a, b in reading.spans] == list(reading.pieces)
    assert reading.opening == 0
    assert reading.tokens.tolist() == reader.tokenizer.encode([text])[0]


def test_a_recurrent_model_reads_the_end_of_a_line_before(readers):
    reading = readers["lstm"].read("old")
    assert reading.pieces == ("\n", "o", "l", "d")
    assert (reading.opening, reading.spans[0]) == (1, None)


def test_a_bert_reads_special_tokens_around_and_inside(readers):
    reader = readers["bert"]
    text = "The [MASK] man [SEP] reads it"
    reading = reader.read(text)
    assert (reading.pieces[0], reading.pieces[-1]) == ("[CLS]", "[SEP]")
    assert reading.pieces[2] == "[MASK]"
    for piece, span in zip(reading.pieces, reading.spans, strict=True):
        if span is None:
            assert piece in ("[CLS]", "[SEP]", "[MASK]")
        else:
            assert text[slice(*span)].lower() == piece.removeprefix("##")
    middle = reading.pieces.index("[SEP]")
    segments = [0] * (middle + 1) + [1] * (len(reading.pieces) - middle - 1)
    assert reading.segments.tolist() == segments
    assert reading.tokens.tolist()[1:-1] == reader.tokenizer.encode_marked(text)
    with pytest.raises(UserError, match=r"\[NO\]: is not a special token"):
        reader.read("a [NO] b")


def test_the_table_is_the_embedding_and_special_entries_are_not_ordinary(readers):
    for reader in readers.values():
        assert reader.table.shape[0] == len(reader.tokenizer)
        assert torch.equal(reader.table, reader.network.embedding.weight)
        names = [reader.entry(number) for number in reader.ordinary]
        assert not {"[CLS]", "[MASK]", "</s>", "<s>"} & set(names)
        assert 0 < len(names) <= len(reader.tokenizer)


def test_a_word_is_found_as_it_stands_within_a_text(readers):
    assert "".join(readers["gpt"].entry(n) for n in readers["gpt"].find("man")) == " man"
    assert [readers["bert"].entry(n) for n in readers["bert"].find("Man")] == ["man"]
    assert [readers["lstm"].entry(n) for n in readers["lstm"].find("man")] == ["m", "a", "n"]


def test_texts_that_cannot_be_read_are_refused(readers, tiny_run):
    with pytest.raises(UserError, match="the text is empty"):
        readers["gpt"].read("")
    with pytest.raises(UserError, match="not valid UTF-8"):
        readers["bert"].read("a\udcff")
    with pytest.raises(UserError, match="but the model's context is 40: give a shorter one"):
        readers["gpt"].read("xyz " * 40)
    with pytest.raises(UserError, match="the text, character 3: 'X'"):
        readers["lstm"].read("olX")
    with pytest.raises(UserError, match="no pieces for it"):
        readers["bert"].find("☂")
    with pytest.raises(UserError, match="is not a word"):
        readers["gpt"].find(" ")
    with pytest.raises(UserError, match="is a run of task 'translation', not"):
        open_reader(tiny_run)
