"""Vocabularies as Hugging Face saves them cut a page of difficult Unicode as theirs do."""

import json

import pytest
import transformers
from tokenizers import Tokenizer

from landmark.core.errors import DamagedError, UserError
from landmark.data.running_text.character import ForeignSubwords, load_tokenizer
from landmark.data.running_text.wordpiece import WordPieceTokenizer
from landmark.data.tokenizer import SubwordTokenizer, TokenizerConfig
from landmark.data.translation.vocabulary import load_subwords
from landmark.interop.huggingface.export import write_translation_tokenizer
from landmark.interop.huggingface.tokenizer import (
    read_marian_tokenizer,
    read_roles,
    read_tokenizer,
    read_translation_tokenizer,
)
from tests.interop.huggingface.foreign import (
    DIFFICULT,
    END_OF_TEXT,
    LINES,
    bert_tokenizer,
    byte_level,
    first_gpt,
    marian_folder,
    marian_vocabulary,
    save_pair_files,
    wordpiece,
)

ROBERTA = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]


def theirs(tokenizer):
    """What a tokenizer of theirs makes of the page, without special tokens put around it."""
    return [tokenizer(text, add_special_tokens=False)["input_ids"] for text in DIFFICULT]


def test_gpt2_from_vocab_and_merges(tmp_path):
    save_pair_files(byte_level([END_OF_TEXT]), tmp_path)
    backend, roles = read_tokenizer(tmp_path, "gpt2")
    ours = ForeignSubwords(backend, roles)
    assert ours.encode(DIFFICULT) == theirs(transformers.GPT2Tokenizer.from_pretrained(tmp_path))
    assert ours.decode(ours.encode(DIFFICULT)) == DIFFICULT
    assert ours.end == 0


def test_gpt2_from_a_whole_file_and_through_a_file_of_ours(tmp_path):
    saved = transformers.PreTrainedTokenizerFast(
        tokenizer_object=byte_level(["<start>", "<stop>"]), bos_token="<start>", eos_token="<stop>"
    )
    saved.save_pretrained(tmp_path)
    backend, roles = read_tokenizer(tmp_path, "gpt2")
    assert roles == {"begin": "<start>", "end": "<stop>"}
    ForeignSubwords(backend, roles).save(tmp_path / "ours.json")
    ours = load_tokenizer(tmp_path / "ours.json")
    assert isinstance(ours, ForeignSubwords)
    assert ours.encode(DIFFICULT) == theirs(saved)
    assert (ours.end, len(ours)) == (1, len(saved))


def test_a_special_token_in_a_text_is_text(tmp_path):
    save_pair_files(byte_level([END_OF_TEXT]), tmp_path)
    ours = ForeignSubwords(*read_tokenizer(tmp_path, "gpt2"))
    (numbers,) = ours.encode([END_OF_TEXT])
    assert 0 not in numbers
    assert ours.decode([numbers]) == [END_OF_TEXT]


def test_the_first_gpt_from_vocab_and_merges(tmp_path):
    save_pair_files(first_gpt(), tmp_path)
    backend, roles = read_tokenizer(tmp_path, "openai-gpt")
    ours = ForeignSubwords(backend, roles)
    expected = theirs(transformers.OpenAIGPTTokenizer.from_pretrained(tmp_path))
    assert ours.encode(DIFFICULT) == expected
    assert (ours.end, roles) == (None, {"unknown": "<unk>"})


def test_roberta_from_vocab_and_merges(tmp_path):
    save_pair_files(byte_level(ROBERTA), tmp_path)
    backend, roles = read_tokenizer(tmp_path, "roberta")
    encoded = [backend.encode(text, add_special_tokens=False).ids for text in DIFFICULT]
    assert encoded == theirs(transformers.RobertaTokenizer.from_pretrained(tmp_path))
    assert roles["mask"] == "<mask>"


@pytest.mark.parametrize("lowercase", [True, False])
def test_bert_from_a_vocabulary(lowercase, tmp_path):
    backend = wordpiece(lowercase)
    entries = sorted(backend.get_vocab(), key=backend.get_vocab().__getitem__)
    (tmp_path / "vocab.txt").write_text("\n".join(entries) + "\n", encoding="utf-8")
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"do_lower_case": lowercase}))
    ours = WordPieceTokenizer(read_tokenizer(tmp_path, "bert")[0])
    expected = theirs(transformers.BertTokenizer.from_pretrained(tmp_path))
    assert ours.encode(DIFFICULT) == expected
    assert (ours.padding, ours.begin, ours.separator, ours.mask) == (0, 2, 3, 4)


@pytest.mark.parametrize("lowercase", [True, False])
def test_bert_from_a_whole_file(lowercase, tmp_path):
    saved = bert_tokenizer(wordpiece(lowercase))
    saved.save_pretrained(tmp_path)
    backend, roles = read_tokenizer(tmp_path, "distilbert")
    assert WordPieceTokenizer(backend).encode(DIFFICULT) == theirs(saved)
    assert roles["mask"] == "[MASK]"


def test_marian_in_both_languages_and_back(tmp_path):
    folder = marian_folder(tmp_path / "marian")
    ours = read_marian_tokenizer(folder)
    saved = transformers.MarianTokenizer.from_pretrained(folder)
    assert ours.encode(DIFFICULT) == theirs(saved)
    targets = [saved(text_target=text, add_special_tokens=False)["input_ids"] for text in DIFFICULT]
    assert ours.encode_targets(DIFFICULT) == targets
    assert targets != theirs(saved)
    decoded = [saved.decode(row, skip_special_tokens=True) for row in targets]
    assert ours.decode(targets) == decoded
    ours.save(tmp_path / "tokenizer.json")
    again = load_subwords(tmp_path / "tokenizer.json")
    assert again.encode(DIFFICULT) == theirs(saved)
    assert (again.begin, again.end, len(again)) == (len(again) - 1, 0, len(saved))
    assert again.tag("fra") == len(again) - 2


def test_a_saved_truncation_is_not_ours(tmp_path):
    backend = byte_level([END_OF_TEXT])
    backend.enable_truncation(3)
    backend.enable_padding(length=5)
    backend.save(str(tmp_path / "tokenizer.json"))
    (numbers,) = ForeignSubwords(*read_tokenizer(tmp_path, "gpt2")).encode(["one two three four"])
    assert len(numbers) > 5
    assert 0 not in numbers


def test_tokens_added_later_have_their_numbers(tmp_path):
    backend = byte_level([END_OF_TEXT])
    save_pair_files(backend, tmp_path)
    size = backend.get_vocab_size()
    (tmp_path / "added_tokens.json").write_text(json.dumps({"<b>": size + 1, "<a>": size}))
    read, _ = read_tokenizer(tmp_path, "gpt2")
    assert (read.token_to_id("<a>"), read.token_to_id("<b>")) == (size, size + 1)
    (tmp_path / "added_tokens.json").write_text(json.dumps({"<a>": size + 7}))
    with pytest.raises(UserError, match=r"added_tokens\.json numbers '<a>'"):
        read_tokenizer(tmp_path, "gpt2")


def test_roles_are_read_in_either_notation(tmp_path):
    (tmp_path / "special_tokens_map.json").write_text(
        json.dumps({"eos_token": {"content": "<end>"}, "pad_token": "<fill>"})
    )
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"pad_token": "<room>"}))
    roles = read_roles(tmp_path, "gpt2")
    assert (roles["end"], roles["padding"], roles["begin"]) == ("<end>", "<room>", END_OF_TEXT)


def test_faults_are_answered_in_one_line(tmp_path):
    with pytest.raises(UserError, match=r"neither tokenizer\.json nor vocab\.json and merges\.txt"):
        read_tokenizer(tmp_path, "gpt2")
    with pytest.raises(UserError, match=r"neither tokenizer\.json nor vocab\.txt"):
        read_tokenizer(tmp_path, "bert")
    (tmp_path / "vocab.txt").write_text("a\nb\na\n")
    with pytest.raises(DamagedError, match="an entry is there twice"):
        read_tokenizer(tmp_path, "bert")
    (tmp_path / "vocab.json").write_text('{"a": 0, "b": 1}')
    (tmp_path / "merges.txt").write_text("#version: 0.2\na b\n")
    with pytest.raises(UserError, match=r"vocab\.json and merges\.txt do not fit"):
        read_tokenizer(tmp_path, "gpt2")
    (tmp_path / "merges.txt").write_text("#version: 0.2\na b c\n")
    with pytest.raises(DamagedError, match=r"merges\.txt:2: a merge is of two: 'a b c'"):
        read_tokenizer(tmp_path, "gpt2")
    body = json.loads(byte_level([END_OF_TEXT]).to_str())
    left, right = body["model"]["merges"][0]
    del body["model"]["vocab"][left + right]
    (tmp_path / "tokenizer.json").write_text(json.dumps(body))
    with pytest.raises(DamagedError, match="is not a merge of its vocabulary"):
        read_tokenizer(tmp_path, "gpt2")
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(DamagedError, match=r"tokenizer\.json: not a tokenizer file"):
        read_tokenizer(tmp_path, "gpt2")


def test_a_special_token_that_is_named_but_not_there_is_refused(tmp_path):
    byte_level([END_OF_TEXT]).save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"eos_token": "<gone>"}))
    with pytest.raises(UserError, match="the vocabulary has no '<gone>', its eos_token"):
        read_tokenizer(tmp_path, "gpt2")


def test_a_damaged_file_of_ours_is_refused(tmp_path):
    path = tmp_path / "tokenizer.json"
    ForeignSubwords(byte_level([END_OF_TEXT]), {"end": END_OF_TEXT}).save(path)
    body = json.loads(path.read_text())
    path.write_text(json.dumps({**body, "roles": {"end": "<gone>"}}))
    with pytest.raises(UserError, match="its special tokens are not in it"):
        load_tokenizer(path)
    path.write_text(json.dumps({**body, "tokenizer": {}}))
    with pytest.raises(UserError, match="not a tokenizer file"):
        load_tokenizer(path)
    path.write_text(json.dumps({"kind": "sentencepiece", "source": "!"}))
    with pytest.raises(UserError, match="not a vocabulary of SentencePiece"):
        load_subwords(path)


def test_faults_of_marian_are_answered_in_one_line(tmp_path):
    vocabulary = marian_vocabulary(tmp_path)
    (tmp_path / "tokenizer_config.json").write_text('{"separate_vocabs": true}')
    with pytest.raises(UserError, match="a vocabulary for each language"):
        read_marian_tokenizer(tmp_path)
    (tmp_path / "tokenizer_config.json").unlink()
    for change, said in (({"<pad>": 900}, "not numbered from 0"), ({"<pad>": None}, "no '<pad>'")):
        changed = {k: v for k, v in (vocabulary | change).items() if v is not None}
        (tmp_path / "vocab.json").write_text(json.dumps(changed))
        with pytest.raises(UserError, match=said):
            read_marian_tokenizer(tmp_path)
    (tmp_path / "vocab.json").write_text(json.dumps(vocabulary))
    (tmp_path / "target.spm").write_bytes(b"nothing of the kind")
    with pytest.raises(DamagedError, match=r"source\.spm or target\.spm is damaged"):
        read_marian_tokenizer(tmp_path)
    (tmp_path / "target.spm").unlink()
    with pytest.raises(UserError, match=r"has no target\.spm"):
        read_marian_tokenizer(tmp_path)


def test_a_vocabulary_of_sentencepiece_says_what_it_cannot_do(tmp_path, monkeypatch):
    marian_vocabulary(tmp_path)
    ours = read_marian_tokenizer(tmp_path)
    for ask, said in (
        (ours.merges, "has no merges"),
        (lambda: ours.extended([], 1), "cannot be extended"),
        (lambda: ours.tag("xyz"), "no tag for the language 'xyz'"),
        (lambda: ours.backend, "does not tell where"),
    ):
        with pytest.raises(UserError, match=said):
            ask()
    monkeypatch.setitem(__import__("sys").modules, "sentencepiece", None)
    with pytest.raises(UserError, match=r"pip install 'landmark\[hf\]'"):
        read_marian_tokenizer(tmp_path)


def test_the_page_is_as_difficult_as_it_says():
    tokens = Tokenizer.from_str(byte_level([END_OF_TEXT]).to_str())
    assert max(len(tokens.encode(text).ids) for text in DIFFICULT) > 50
    assert sum(ord(character) > 127 for text in DIFFICULT for character in text) > 100


def test_an_exported_vocabulary_of_a_translator_is_ours_again(tmp_path):
    ours = SubwordTokenizer.train(LINES, TokenizerConfig(vocab_size=300))
    write_translation_tokenizer(tmp_path, ours, 64, ("en", "de"))
    for kind in ("marian", "pegasus"):
        again = read_translation_tokenizer(tmp_path, kind)
        assert again.to_text() == ours.to_text()


def test_a_vocabulary_that_is_neither_marians_nor_ours_is_refused(tmp_path):
    with pytest.raises(UserError, match="Pegasus' own vocabulary is not supported"):
        read_translation_tokenizer(tmp_path, "pegasus")
    with pytest.raises(UserError, match=r"has no source\.spm"):
        read_translation_tokenizer(tmp_path, "marian")
    byte_level(["<pad>", "</s>"]).save(str(tmp_path / "tokenizer.json"))
    with pytest.raises(UserError, match="token 1 must be <s>; was it made by landmark"):
        read_translation_tokenizer(tmp_path, "pegasus")
    byte_level(["<pad>", "<s>", "</s>", "<unk>"]).save(str(tmp_path / "tokenizer.json"))
    with pytest.raises(UserError, match="puts no space before a text; was it made by landmark"):
        read_translation_tokenizer(tmp_path, "pegasus")
