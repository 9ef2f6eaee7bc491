"""What is held out stays held out: the numbers that every run so far has drawn."""

import numpy as np
import pytest

from landmark.data.hold_out import (
    before_last_documents,
    before_last_share,
    draw,
    draw_of_each_class,
    every_nth,
    split,
)
from landmark.data.images.corpus import ImageDataConfig, training_splits
from landmark.data.images.digits import digits_splits
from landmark.data.translation.parallel_text import ParallelTextConfig
from landmark.data.translation.preparation import training_parts, validation_parts
from landmark.data.understanding.corpus import TaskConfig, load_examples, prepare_examples


def quiet(record):
    pass


@pytest.mark.parametrize(
    ("limit", "train"),
    [
        (None, [1, 2, 3, 4, 6, 8, 9, 10, 11, 12, 13, 14, 15, 17, 19, 20, 21, 22, 23]),
        (6, [3, 9, 12, 15, 21, 23]),
    ],
)
def test_labelled_examples_of_files(tmp_path, limit, train):
    rows = "".join(f"{number}\t{number % 2}\n" for number in range(24))
    (tmp_path / "own.tsv").write_text("text\tlabel\n" + rows)
    config = TaskConfig(train=str(tmp_path / "own.tsv"), limit=limit, validation=0.2)
    prepare_examples(config, tmp_path / "run", quiet)
    for name, expected in (("train", train), ("valid", [0, 5, 7, 16, 18])):
        examples = load_examples(tmp_path / "run/data", name, "classification")
        assert [int(example.texts[0]) for example in examples] == expected


@pytest.mark.parametrize(
    ("name", "expected"), [("cola", [0, 8, 4, 7, 15]), ("mrpc", [7, 16, 1, 11, 15])]
)
def test_labelled_examples_of_public_sets(name, expected):
    assert draw(20, 5, "held out", name).tolist() == expected


def test_images_to_validate_on_to_train_on_and_to_test_on():
    splits = training_splits(ImageDataConfig(), quiet)
    valid, train = splits["valid"].indices.tolist(), splits["train"].indices.tolist()
    assert valid[:12] == [7, 34, 47, 57, 58, 79, 82, 87, 100, 103, 114, 130]
    assert (len(valid), sum(valid)) == (144, 102424)
    assert sorted(valid + train) == list(range(1437))
    few = training_splits(ImageDataConfig(limit=12), quiet)["train"].indices.tolist()
    assert few == [84, 107, 208, 509, 557, 696, 815, 895, 1014, 1039, 1222, 1267]
    test = digits_splits()["test"]
    assert test.labels[:20].tolist() == [0, 1, 9, 0, 1, 2, 9, 1, 4, 8, 1, 0, 3, 4, 1, 9, 5, 2, 0, 6]
    assert (len(test.labels), int(test.images.sum())) == (360, 1799444)


def test_of_each_class_a_share_but_never_all_of_it():
    labels = np.array([0] * 10 + [1] * 6 + [2])
    chosen = draw_of_each_class(labels, 3, 0.5, "held out", "images")
    assert np.bincount(labels[chosen]).tolist() == [5, 3]
    assert np.bincount(labels[draw_of_each_class(labels, 3, 0.99, "any")]).tolist() == [9, 5]


@pytest.mark.parametrize(("pairs", "valid"), [(3, [15, 30, 45]), (1000, [10, 20, 30, 40])])
def test_sentence_pairs(tmp_path, pairs, valid):
    lines = [str(number) for number in range(1, 48)]
    files = []
    for side in ("source", "target"):
        (tmp_path / side).write_text("\n".join(lines))
        files.append((str(tmp_path / side),))
    config = ParallelTextConfig(
        corpus="files", source=files[0], target=files[1], valid_pairs=pairs, clean=False
    )
    (held_out,) = validation_parts(config, "plain", quiet)
    (training,) = training_parts(config, "plain", {}, quiet)
    found = [int(source) for source, _ in held_out.pairs]
    assert found == valid
    assert sorted(found + [int(source) for source, _ in training.pairs]) == list(range(1, 48))
    assert every_nth(1, 1) == 1


@pytest.mark.parametrize(
    ("total", "share", "kept"), [(10, 0.1, 9), (1003, 0.1, 902), (999, 0.3, 699), (7, 0.5, 3)]
)
def test_the_end_of_a_running_text(total, share, kept):
    assert before_last_share(total, share) == kept


@pytest.mark.parametrize(("share", "kept"), [(0.05, 6), (0.1, 5), (0.3, 4), (0.5, 3), (0.99, 1)])
def test_the_last_documents(share, kept):
    assert before_last_documents([5, 9, 2, 7, 4, 6, 3], share) == kept


def test_a_split_keeps_the_order_of_both_sides():
    assert split("abcdef", [4, 1]) == (["a", "c", "d", "f"], ["e", "b"])
