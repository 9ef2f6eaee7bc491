import numpy as np
import pytest
from tokenizers.processors import TemplateProcessing

from landmark.core.errors import UserError
from landmark.data.running_text.character import CharacterTokenizer, RunningSubwords
from landmark.data.running_text.wordpiece import WordPieceConfig, WordPieceTokenizer
from landmark.data.tokenizer import TokenizerConfig
from landmark.data.understanding.corpus import Labels
from landmark.data.understanding.encoding import ExampleEncoder, Marks, marks_of
from landmark.data.understanding.example import (
    Answer,
    LabeledText,
    MultipleChoice,
    Question,
    ScoredText,
    TaggedWords,
)
from landmark.data.understanding.samples import (
    ExampleBatchConfig,
    ExampleSamples,
    collate_readings,
)

TEXT = "Anna reads the unbelievable old books of 1869 in Bonn, doesn't she? Ça va à München."


@pytest.fixture(scope="module")
def pieces():
    return WordPieceTokenizer.train(lambda: [TEXT] * 3, WordPieceConfig(vocab_size=120))


@pytest.fixture(scope="module")
def subwords():
    return RunningSubwords(
        RunningSubwords.train([TEXT] * 3, TokenizerConfig(vocab_size=300)).backend
    )


def reader(tokenizer, kind="classification", max_length=128, is_bert=False, **settings):
    labels = settings.pop("labels", None) or Labels(kind, ("no", "yes"))
    return ExampleEncoder(tokenizer, marks_of(tokenizer, is_bert), labels, max_length, **settings)


def test_bert_reads_what_the_tokenizers_librarys_template_gives(pieces):
    cls, sep = (pieces.backend.token_to_id(name) for name in ("[CLS]", "[SEP]"))
    other = type(pieces.backend).from_str(pieces.backend.to_str())
    other.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", cls), ("[SEP]", sep)],
    )
    examples = [LabeledText("", (TEXT, "Old books."), "yes"), LabeledText("", ("Anna",), "no")]
    batch = collate_readings(reader(pieces, is_bert=True).read(examples), "classification")
    wanted = [other.encode(*example.texts) for example in examples]
    assert batch.tokens.tolist() == [n for encoding in wanted for n in encoding.ids]
    assert batch.segments.tolist() == [n for encoding in wanted for n in encoding.type_ids]
    assert batch.packing.lengths.tolist() == [len(encoding.ids) for encoding in wanted]
    assert batch.labels.tolist() == [1, 0]


def test_gpt_puts_its_marks_behind_the_vocabulary(subwords):
    size = len(subwords)
    assert marks_of(subwords, False) == Marks(size, size + 1, size + 2)
    first, second = subwords.encode(["Anna reads", "old books"])
    (reading,) = reader(subwords).read([LabeledText("", ("Anna reads", "old books"), "no")])
    assert reading.sequences == [[size, *first, size + 1, *second, size + 2]]


def test_similar_texts_are_read_both_ways_and_choices_each_with_the_text(subwords):
    size = len(subwords)
    one, two, three = subwords.encode(["Anna", "reads the", "books"])
    ways = reader(subwords, both_ways=True)
    (reading,) = ways.read([ScoredText("", ("Anna", "reads the"), 3.0)])
    assert reading.sequences == [
        [size, *one, size + 1, *two, size + 2],
        [size, *two, size + 1, *one, size + 2],
    ]
    (single,) = ways.read([LabeledText("", ("Anna",), "no")])
    assert len(single.sequences) == 1
    example = MultipleChoice("", "Anna", ("reads the", "books"), 1)
    (reading,) = reader(subwords, "choice").read([example])
    assert reading.sequences == [
        [size, *one, size + 1, *two, size + 2],
        [size, *one, size + 1, *three, size + 2],
    ]
    assert reading.label == 1


def test_the_longer_text_is_cut_first():
    tokenizer = CharacterTokenizer("abc")
    (reading,) = reader(tokenizer, max_length=9).read([LabeledText("", ("a" * 9, "bb"), "no")])
    assert reading.sequences == [[3, 0, 0, 0, 0, 4, 1, 1, 5]]
    (reading,) = reader(tokenizer, max_length=9).read([LabeledText("", ("a" * 9, "b" * 9), "no")])
    assert reading.sequences == [[3, 0, 0, 0, 4, 1, 1, 1, 5]]


def test_a_character_that_training_never_saw_is_named_with_its_line():
    with pytest.raises(UserError, match=r"own\.tsv:4: 'x' .* was never seen"):
        reader(CharacterTokenizer("abc")).read([LabeledText("own.tsv:4", ("axb",), "no")])


@pytest.mark.parametrize("kind", ["pieces", "subwords", "characters"])
def test_a_words_tag_stands_at_its_first_token(kind, pieces, subwords):
    tokenizer = {"pieces": pieces, "subwords": subwords}.get(kind, CharacterTokenizer(TEXT))
    words = tuple(TEXT.split())
    labels = Labels("tagging", ("A", "B"))
    tags = tuple("AB"[n % 2] for n in range(len(words)))
    whole = reader(tokenizer, labels=labels, is_bert=kind == "pieces", max_length=200)
    (reading,) = whole.read([TaggedWords("", words, tags)])
    assert reading.labels == [n % 2 for n in range(len(words))]
    if kind != "characters":
        row = reading.sequences[0]
        ends = [*(place for _, place in reading.places[1:]), len(row) - 1]
        for word, (_, start), end in zip(words, reading.places, ends, strict=True):
            assert "".join(tokenizer.decode([row[start:end]])[0].split()) in (
                word,
                word.lower(),
                _plain(word),
            )
    short = reader(tokenizer, labels=labels, is_bert=kind == "pieces", max_length=20)
    (cut,) = short.read([TaggedWords("", words, tags)])
    assert len(cut.sequences) > 1
    assert all(len(sequence) <= 20 for sequence in cut.sequences)
    assert [n for row in cut.sequences for n in row[1:-1]] == reading.sequences[0][1:-1]
    for (row, place), (_, whole_place) in zip(cut.places, reading.places, strict=True):
        assert cut.sequences[row][place] == reading.sequences[0][whole_place]


def _plain(word: str) -> str:
    """As BERT's normaliser has it: no capitals, no accents."""
    return word.lower().replace("ç", "c").replace("à", "a").replace("ü", "u")


@pytest.mark.parametrize("max_length", [128, 24])
def test_answers_are_marked_in_every_window_that_holds_them(pieces, max_length):
    answer = "old books of 1869"
    start = TEXT.index(answer)
    example = Question("", "What does Anna read?", TEXT, (Answer(answer, start),))
    one = reader(pieces, "span", max_length, is_bert=True)
    (reading,) = one.read([example])
    assert (len(reading.sequences) > 1) == (max_length == 24)
    marked = [
        (kind, reading.places[n][0], reading.spans[n])
        for n, kind in enumerate(reading.labels)
        if kind
    ]
    assert marked
    starts = [(row, span) for kind, row, span in marked if kind & 1]
    ends = [(row, span) for kind, row, span in marked if kind & 2]
    assert [row for row, _ in starts] == [row for row, _ in ends]
    for (_, first), (_, last) in zip(starts, ends, strict=True):
        assert TEXT[first[0] : last[1]] == answer
    for (row, place), (a, b) in zip(reading.places, reading.spans, strict=True):
        text = pieces.decode([[reading.sequences[row][place]]])[0].removeprefix("##")
        assert text in (TEXT[a:b].lower(), _plain(TEXT[a:b]), "")
    covered = {character for a, b in reading.spans for character in range(a, b)}
    assert {n for n, c in enumerate(TEXT) if not c.isspace()} <= covered


def test_a_question_without_answer_is_answered_at_the_first_token(pieces):
    labels = Labels("span", may_be_missing=True)
    one = reader(pieces, "span", is_bert=True, labels=labels)
    (reading,) = one.read([Question("", "Who?", TEXT, ())])
    assert reading.places[0] == (0, 0)
    assert reading.labels[0] == 3
    assert not any(reading.labels[1:])


def test_a_vocabulary_without_berts_marks_is_refused(subwords):
    with pytest.raises(UserError, match=r"no \[CLS\] and \[SEP\]"):
        marks_of(subwords, True)


def test_every_epoch_reads_every_example_once_in_another_order(subwords):
    examples = [LabeledText("", ("Anna " * (1 + n % 5),), "no") for n in range(50)]
    samples = ExampleSamples(
        reader(subwords).read(examples), "classification", ExampleBatchConfig(size=8, pool=2), 1
    )
    first, second = samples.plan(0), samples.plan(1)
    assert sorted(np.concatenate(first).tolist()) == list(range(50))
    assert [batch.tolist() for batch in first] == [batch.tolist() for batch in samples.plan(0)]
    assert [batch.tolist() for batch in first] != [batch.tolist() for batch in second]
    assert max(map(len, first)) == 8
    batch = samples.collate(0, first[0])
    assert batch.size == len(first[0])
    assert batch.owners.tolist() == list(range(batch.size))
