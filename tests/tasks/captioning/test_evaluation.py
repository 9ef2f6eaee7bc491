import json
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import landmark
from landmark.data.captions.corpus import open_split, scene_of
from landmark.data.captions.grammar import is_true
from landmark.data.captions.source import CaptionedImages
from landmark.data.captions.text import caption_text
from landmark.data.images.form import ImageForm
from landmark.engine.run import Run
from landmark.layers.packing import Packing
from landmark.metrics.captions import compare_captions, score_captions
from landmark.tasks.captioning.evaluation import _dealt
from landmark.tasks.captioning.retrieval import rank_images
from landmark.tasks.training import load_config

FEW = ["--bootstrap", 50]


def evaluate(command, run, *words):
    answer = command("evaluate", run, *words, "--json")
    assert answer.code == 0, answer.err
    return [json.loads(line) for line in answer.lines if line.startswith("{")]


def references(run, split):
    return [[caption_text(t) for t in texts] for texts in open_split(run, split).captions]


def values(system):
    return {score["name"]: score["value"] for score in system["scores"]}


@pytest.fixture(scope="module")
def said(captioner):
    """The captions of the test split, image by image, by the same search in Python."""
    pipeline, images = landmark.load(captioner, device="cpu"), open_split(captioner, "test").images
    return [its.text for its in pipeline.caption([images[n] for n in range(len(images))])]


def test_the_numbers_are_those_of_the_captions_that_it_writes(command, captioner, said, tmp_path):
    output = tmp_path / "captions.txt"
    (record,) = evaluate(command, captioner, "--output", output, *FEW)
    assert output.read_text().splitlines() == said
    given, training = references(captioner, "test"), open_split(captioner, "train").texts()
    expected = score_captions(said, given, {caption_text(t) for t in training}, 50)
    assert (record["run"], record["split"]) == (str(captioner), "test")
    assert list(record["systems"]) == [str(captioner)]
    found = record["systems"][str(captioner)]
    for score in expected.scores:
        (its,) = (one for one in found["scores"] if one["name"] == score.name)
        assert its["value"] == pytest.approx(score.value)
        assert (its["low"], its["high"]) == pytest.approx((score.low, score.high))
    assert found["distinct"] == len(set(said)) > 1
    assert found["copied"] == pytest.approx(expected.copied)
    assert found["images"] == 20
    assert values(found)["CIDEr-D"] > 0.3


def test_truth_is_that_of_the_scenes(command, captioner, said):
    config = load_config(Run(captioner)).data
    (record,) = evaluate(command, captioner, "--bootstrap", 0)
    true = [is_true(text, scene_of("test", n, config)) for n, text in enumerate(said)]
    assert record["truth"]["true"] == pytest.approx(np.mean(true))
    assert record["truth"]["nouns"] >= sum(true)
    assert 0 < record["truth"]["chance"] < 1


def test_the_table_has_a_line_for_every_system_and_what_it_is_about(command, captioner):
    lines = command("evaluate", captioner, *FEW, "--shuffled", "--retrieval").lines
    assert lines[0] == "test: 20 images"
    assert lines[1].split() == ["BLEU-1", "BLEU-2", "BLEU-3", "BLEU-4", "CIDEr-D"]
    heads = ["score", "captions of other images", "95 % interval, ±", "without brevity penalty"]
    for head, line in zip(heads, lines[2:], strict=False):
        assert line.startswith(head)
    assert any("of captions are true of their scene" in line for line in lines)
    assert any(line.startswith("of 20 images, a caption's own is") for line in lines)


def test_splits_are_chosen_and_a_wrong_one_is_named(command, captioner):
    names = ("valid", "test-compositional")
    splits = [word for name in names for word in ("--split", name)]
    records = evaluate(command, captioner, *splits, "--bootstrap", 0, "--beam", 1)
    assert [record["split"] for record in records] == list(names)
    assert [next(iter(r["systems"].values()))["images"] for r in records] == [12, 6]
    assert (
        "no split 'tset': did you mean test?"
        in command("evaluate", captioner, "--split", "tset").err
    )
    logged = [record for record in Run(captioner).read_log() if record["kind"] == "valid"][-1]
    found = values(next(iter(records[0]["systems"].values())))
    assert found["CIDEr-D"] == pytest.approx(logged["cider"], abs=1e-4)  # by greedy search, too
    assert found["BLEU-4"] == pytest.approx(logged["bleu4"], abs=1e-3)


def test_another_run_and_a_file_are_compared_with(command, captioners, said, tmp_path):
    captioner, other = captioners["soft"], captioners["hard"]
    perfect, same = tmp_path / "perfect.txt", tmp_path / "same.txt"
    given = references(captioner, "test")
    perfect.write_text("".join(f"{texts[0]}\n" for texts in given))
    same.write_text("".join(f"{text.upper()}.\n" for text in said))  # in their own form
    against = [word for path in (other, perfect, same) for word in ("--against", path)]
    (record,) = evaluate(command, captioner, *against, *FEW)
    assert list(record["systems"]) == [str(path) for path in (captioner, other, perfect, same)]
    its = {name: values(system) for name, system in record["systems"].items()}
    assert its[str(same)] == its[str(captioner)]
    assert its[str(perfect)]["BLEU-4"] == pytest.approx(100)
    hard = landmark.load(other, device="cpu")
    images = open_split(captioner, "test").images
    spoken = [one.text for one in hard.caption([images[n] for n in range(20)])]
    expected = {score.name: score.value for score in score_captions(spoken, given).scores}
    assert its[str(other)] == pytest.approx(expected)
    tests = {one["name"]: one["p_values"] for one in record["tests"]}
    assert tests["CIDEr-D"][str(same)] == 1
    assert tests["CIDEr-D"][str(perfect)] < 0.05
    systems = [("run", said), ("hard", spoken)]
    (known,) = (
        one for one in compare_captions(systems, given, samples=50) if one.metric == "CIDEr-D"
    )
    assert tests["CIDEr-D"][str(other)] == known.p_values[1]
    lines = command("evaluate", captioner, *against, *FEW, "--test", "randomization").lines
    assert sum(line.startswith("  p (approximate randomization)") for line in lines) == 3


def test_captions_of_other_images_score_less(command, captioner, said):
    (record,) = evaluate(command, captioner, "--shuffled", "--bootstrap", 0)
    found = values(record["shuffled"])
    expected = score_captions(_dealt(said), references(captioner, "test"), resamples=0)
    assert found["CIDEr-D"] == pytest.approx(expected.value("CIDEr-D"))
    assert found["CIDEr-D"] < values(record["systems"][str(captioner)])["CIDEr-D"]
    assert record["shuffled"]["mean_words"] == record["systems"][str(captioner)]["mean_words"]


def test_no_caption_stays_beside_its_image():
    captions = [f"caption {n}" for n in range(30)]
    dealt = _dealt(captions)
    assert sorted(dealt) == sorted(captions)
    assert all(one != other for one, other in zip(captions, dealt, strict=True))
    assert dealt == _dealt(captions)


class Numbered:
    """Images that are all of one colour: their number."""

    labels = np.zeros(0, np.int64)

    def __getitem__(self, index):
        return np.full((2, 2, 3), index, np.uint8)


class Oracle(nn.Module):
    """The words of an image, by how far round a circle of words they are from its number."""

    def __init__(self, count: int, ahead: float | None) -> None:
        super().__init__()
        self.count, self.ahead = count, ahead
        self.output = nn.Linear(count, count, bias=False)
        self.output.weight = nn.Parameter(torch.eye(count))

    def places_of(self, images: Tensor) -> Tensor:
        return images[:, :1].flatten(1)[:, :1]

    def forward(self, source: Tensor, packing: Packing, target: Tensor, its: Packing) -> Tensor:
        numbers = (source[:, 0] * 255).round()[its.rows]
        if self.ahead is None:  # it does not look
            return torch.zeros(len(numbers), self.count)
        apart = (torch.arange(self.count) - numbers[:, None] - self.ahead) % self.count
        logits = -torch.minimum(apart, self.count - apart)
        return logits * (its.positions == 0)[:, None]  # </s> is as likely of all images


def ranked(count: int, ahead: float | None):
    """Of images whose captions are their numbers, by an oracle that is so far off."""
    words = SimpleNamespace(begin=0, end=0, encode=lambda texts: [[int(t)] for t in texts])
    pipeline = SimpleNamespace(
        model=Oracle(count, ahead), side=2, tokenizer=words, device=torch.device("cpu"),
        form=ImageForm(("unlabelled",), 3, 2, mean=(0.0,) * 3, std=(1.0,) * 3),
        config=SimpleNamespace(model=SimpleNamespace(max_length=8)),
    )  # fmt: skip
    split = CaptionedImages(Numbered(), [(str(n), "0") for n in range(count)])
    return rank_images(pipeline, split)


@pytest.mark.parametrize("count", [7, 100, 130, 230])
def test_an_oracle_finds_every_captions_own_image(count):
    found = ranked(count, 0.0)
    assert (found.images, found.among) == (count, min(100, count))
    assert (found.first, found.in_five, found.in_ten) == (1, 1, 1)


def test_an_oracle_that_is_off_by_some_images_ranks_them_first():
    """3.25 words ahead: those 1 to 6 images before the own one are nearer than it."""
    found = ranked(100, 3.25)
    assert (found.first, found.in_five, found.in_ten) == (0, 0, 1)


def test_a_model_that_does_not_look_is_as_good_as_chance():
    found = ranked(130, None)
    shares = (found.first, found.in_five, found.in_ten)
    assert shares == pytest.approx((0.01, 0.05, 0.1))


def test_retrieval_by_the_run_itself_is_reported(command, captioner):
    (record,) = evaluate(command, captioner, "--retrieval", "--bootstrap", 0)
    found = record["retrieval"]
    assert (found["images"], found["among"]) == (20, 20)
    assert 0 <= found["first"] <= found["in_five"] <= found["in_ten"] <= 1
    assert found["in_ten"] > 0.5  # of 20: what it learnt helps


def test_what_cannot_be_compared_is_refused(mistake, captioner, tiny_run, digits_run, tmp_path):
    lines = tmp_path / "few.txt"
    lines.write_text("a circle\n")
    against = ["evaluate", captioner, *FEW, "--against"]
    assert mistake(*against, captioner) == f"--against {captioner}: is given twice"
    assert "is given twice" in mistake(*against, captioner / ".." / "soft")
    assert "has 1 lines but there are 20 images" in mistake(*against, lines)
    assert "is a run of task 'translation'" in mistake(*against, tiny_run)
    assert "is a run of task 'image-classification'" in mistake(*against, digits_run)
    assert "there is no such run, and no file" in mistake(*against, tmp_path / "none")
    assert "is not a run" in mistake(*against, tmp_path)
    assert "give --against" in mistake("evaluate", captioner, "--test", "bootstrap")
    assert "keeps only one" in mistake("evaluate", captioner, "--beam", 1, "--length-penalty", 1)
