"""BLEU and sample translations at each validation."""

import pytest
import sacrebleu

import landmark
from landmark.core.errors import UserError
from landmark.engine.run import Run
from landmark.tasks.task import task_named
from landmark.tasks.training import load_config, train
from landmark.tasks.translation import validation
from landmark.tasks.translation.evaluation import split_pairs

BLEU = ["validation.bleu=true", "validation.sentences=30"]


def records(run, kind):
    return [record for record in run.read_log() if record["kind"] == kind]


@pytest.fixture(scope="module", params=["transformer-embedded", "seq2seq-embedded"])
def watched(request, tmp_path_factory, tiny, tiny_recurrent):
    """A run that was validated by BLEU too, and what it reported."""
    settings = tiny if request.param.startswith("transformer") else tiny_recurrent
    folder, said = tmp_path_factory.mktemp("watched") / "run", []
    more = [*BLEU, "data.valid_pairs=30", "trainer.max_steps=20", "trainer.validate_every=10"]
    return train(request.param, folder, [*settings, *more], report=said.append), said


def test_bleu_is_that_of_greedy_translations_of_the_validation_pairs(watched):
    run, _ = watched
    last = records(run, "valid")[-1]
    pipeline = landmark.load(run.folder, checkpoint="latest")
    sources, references = zip(*split_pairs(pipeline, "valid")[:30], strict=True)
    texts = [result.text for result in pipeline.translate(list(sources), beam=1)]
    assert last["bleu"] == pytest.approx(sacrebleu.corpus_bleu(texts, [references]).score)
    samples = records(run, "samples")[-1]
    assert samples["step"] == last["step"] == 20
    expected = zip(sources, texts, references, strict=True)
    names = ("source", "translation", "reference")
    shown = [tuple(sample[name] for name in names) for sample in samples["samples"]]
    assert len(shown) == 3
    assert set(shown) <= set(expected)


def test_samples_are_shown_after_each_validation(watched):
    run, said = watched
    after = [said[place + 2] for place, one in enumerate(said) if one["kind"] == "valid"]
    for record, note in zip(records(run, "samples"), after, strict=True):
        assert note["kind"] == "note"
        for sample in record["samples"]:
            assert f"  reference    {sample['reference']}" in note["text"].splitlines()
            assert f"  translation  {sample['translation']}".rstrip() in note["text"]
    assert len(records(run, "samples")) == len(records(run, "valid")) == 2


def test_the_best_checkpoint_and_the_end_go_by_bleu(monkeypatch, tmp_path, tiny):
    scores = iter([5.0, 9.0, 3.0, 2.0, 8.0, 10.0, 7.0])
    monkeypatch.setattr(validation, "bleu", lambda *texts: next(scores))
    settings = [*tiny, "trainer.monitor=bleu", "trainer.patience=3", "trainer.validate_every=2"]
    settings += ["data.valid_pairs=5", "trainer.checkpoint_every=2"]
    run = train("transformer-embedded", tmp_path / "run", [*settings, "trainer.max_steps=6"])
    assert run.find_checkpoint("best").name == "step-000004"
    train("transformer-embedded", run.folder, [*settings, "trainer.max_steps=20"], resume="auto")
    assert [record["bleu"] for record in records(run, "valid")] == [5.0, 9.0, 3.0, 2.0, 8.0]
    assert run.find_checkpoint("best").name == "step-000004"


def test_accuracy_is_better_where_it_is_higher(tmp_path, tiny):
    settings = [*tiny, "trainer.monitor=accuracy", "trainer.validate_every=10"]
    run = train("transformer-embedded", tmp_path / "run", [*settings, "trainer.max_steps=30"])
    valid = records(run, "valid")
    best = max(valid, key=lambda record: record["accuracy"])
    assert run.find_checkpoint("best").name == f"step-{best['step']:06d}"
    assert "bleu" not in best


def test_a_stopped_validation_gives_nothing_and_keeps_nothing(watched):
    run = Run.open(watched[0].folder)
    config = load_config(run)
    device = landmark.load(run.folder).device
    assembly = task_named("translation").assemble(config, run.folder, device)
    assert assembly.evaluator(1, lambda: True) is None
    assert assembly.evaluator.translations == []
    assert 0 <= assembly.evaluator(1, lambda: False)["bleu"] <= 100


def test_whole_weights_are_needed(tmp_path, tiny):
    words = [*tiny, "validation.bleu=true", "trainer.sharded=true"]
    with pytest.raises(UserError, match="translates with whole weights"):
        train("transformer-embedded", tmp_path / "run", words)
