"""The small corpus: what is read of each set, and that nothing held out is among it."""

import pytest

from landmark.core.errors import UserError
from landmark.data.running_text.reading import (
    read_chapters,
    read_speeches,
    reading_digest,
    reading_documents,
)

NOVEL = """\ufeffThe Project Gutenberg EBook of a novel

*** START OF THIS PROJECT GUTENBERG EBOOK A NOVEL ***

    CONTENTS

    CHAPTER I

    CHAPTER II


BOOK ONE: 1805

CHAPTER I

“Well,” he said,
“it’s war.”

Both laughed.

CHAPTER II

The end.

FIRST EPILOGUE: 1813 - 20

CHAPTER I

Years later.

End of the Project Gutenberg EBook of a novel

*** END OF THIS PROJECT GUTENBERG EBOOK A NOVEL ***

Updated editions will replace this one.
"""


def test_chapters_are_paragraphs_without_headings_and_frame(tmp_path):
    (tmp_path / "novel.txt").write_text(NOVEL, encoding="utf-8")
    assert list(read_chapters(tmp_path / "novel.txt")) == [
        ['"Well," he said, "it\'s war."', "Both laughed."],
        ["The end."],
        ["Years later."],
    ]


def test_speeches_are_lines_and_forty_a_document(tmp_path):
    speech = "First Citizen:\nBefore we proceed,\nhear me.\n\n"
    (tmp_path / "plays.txt").write_text(speech * 41)
    documents = list(read_speeches(tmp_path / "plays.txt"))
    assert [len(document) for document in documents] == [40, 1]
    assert documents[1] == ["First Citizen: Before we proceed, hear me."]


@pytest.fixture
def sets(tmp_path, monkeypatch):
    """A folder with a novel and plays, and the texts of tasks in place of the real ones."""
    for name, file, text in (
        ("war-and-peace", "warandpeace.txt", NOVEL),
        ("tinyshakespeare", "input.txt", "All:\nSpeak.\n\n" * 50),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / file).write_text(text, encoding="utf-8")
    texts = {"sst2": ["good", "very good"], "cola": ["It is."], "mrpc": ["News.", "More news."]}
    files = {"war-and-peace": "warandpeace.txt", "tinyshakespeare": "input.txt"}
    monkeypatch.setattr(
        "landmark.data.running_text.reading.plain_files",
        lambda name, report: [tmp_path / name / files[name]],
    )
    monkeypatch.setattr(
        "landmark.data.understanding.public.training_texts", lambda name, report: texts[name]
    )
    return tmp_path, texts


def test_phrases_come_first_and_all_else_is_shuffled_alike_each_time(sets):
    documents = list(reading_documents(print))
    assert documents == list(reading_documents(print))
    assert documents[:2] == [("sst2 1", ["good"]), ("sst2 2", ["very good"])]
    names = [name for name, _ in documents[2:]]
    assert names != sorted(names)
    assert sorted(names) == [
        "cola 1", "mrpc 1", "mrpc 2", "tinyshakespeare 1", "tinyshakespeare 2", "war-and-peace 1",
        "war-and-peace 2", "war-and-peace 3",
    ]  # fmt: skip


def test_a_set_without_text_is_named(sets):
    folder, _ = sets
    (folder / "war-and-peace/warandpeace.txt").write_text("nothing of the kind")
    with pytest.raises(UserError, match="war-and-peace: has no text to read: is it the original"):
        list(reading_documents(print))


def test_the_digest_is_the_same_each_time():
    assert reading_digest() == reading_digest()
    assert len(reading_digest()) == 16
