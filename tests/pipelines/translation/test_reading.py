"""One source cut into subwords in several ways: what each makes the model say is averaged."""

import dataclasses

import pytest
import torch

from landmark.core.errors import UserError
from landmark.data.embedded import corpus
from landmark.data.translation.pairs import pack_sources
from landmark.decoding.request import Request
from landmark.layers.packing import Packing
from landmark.pipelines.loading import load
from landmark.pipelines.translation.document import translate_paragraphs
from landmark.pipelines.translation.exported import export_run
from landmark.recipes.training import resolve, train

SOURCES = [pair.source for pair in corpus.draw("test", 8)]


@pytest.fixture(scope="module")
def reader(tmp_path_factory, tiny):
    """A run that met words in pieces, trained for a moment."""
    settings = [*tiny, "batches.split=0.3", "trainer.max_steps=60", "schedule.rate=0.01"]
    settings += ["model.max_length=256", "search.beam=3", "search.readings=4"]
    return load(
        train("transformer-embedded", tmp_path_factory.mktemp("reader") / "run", settings).folder
    )


def request(pipeline, text, count):
    (tokens,) = pipeline.encode_sources([text], pipeline.target_form(), str)
    return pipeline.reader.read_again(Request(tuple(tokens), 40), count)


def test_readings_are_the_same_text_in_other_pieces(reader):
    for text in SOURCES:
        asked = request(reader, text, 6)
        assert len(asked.readings) == 6
        assert set(reader.tokenizer.decode(asked.readings)) == {text}
        assert len({asked.source, *asked.readings}) > 1


def test_readings_depend_on_nothing_but_the_source(reader):
    assert request(reader, SOURCES[0], 3) == request(reader, SOURCES[0], 3)
    assert request(reader, SOURCES[0], 3).readings == request(reader, SOURCES[0], 5).readings[:3]
    together = reader.translate(SOURCES)
    alone = [reader.translate([text])[0] for text in SOURCES]
    assert [its.text for its in together] == [its.text for its in alone]
    assert [its.score for its in together] == pytest.approx([its.score for its in alone], rel=1e-4)


@pytest.mark.parametrize("beam", [1, 3])
def test_a_translation_has_the_mean_of_its_probabilities_after_each_reading(reader, beam):
    asked = [request(reader, text, 2) for text in SOURCES]
    for its, (found, *_) in zip(asked, reader.engine.search(asked, beam, 0.6), strict=True):
        said = torch.tensor([*found.tokens, *[reader.tokenizer.end] * found.ended])
        inputs = torch.tensor([reader.tokenizer.begin, *said[:-1].tolist()])
        each = []
        for source in (its.source, *its.readings):
            packed = pack_sources([source], reader.tokenizer.end)
            with torch.inference_mode():
                hidden = reader.model(*packed, inputs, Packing(torch.tensor([len(inputs)])))
                each.append(reader.model.logits(hidden).softmax(-1))
        mean = torch.stack(each).mean(0)
        expected = mean[torch.arange(len(said)), said].log().sum().item()
        assert found.log_probability == pytest.approx(expected, rel=1e-4)


def test_the_recipe_says_how_many_readings_there_are(reader):
    own, four, one = (
        [result.score for result in reader.translate(SOURCES, readings=readings)]
        for readings in (None, 4, 1)
    )
    assert own == four != one


def test_documents_are_read_in_many_ways_too(reader):
    text = " ".join(SOURCES[:2])
    one, four = (translate_paragraphs(reader, [text], readings=count)[0] for count in (1, 4))
    scores = [[its.score for its in paragraph.sentences] for paragraph in (one, four)]
    assert scores[0] != scores[1]


def test_onnx_reads_in_many_ways_as_torch_does(reader):
    export_run(reader.run.folder, "onnx")
    onnx = load(reader.run.folder, engine="onnx")
    torch_scores, onnx_scores = (
        [result.score for result in pipeline.translate(SOURCES, beam=1)]
        for pipeline in (reader, onnx)
    )
    assert onnx_scores == pytest.approx(torch_scores, rel=1e-4)


def test_ctranslate2_reads_in_one_way_and_refuses_more(reader):
    export_run(reader.run.folder, "ctranslate2")
    exported = load(reader.run.folder, engine="ctranslate2")
    once = [result.score for result in reader.translate(SOURCES, beam=1, readings=1)]
    own = [result.score for result in exported.translate(SOURCES, beam=1)]
    assert own == pytest.approx(once, rel=1e-3)
    with pytest.raises(UserError, match="CTranslate2 reads a source in one way"):
        exported.translate(SOURCES[:2], readings=2)


def test_a_run_that_never_met_pieces_is_refused(tiny_run):
    pipeline = load(tiny_run)
    with pytest.raises(UserError, match=r"always met words in the same subwords.*batches\.split"):
        pipeline.translate(SOURCES[:1], readings=2)
    assert pipeline.translate(SOURCES[:1], readings=1)
    with pytest.raises(UserError, match=r"readings needs a model that met words in pieces"):
        resolve("transformer-embedded", ["search.readings=2"])


def test_an_ensemble_reads_in_many_ways(reader):
    """Of one model twice it says what that model says alone."""
    alone = [result.score for result in reader.translate(SOURCES)]
    twice = load(reader.run.folder, ensemble=[reader.run.folder])
    assert [its.score for its in twice.translate(SOURCES)] == pytest.approx(alone, rel=1e-4)


def test_readings_and_a_plain_request_say_the_same_where_nothing_is_cut(reader):
    whole = [dataclasses.replace(request(reader, text, 0), readings=()) for text in SOURCES]
    again = [dataclasses.replace(its, readings=(its.source,) * 2) for its in whole]
    one, three = (reader.engine.search(requests, 3, 0.6) for requests in (whole, again))
    assert [its[0].tokens for its in one] == [its[0].tokens for its in three]
