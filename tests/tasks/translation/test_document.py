import dataclasses
from collections import Counter

import pytest

import landmark
from landmark.data.embedded import corpus
from landmark.tasks.translation.document import translate_documents, translate_paragraphs
from landmark.tasks.translation.options import TranslateOptions
from landmark.tasks.translation.pipeline import Sentence

SENTENCES = sorted((pair.source for pair in corpus.draw("train", 50)), key=len)[:8]
LINES = [" ".join(SENTENCES[:3]), "", " ".join(SENTENCES[3:5]), SENTENCES[0], SENTENCES[5]]


@pytest.fixture
def pipeline(tiny_run):
    """It takes 64 tokens a side."""
    return landmark.load(tiny_run)


def test_a_piece_whose_translation_would_be_cut_is_halved(pipeline, thrice):
    text = ", ".join(sentence.strip(".?!") for sentence in SENTENCES[:5])
    assert 22 < len(pipeline.tokenizer.encode([text])[0]) < 64  # three times that is too much
    assert not pipeline.translate([text])[0].ended
    before, paragraph, after = translate_paragraphs(pipeline, [SENTENCES[0], text, SENTENCES[1]])
    assert len(paragraph.sentences) > 2
    assert all(sentence.ended for sentence in paragraph.sentences)
    assert " ".join(sentence.source for sentence in paragraph.sentences) == text
    tokens = [token for sentence in paragraph.sentences for token in sentence.tokens]
    (once,) = pipeline.tokenizer.encode([text])
    assert Counter(tokens) == Counter(once * 3)
    assert tokens == [token for token in once for _ in range(3)]
    assert (before.source, after.source) == tuple(SENTENCES[:2])


def test_what_is_cut_for_another_reason_is_left_as_it_is(pipeline, thrice):
    """A translation far longer than its source is an endless one, however short the source."""
    search = dataclasses.replace(pipeline.config.search, max_ratio=1.0, max_extra=1)
    pipeline.config = dataclasses.replace(pipeline.config, search=search)
    (paragraph,) = translate_paragraphs(pipeline, [SENTENCES[0]])
    (sentence,) = paragraph.sentences
    assert not sentence.ended
    assert sentence == pipeline.translate([SENTENCES[0]])[0]


def test_draws_depend_on_the_line_and_its_sentence_wherever_the_work_begins(pipeline):
    options = {"sample": True, "seed": 3}
    whole = translate_paragraphs(pipeline, LINES, **options)
    for done in range(len(LINES)):
        left = [Sentence(t, f"in:{n}", (n,)) for n, t in enumerate(LINES, 1)][done:]
        rest = translate_documents(pipeline, left, TranslateOptions(**options))
        assert [paragraph.text for paragraph in rest] == [p.text for p in whole[done:]]
    same = translate_paragraphs(pipeline, [" ".join(SENTENCES[:1] * 3)], **options)[0]
    assert len({sentence.text for sentence in same.sentences}) == 3
