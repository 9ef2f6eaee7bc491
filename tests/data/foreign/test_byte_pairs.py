import json

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import GPT2Tokenizer

from landmark.core.errors import UserError
from landmark.data.foreign.byte_pairs import END_OF_TEXT, load_gpt2_vocabulary

TEXTS = ['He said: "Don\'t!"  Twice.', "naïve café, 日本語 🙂", "\n\ttabs 123 and more  "]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A small vocabulary in GPT-2's two files."""
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=300,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        special_tokens=[END_OF_TEXT],
        show_progress=False,
    )
    backend.train_from_iterator(TEXTS * 3 + ["he said that he did"] * 9, trainer)
    folder = tmp_path_factory.mktemp("gpt2")
    backend.model.save(str(folder))
    return folder


def test_text_is_cut_as_by_gpt2s_own_tokenizer_and_comes_back(folder, tmp_path):
    theirs = GPT2Tokenizer(vocab=str(folder / "vocab.json"), merges=str(folder / "merges.txt"))
    ours = load_gpt2_vocabulary(folder / "vocab.json")
    for text in TEXTS:
        assert ours.encode([text])[0] == theirs.encode(text)
    assert ours.decode(ours.encode(TEXTS)) == TEXTS
    assert ours.end == theirs.eos_token_id


def changed(folder, tmp_path, name, text):
    for file in ("vocab.json", "merges.txt"):
        (tmp_path / file).write_text((folder / file).read_text())
    (tmp_path / name).write_text(text)
    return tmp_path / "vocab.json"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("merges.txt", "#version: 0.2\nh e\nh e y\n", r"merges.txt:3: a merge is of two: 'h e y'"),
        ("merges.txt", "q qq\n", "vocab.json and merges.txt do not fit: 'q qq'"),
        ("vocab.json", "{", "vocab.json: damaged: it is not valid JSON"),
        ("vocab.json", "[1]", "vocab.json: damaged: it holds no object"),
        ("vocab.json", '{"a": 0}', "do not fit"),
    ],
)
def test_files_that_do_not_fit_are_named(folder, tmp_path, name, text, said):
    with pytest.raises(UserError, match=said):
        load_gpt2_vocabulary(changed(folder, tmp_path, name, text))


def test_a_vocabulary_without_an_end_of_text_is_not_gpt2s(folder, tmp_path):
    vocabulary = json.loads((folder / "vocab.json").read_text())
    vocabulary["<end>"] = vocabulary.pop(END_OF_TEXT)
    path = changed(folder, tmp_path, "vocab.json", json.dumps(vocabulary))
    with pytest.raises(UserError, match=r"is not GPT-2.s: it has no <.endoftext.>"):
        load_gpt2_vocabulary(path)


def test_a_missing_merges_file_is_named(folder, tmp_path):
    (tmp_path / "vocab.json").write_text((folder / "vocab.json").read_text())
    with pytest.raises(UserError, match=r"merges\.txt: cannot be read: No such file"):
        load_gpt2_vocabulary(tmp_path / "vocab.json")
