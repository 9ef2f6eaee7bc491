import json
import re
import shutil

import pytest

import landmark
from landmark.engine.run import Run
from landmark.engine.session import Session
from landmark.tasks.translation import evaluation
from landmark.tasks.translation.demo import SENTENCES, SPLITS


@pytest.fixture
def demo(command, tmp_path, tiny, monkeypatch):
    """`landmark demo` on a tiny configuration, with few sentences to score."""
    monkeypatch.setattr(evaluation, "EMBEDDED_TEST_PAIRS", 5)
    return lambda *words: command("demo", "--run", tmp_path / "first", *tiny, *words)


@pytest.fixture
def quick(demo, monkeypatch):
    """The same with one split and no picture: for what happens before."""
    monkeypatch.setattr("landmark.tasks.translation.demo.SPLITS", ("test",))
    draw = "landmark.figures.translation.products.draw_attention"
    monkeypatch.setattr(draw, lambda attention, path: None)
    return demo


def trained_steps(said: str) -> list[int]:
    return [int(step) for step in re.findall(r"^step (\d+)/", said, re.MULTILINE)]


def test_the_demo_trains_scores_translates_and_looks_inside(demo, tmp_path):
    answer = demo()
    assert answer.code == 0
    assert trained_steps(answer.err) == [3, 6, 9, 12]
    for split in SPLITS:
        assert re.search(rf"^{split} +5( +\d+\.\d\d){{4}}$", answer.out, re.MULTILINE), split
    results = landmark.load(tmp_path / "first").translate(SENTENCES)
    for result in results:
        assert f"  {result.source}\n    {result.text}\n" in answer.out
    picture = tmp_path / "first" / "attention.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert f"The same as a picture: {picture}" in answer.out
    heat = answer.out.partition("in percent):\n")[2].partition("\n\nThe same")[0].split("\n")
    assert heat[0].split()[0] == "I"
    assert heat[0].split()[-1] == "</s>"
    assert len(heat) >= 1 + len(results[0].tokens) + 1  # the head, the pieces, </s>
    after = answer.out.partition("Next, type:\n")[2].splitlines()
    assert f"landmark translate {tmp_path / 'first'}" in after[0]
    assert all(line.startswith("  .venv/bin/landmark ") for line in after)


@pytest.fixture
def first(tmp_path, tiny_run):
    """The run that a first demo left: the tiny run has the demo's recipe."""
    return shutil.copytree(tiny_run, tmp_path / "first")


def test_a_second_demo_finds_the_run_and_does_not_train(quick, first):
    log = (first / "log.jsonl").read_bytes()
    answer = quick("device=cpu")  # where it was trained is not part of what it is
    assert answer.code == 0
    assert answer.err == f"{first} is trained already (same recipe, same data)\n"
    assert "Translations:" in answer.out
    assert (first / "log.jsonl").read_bytes() == log
    assert [path.name for path in first.parent.iterdir()] == ["first"]


def test_another_recipe_moves_the_old_run_aside(quick, first, tmp_path, monkeypatch):
    log = (first / "log.jsonl").read_bytes()
    (tmp_path / "first-old-1").mkdir()
    answer = quick("model.dropout=0.2")
    assert trained_steps(answer.err) == [3, 6, 9, 12]
    assert f"moved to {tmp_path / 'first-old-2'}" in answer.err
    assert (tmp_path / "first-old-2" / "log.jsonl").read_bytes() == log
    assert Run.open(first).read_recipe()["model"]["dropout"] == 0.2


def test_other_data_moves_the_old_run_aside_too(quick, first, monkeypatch):
    monkeypatch.setattr("landmark.data.embedded.corpus.digest", lambda: "another grammar")
    assert "moved to" in quick().err
    assert first.with_name("first-old-1").is_dir()


def test_an_unfinished_run_is_continued(quick, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(
            Session, "_agreed_signal", lambda session: 15 * (session.trainer.state.step == 7)
        )
        stopped = quick()
    assert stopped.code == 143
    assert "Scores" not in stopped.out
    answer = quick()
    assert answer.code == 0
    assert trained_steps(answer.err) == [9, 12]
    log = (tmp_path / "first" / "log.jsonl").read_text().splitlines()
    steps = [r["step"] for r in map(json.loads, log) if r["kind"] == "train"]
    assert steps == [3, 6, 9, 12]


def test_a_folder_left_by_a_broken_preparation_is_used(quick, tmp_path):
    (tmp_path / "first").mkdir()
    (tmp_path / "first" / "lock").touch()  # what a killed preparation leaves
    (tmp_path / "first" / "tokenizer.json").write_text("half a tok")
    assert quick().code == 0
    assert [path.name for path in tmp_path.iterdir()] == ["first"]


def test_a_run_of_an_earlier_version_is_moved_aside(quick, first, tmp_path):
    recipe = first / "recipe.yaml"
    unsigned = recipe.read_text().rpartition("# sha256: ")[0]
    recipe.write_text(unsigned)
    answer = quick()
    assert answer.code == 0
    assert f"{first} cannot be used any more: moved to {tmp_path / 'first-old-1'}" in answer.err
    assert (tmp_path / "first-old-1" / "recipe.yaml").read_text() == unsigned
