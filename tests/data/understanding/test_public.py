import zipfile
from dataclasses import replace

import pytest

from landmark.core.errors import UserError
from landmark.data.download import PublicFile, PublicSet
from landmark.data.public_text import PUBLIC_SETS
from landmark.data.understanding import public
from landmark.data.understanding.public import (
    GLUE_DEV,
    contained_phrases,
    describe_split,
    leakage,
    public_splits,
    read_split,
    splits_to_score,
    training_texts,
)

SENTENCES = [f"film number {n} is {'good' if n % 2 else 'bad'} ." for n in range(40)]
PHRASES = [f"number {n}" for n in range(40)] + ["good", "is bad", "never seen"]


@pytest.fixture
def sets(tmp_path, monkeypatch):
    """All three sets in small, under LANDMARK_DATA."""
    monkeypatch.setenv("LANDMARK_DATA", str(tmp_path))
    public._read.cache_clear()
    files = {
        "sst2": {
            "train.tsv": "sentence\tlabel\n"
            + "".join(f"{text} \t{n % 2}\n" for n, text in enumerate(SENTENCES + PHRASES)),
            "dev.tsv": "sentence\tlabel\nfilm number 3 \t1\nnot known \t0\n",
        },
        "cola": {
            "in_domain_train.tsv": "".join(f"x\t{n % 2}\t*\tSentence {n}.\n" for n in range(50)),
            "in_domain_dev.tsv": "x\t1\t\tDev.\n",
        },
        "mrpc": {
            "msr_paraphrase_train.txt": "\ufeffQuality\ta\tb\tc\td\n"
            + "".join(f'{n % 2}\t1\t2\tOne "{n}.\tTwo {n}.\n' for n in range(20)),
            "msr_paraphrase_test.txt": "\ufeffQuality\ta\tb\tc\td\n1\t1\t2\tA.\tB.\n",
        },
    }
    for name, texts in files.items():
        (tmp_path / name).mkdir()
        for file, text in texts.items():
            (tmp_path / name / file).write_text(text, encoding="utf-8")
        entry = PublicSet(name, "", "", tuple(PublicFile(file, "", None) for file in texts))
        monkeypatch.setitem(PUBLIC_SETS._entries, name, entry)
    yield tmp_path
    public._read.cache_clear()


@pytest.fixture
def any_archive(monkeypatch):
    """An archive of a test may stand for GLUE's."""
    (file,) = PUBLIC_SETS["glue-sst2"].files
    entry = replace(PUBLIC_SETS["glue-sst2"], files=(replace(file, sha256=None),))
    monkeypatch.setitem(PUBLIC_SETS._entries, "glue-sst2", entry)


@pytest.fixture
def glue(sets, any_archive):
    """GLUE's archive of SST-2 under LANDMARK_DATA."""
    (sets / "glue-sst2").mkdir()
    with zipfile.ZipFile(sets / "glue-sst2" / "SST-2.zip", "w") as archive:
        archive.writestr("SST-2/train.tsv", "sentence\tlabel\nfilm number 3 \t1\n")
        archive.writestr("SST-2/dev.tsv", "sentence\tlabel\na whole  sentence . \t1\nbad .\t0\n")


def texts(split, name="sst2"):
    return [example.texts[0] for example in read_split(name, split, print)]


def test_whole_sentences_are_held_out_with_every_phrase_inside_them(sets):
    held_out = texts("test") + texts("valid")
    assert held_out
    assert set(held_out) <= {*SENTENCES, "never seen"}  # what no other text contains
    assert len(held_out) == len(set(held_out)) == 20  # half of what there is, at the most
    train = texts("train")
    for phrase in SENTENCES + PHRASES:
        inside = any(f" {phrase} " in f" {sentence} " for sentence in held_out)
        assert (phrase in train) == (not inside), phrase
    assert leakage(held_out, train) == 0


def test_dev_is_as_given_and_its_leakage_is_known(sets):
    assert texts("dev") == ["film number 3", "not known"]
    assert leakage(texts("dev"), SENTENCES) == 0.5
    assert leakage(["a b", "b  c", "a", "ab"], ["x a b c"]) == 0.75


def test_glue_dev_is_read_out_of_glues_archive(glue):
    assert texts(GLUE_DEV) == ["a whole sentence .", "bad ."]
    assert [example.label for example in read_split("sst2", GLUE_DEV, print)] == ["1", "0"]
    assert splits_to_score("sst2") == ["test", GLUE_DEV, "dev"]


def test_a_local_folder_without_glue_dev_is_scored_without_it(sets):
    assert splits_to_score("sst2") == ["test", "dev"]
    assert "not GLUE's development set" in describe_split("sst2", "dev")


def test_without_a_local_folder_glue_dev_is_downloaded(sets, any_archive, monkeypatch, tmp_path):
    monkeypatch.delenv("LANDMARK_DATA")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert GLUE_DEV in splits_to_score("sst2")
    asked = []

    def copy(file, partial, report):
        asked.append(file.url)
        with zipfile.ZipFile(partial, "w") as archive:
            archive.writestr("SST-2/dev.tsv", "sentence\tlabel\ngood .\t1\n")

    monkeypatch.setattr("landmark.data.download._copy", copy)
    assert texts(GLUE_DEV) == ["good ."]
    assert asked == ["https://dl.fbaipublicfiles.com/glue/data/SST-2.zip"]


def test_containment_is_of_whole_words_in_a_row():
    phrases = {"a b", "b", "a c", "abc", "b c d"}
    assert contained_phrases(["a b c d", "abcd"], phrases) == {"a b", "b", "b c d"}


def test_the_same_sentences_are_held_out_every_time(sets):
    first = texts("test")
    public._read.cache_clear()
    assert texts("test") == first


def test_cola_and_mrpc_validate_on_a_tenth_of_training(sets):
    cola, mrpc = (public_splits(name, print) for name in ("cola", "mrpc"))
    assert {name: len(split) for name, split in cola.items()} == {
        "train": 45,
        "valid": 5,
        "dev": 1,
        "test": 1,
    }
    assert not {e.texts for e in cola["train"]} & {e.texts for e in cola["valid"]}
    assert cola["dev"][0].label == "1"
    assert [len(mrpc[name]) for name in ("train", "valid", "test")] == [18, 2, 1]
    assert mrpc["test"][0].texts == ("A.", "B.")
    assert mrpc["train"][0].texts[0].startswith('One "')  # a quote is a sign like any other


def test_training_texts_hold_each_text_once_and_nothing_held_out(sets):
    found = training_texts("mrpc", print)
    assert len(found) == len(set(found)) == 36
    assert not set(training_texts("sst2", print)) & set(texts("test"))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("sst2", "tset"), "sst2: has no split 'tset': did you mean test"),
        (("sst", "test"), "did you mean sst2"),
    ],
)
def test_what_there_is_not_is_named(sets, words, message):
    with pytest.raises(UserError, match=message):
        read_split(*words, print)


def test_a_line_of_too_few_columns_is_named(sets):
    path = sets / "cola" / "in_domain_dev.tsv"
    path.write_text("x\t1\t\tDev.\nx\t1\n")
    with pytest.raises(UserError, match=r"in_domain_dev\.tsv:2: has 2 columns, not 4"):
        read_split("cola", "dev", print)


def test_every_file_of_the_sets_has_a_home_and_a_digest():
    for name in ("sst2", "cola", "mrpc"):
        for file in PUBLIC_SETS[name].files:
            assert file.url.startswith("https://")
            assert len(file.sha256 or "") == 64
