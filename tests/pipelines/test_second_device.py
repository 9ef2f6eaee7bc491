"""Every pipeline computes on a device that is not the CPU: nothing mixes, and answers are equal."""

import json
import sys
from pathlib import Path

import pytest
import torch

import landmark
from landmark.decoding.stepwise import SamplingConfig
from landmark.tasks.embedding import load_embedder
from landmark.tasks.language_model.prompting import score_continuations
from landmark.tasks.training import train
from landmark.tasks.translation.scoring import score_pairs
from tests.second_device import SECOND, second_device

UNEQUAL = [("the old", [" man", " man reads a good book", " w"]), ("a", [" good film", " g"])]
TEXTS = ["the old man", "a good book", "woman reads"]
SENTENCES = ["the old man sleeps", "a young woman sees the old dog and the cat", "the cat", ""]
SHORT = ["trainer.max_steps=2", "trainer.epochs=null", "threads=1"]
ROWS = [(f"the old man {word}", number % 2) for number, word in enumerate(["reads", "likes"] * 20)]
TASKS = {
    "classification": ("c.tsv", "text\tlabel\n" + "".join(f"{t}\t{n}\n" for t, n in ROWS)),
    "choice": (
        "o.tsv",
        "text\tone\ttwo\tlabel\n" + "".join(f"a book\t{t}\ta film\t{n}\n" for t, n in ROWS),
    ),
    "tagging": ("t.conll", "\n".join(f"the\tO\n{t[12:]}\tB-{n}\n" for t, n in ROWS)),
    "span": (
        "s.jsonl",
        "".join(
            json.dumps({"question": "who", "context": t, "answers": [t[4:11]]}) + "\n"
            for t, _ in ROWS
        ),
    ),
}  # fmt: skip


def network_of(pipeline) -> torch.nn.Module:
    return pipeline.network if hasattr(pipeline, "network") else pipeline.model


@pytest.fixture
def twice(monkeypatch):
    """What a pipeline answers on the CPU, and on the second device."""

    def call(load, run: Path, ask):
        loaded = load(run)
        torch.manual_seed(1)
        with torch.no_grad():
            for parameter in network_of(loaded).parameters():  # opinions that a fault would show in
                parameter += 0.3 * torch.randn_like(parameter)
        expected = ask(loaded)
        for name, module in list(sys.modules.items()):
            if name.startswith("landmark.tasks.") and hasattr(module, "choose_device"):
                monkeypatch.setattr(module, "choose_device", lambda name: SECOND)
        with second_device(), torch.no_grad():
            moved = load(run)
            own = network_of(moved).state_dict()
            for name, tensor in network_of(loaded).state_dict().items():
                own[name].copy_(tensor)
            return expected, ask(moved)

    return call


@pytest.mark.parametrize("kind", ["gpt", "lstm"])
@pytest.mark.parametrize("sampling", [None, SamplingConfig(top_k=9, top_p=0.9)])
def test_texts_that_end_at_different_steps_leave_the_batch(pretrained_runs, twice, kind, sampling):
    def ask(pipeline):
        written = pipeline.generate(
            ["the old", "a", "the young man reads"],
            60,
            samples=4 if sampling else 1,
            sampling=sampling,
            stop=["e", "t"],
            repetition_penalty=1.3,
        )
        return [one.text for one in written]

    expected, found = twice(landmark.load, pretrained_runs[kind], ask)
    assert found == expected


@pytest.mark.parametrize("kind", ["gpt", "lstm"])
def test_candidates_of_unequal_length_leave_the_batch(pretrained_runs, twice, kind):
    def ask(pipeline):
        scored = score_continuations(pipeline, UNEQUAL)
        return [one.log_probability for group in scored for one in group]

    expected, found = twice(landmark.load, pretrained_runs[kind], ask)
    assert found == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("run", ["tiny_run", "recurrent_run"])
@pytest.mark.parametrize(
    "options",
    [
        {"beam": 4},
        {"beam": 1},
        {"sample": True, "top_k": 9, "n_best": 2},
        {"beam": 4, "prefix": "die"},
        {"beam": 4, "glossary": "terms.tsv"},
    ],
)
def test_translations_that_end_at_different_steps_leave_the_batch(
    request, twice, run, options, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "terms.tsv").write_text("dog\tHund\n", encoding="utf-8")

    def ask(pipeline):
        return [found.text for found in pipeline.translate(SENTENCES, **options)]

    expected, found = twice(landmark.load, request.getfixturevalue(run), ask)
    assert found == expected


def test_alignments_and_scores_of_pairs(tiny_run, twice):
    pairs = [(text, "der Mann " * (1 + number)) for number, text in enumerate(SENTENCES[:3])]

    def ask(pipeline):
        scores = [pair.log_probability for pair in score_pairs(pipeline, pairs)]
        seen = [pipeline.attention(*pair).weights.square().sum().item() for pair in pairs]
        return scores + seen

    expected, found = twice(landmark.load, tiny_run, ask)
    assert found == pytest.approx(expected, abs=1e-3)


def test_blanks_are_filled_in(pretrained_runs, twice):
    def ask(pipeline):
        return pipeline.fill("the [MASK] man [MASK] .").fillings[0].text

    expected, found = twice(landmark.load, pretrained_runs["bert"], ask)
    assert found == expected


@pytest.mark.parametrize("kind", ["bert", "gpt", "lstm"])
def test_texts_have_vectors(pretrained_runs, twice, kind):
    expected, found = twice(load_embedder, pretrained_runs[kind], lambda p: p.embed(TEXTS))
    assert found == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("kind", TASKS)
def test_texts_are_understood(pretrained_runs, tmp_path, twice, kind):
    name, text = TASKS[kind]
    (tmp_path / name).write_text(text)
    settings = [f"data.train={tmp_path / name}", f"data.kind={kind}", *SHORT]
    settings += ["data.choices=[one, two]"] if kind == "choice" else []
    settings += [f"init_from={pretrained_runs['bert']}"]
    run = train("understanding", tmp_path / "run", settings).folder

    def ask(pipeline):
        return [prediction.answer for prediction in pipeline.predict(pipeline.split("train"))]

    expected, found = twice(landmark.load, run, ask)
    assert found == expected


@pytest.mark.parametrize("options", [{}, {"ten_crop": True}])
def test_images_are_classified(digits_run, twice, options):
    def ask(pipeline):
        return pipeline.evaluate(pipeline.split("test"), **options).confusion.tolist()

    expected, found = twice(landmark.load, digits_run, ask)
    assert found == expected
