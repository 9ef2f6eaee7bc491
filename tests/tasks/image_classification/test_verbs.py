import csv
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import landmark
from landmark.tasks.image_classification.evaluation import SetScores


@pytest.fixture
def image(digit_files):
    return digit_files / "3" / "3-0.png"


def test_classify_prints_the_five_most_probable_classes(command, digits_run, image):
    answer = command("classify", digits_run, image)
    assert answer.code == 0
    first, *rows = answer.lines
    assert first == str(image)
    shares = [float(row.split()[0]) for row in rows]
    assert len(rows) == 5
    assert shares == sorted(shares, reverse=True)
    assert all(row.split()[1] == "%" and row.split()[2].isdigit() for row in rows)


def test_classify_gives_json_and_draws(command, digits_run, digit_files, tmp_path):
    images = sorted(digit_files.rglob("*.png"))[:6]
    figure = tmp_path / "seen.png"
    answer = command("classify", digits_run, *images, "--json", "--top", 2, "--figure", figure)
    records = [json.loads(line) for line in answer.lines]
    assert [record["image"] for record in records] == [str(path) for path in images]
    assert all(len(record["classes"]) == 2 for record in records)
    assert Image.open(figure).size[0] > 500


def test_classify_names_what_it_can_and_says_what_it_cannot_read(
    command, digits_run, image, tmp_path
):
    broken, figure = tmp_path / "broken.png", tmp_path / "seen.png"
    broken.write_bytes(b"broken")
    words = ["classify", digits_run, image, broken, image, tmp_path / "none.png"]
    answer = command(*words, "--json", "--figure", figure)
    assert answer.code == 2
    assert [json.loads(line)["image"] for line in answer.lines] == [str(image)] * 2
    (line,) = answer.err.splitlines()
    assert line.startswith(f"landmark: {broken}: is not an image")
    assert "none.png: cannot be read" in line
    assert figure.exists()


def test_classify_draws_the_class_that_an_images_folder_names(
    command, digits_run, image, tmp_path, monkeypatch
):
    from landmark.figures.images import classified

    elsewhere = tmp_path / "unsorted" / "x.png"
    elsewhere.parent.mkdir()
    shutil.copy(image, elsewhere)
    drawn = []
    monkeypatch.setattr(
        classified, "save_classified", lambda found, pixels, path, labels: drawn.append(labels)
    )
    command("classify", digits_run, image, elsewhere, "--figure", tmp_path / "seen.png")
    assert drawn == [["3", None]]


def test_ten_crops_of_images_without_room_are_warned_of(command, digits_run, image):
    answer = command("classify", digits_run, image, "--ten-crop")
    assert answer.code == 0
    (line,) = answer.err.splitlines()
    assert line.startswith("warning: the shorter side of these images is no longer than the 28")


def test_a_compiled_network_says_the_same(command, digits_run, digit_files, image, monkeypatch):
    """Compiling itself, which takes a minute, is left out."""
    compiled = []
    monkeypatch.setattr(
        "torch.compile", lambda module, **options: compiled.append(options) or module
    )
    plain, quick = (
        json.loads(command("classify", digits_run, image, "--json", *engine).out)["classes"]
        for engine in ([], ["--engine", "compiled"])
    )
    assert len(compiled) == 1
    assert [guess["name"] for guess in quick] == [guess["name"] for guess in plain]
    for one, other in zip(quick, plain, strict=True):
        assert one["probability"] == pytest.approx(other["probability"], abs=1e-5)
    words = ["evaluate", digits_run, "--file", digit_files, "--engine"]
    assert command(*words, "compiled").out == command(*words, "torch").out
    assert len(compiled) == 2


def test_similar_prints_the_nearest_first(command, digits_run, image, digit_files, tmp_path):
    figure, run = tmp_path / "near.png", tmp_path / "run"
    shutil.copytree(digits_run, run)  # which keeps the features that it computes
    words = ["similar", run, image, "--among", digit_files, "--count", 3]
    answer = command(*words, "--figure", figure)
    first, *rows, last = answer.lines
    assert first == str(image)
    assert last == str(figure)
    distances = [float(row.split()[0]) for row in rows]
    assert len(rows) == 3
    assert distances == sorted(distances)
    assert str(image) not in answer.out.splitlines()[1:]
    (record,) = [json.loads(line) for line in command(*words, "--json").lines]
    assert [near["image"] for near in record["similar"]] == [row.split()[1] for row in rows]
    assert figure.stat().st_size > 1000


def test_features_go_into_a_numpy_file_with_their_names(command, digits_run, digit_files, tmp_path):
    output, run = tmp_path / "x.npy", digits_run
    answer = command("features", run, digit_files / "0", "--output", output)
    assert answer.lines == [str(output)]
    assert np.load(output).shape == (5, 84)
    names = (tmp_path / "x.tsv").read_text().splitlines()
    assert names == [str(digit_files / f"0/0-{n}.png") for n in range(5)]
    (line,) = command("features", run, digit_files / "0/0-0.png").lines
    assert json.loads(line)["vector"] == pytest.approx(np.load(output)[0].tolist(), abs=1e-5)


def test_features_leave_out_what_is_broken_and_stay_in_step_with_their_names(
    command, mistake, digits_run, digit_files, tmp_path
):
    output, run, own = tmp_path / "x.npy", tmp_path / "run", tmp_path / "own"
    shutil.copytree(digits_run, run)
    shutil.copytree(digit_files / "0", own)
    (own / "0-1.png").write_bytes(b"broken")
    (tmp_path / "also.png").write_bytes(b"broken")
    one, other = digit_files / "1/1-0.png", digit_files / "2/2-0.png"
    given = [one, tmp_path / "also.png", own, other]
    answer = command("features", run, *given, "--output", output)
    assert answer.code == 2  # one that was named is at fault
    warning, error = answer.err.splitlines()
    assert "0-1.png" in warning
    assert "also.png" in error
    names = (tmp_path / "x.tsv").read_text().splitlines()
    assert names == [str(p) for p in (one, *(own / f"0-{n}.png" for n in (0, 2, 3, 4)), other)]
    for name, row in zip(names, np.load(output), strict=True):
        (line,) = command("features", run, name).lines
        assert json.loads(line)["vector"] == pytest.approx(row.tolist(), abs=1e-5)
    assert "also.png: is not an image" in mistake("features", run, tmp_path / "also.png")


def test_evaluate_prints_scores_and_a_table_by_class(command, digits_run, tmp_path):
    figure = tmp_path / "confusion.png"
    answer = command("evaluate", digits_run, "--confusion", figure)
    assert answer.code == 0, answer.err
    assert answer.lines[0] == "test: 360 images"
    assert answer.lines[1].startswith("  top-1  ")
    assert answer.lines[2].startswith("  top-5  ")
    table = answer.lines[5:-1]
    assert [row.split()[0] for row in table] == list("0123456789")
    assert answer.lines[-1] == str(figure)
    assert figure.stat().st_size > 1000


def test_evaluate_gives_json_of_a_folder(command, digits_run, digit_files):
    answer = command("evaluate", digits_run, "--file", digit_files, "--json", "--ten-crop")
    (line,) = answer.lines
    found = json.loads(line)
    assert found["ten_crop"] is True
    assert found["images"] == 40
    assert sum(map(sum, found["confusion"])) == 40
    assert found["scores"][0]["low"] < found["scores"][0]["value"] < found["scores"][0]["high"]


def test_evaluate_names_a_broken_image_or_ends(command, mistake, digits_run, digit_files, tmp_path):
    own = tmp_path / "own"
    shutil.copytree(digit_files, own)
    (own / "0" / "0-1.png").write_bytes(b"broken")
    answer = command("evaluate", digits_run, "--file", own)
    assert answer.code == 0
    assert answer.lines[0].endswith("own: 39 images")
    assert "warning: skipped 1 of 40 images: " in answer.err
    assert "0-1.png" in answer.err
    assert "omit --strict" in mistake("evaluate", digits_run, "--file", own, "--strict")


def test_mistakes_are_one_line(mistake, digits_run, tiny_run, image, tmp_path, digit_files):
    assert "there is no such run" in mistake("classify", tmp_path / "none", image)
    assert "is a run of task 'translation', which has no classify" in mistake(
        "classify", tiny_run, image
    )
    assert "cannot be read" in mistake("classify", digits_run, tmp_path / "none.png")
    assert "a figure cannot be written as 'txt'" in mistake(
        "classify", digits_run, image, "--figure", tmp_path / "a.txt"
    )
    assert "name a .npy file" in mistake("features", digits_run, image, "--output", "x.csv")
    assert "is not a folder of images" in mistake("similar", digits_run, image, "--among", image)
    assert "no split 'dev'" in mistake("evaluate", digits_run, "--split", "dev", worked=True)
    assert "has torch, compiled, onnx and onnx-int8" in mistake(
        "evaluate", digits_run, "--engine", "ctranslate2"
    )
    assert "--beam does not fit" in mistake("evaluate", digits_run, "--beam", 4)
    assert "--ten-crop does not fit" in mistake("evaluate", tiny_run, "--ten-crop")
    assert "--strict does not fit" in mistake("evaluate", tiny_run, "--strict")
    assert "give --data FOLDER" in mistake("train", "image-files", "--run", tmp_path / "new")
    assert "give --split or --file" in mistake(
        "evaluate", digits_run, "--split", "test", "--file", digit_files
    )


def test_a_folder_of_ones_own_is_trained_on(command, digit_files, tmp_path):
    few = ["trainer.max_steps=2", "trainer.validate_every=2", "model.width=4", "batches.workers=0"]
    few += ["model.image_size=32", "threads=1", "device=cpu", "data.validation=0.2"]
    folder = tmp_path / "run"
    answer = command("train", "image-files", "--data", digit_files, *few, "--run", folder)
    assert answer.code == 0, answer.err
    assert answer.out == f"{folder}\n"
    assert "32 images to train on, 8 to validate; 1 updates a pass" in answer.err
    named = command("classify", folder, digit_files / "1/1-0.png", "--json")
    assert len(json.loads(named.out)["classes"]) == 5


def test_a_broken_image_is_named_and_left_out_or_ends_it(command, mistake, digit_files, tmp_path):
    own = tmp_path / "own"
    shutil.copytree(digit_files, own)
    (own / "0" / "0-1.png").write_bytes(b"broken")
    few = ["trainer.max_steps=1", "trainer.validate_every=1", "model.width=4", "batches.workers=0"]
    few += ["model.image_size=32", "threads=1", "device=cpu", "data.validation=0.3"]
    words = ["train", "image-files", "--data", own, *few, "--run"]
    assert "0-1.png" in mistake(*words, tmp_path / "strict", "--strict", worked=True)
    answer = command(*words, tmp_path / "run")
    assert answer.code == 0
    assert "skipped 1 of" in answer.err
    assert "0-1.png" in answer.err


def test_classify_writes_a_folder_as_a_table(command, digits_run, digit_files, tmp_path):
    table = tmp_path / "out.csv"
    answer = command("classify", digits_run, digit_files, "--csv", table, "--top", 2)
    assert answer.lines == [str(table)]
    with table.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    images = sorted(digit_files.rglob("*.png"))
    assert [row["image"] for row in rows] == [str(path) for path in images]
    (line,) = command("classify", digits_run, images[7], "--json", "--top", 2).lines
    for place, guess in enumerate(json.loads(line)["classes"], 1):
        assert rows[7][f"class_{place}"] == guess["name"]
        probability = float(rows[7][f"probability_{place}"])
        assert probability == pytest.approx(guess["probability"], abs=1e-5)


def test_a_table_has_no_row_for_a_broken_image_and_none_is_written_without_images(
    command, mistake, digits_run, digit_files, tmp_path
):
    own, table = tmp_path / "own", tmp_path / "out.csv"
    shutil.copytree(digit_files / "0", own)
    (own / "0-1.png").write_bytes(b"broken")
    answer = command("classify", digits_run, own, "--csv", table)
    assert answer.code == 0
    assert "0-1.png: is not an image in a supported format: skipped" in answer.err
    assert len(table.read_text().splitlines()) == 1 + 4
    table.unlink()
    assert "is not an image" in mistake(
        "classify", digits_run, own / "0-1.png", "--csv", table, worked=True
    )
    assert not table.exists()
    assert "name a .csv file" in mistake("classify", digits_run, own, "--csv", tmp_path / "a.txt")


def test_evaluate_writes_every_prediction_and_draws_the_worst_mistakes(
    command, digits_run, digit_files, tmp_path
):
    table, figure = tmp_path / "predictions.csv", tmp_path / "mistakes.png"
    words = ["evaluate", digits_run, "--split", "test", "--split", "valid", "--json"]
    answer = command(*words, "--predictions", table, "--mistakes", figure)
    assert answer.code == 0, answer.err
    with table.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for line in answer.lines:
        found = json.loads(line)
        its = [row for row in rows if row["set"] == found["name"]]
        right = sum(row["class"] == row["predicted"] for row in its)
        first = [row for row in its if row["rank"] == "1"]
        assert len(its) == found["images"]
        assert right / len(its) == pytest.approx(found["scores"][0]["value"])
        assert len(first) == right < len(its)
        assert all(row["probability"] == row["class_probability"] for row in first)
    assert Image.open(figure).size[0] > 500


def test_mistakes_begin_with_the_most_confident(digits_run):
    from landmark.figures.images import mistakes

    pipeline = landmark.load(digits_run)
    images = pipeline.split("test")
    found = pipeline.predict(images)
    order = found.mistakes()
    shares = pipeline.probabilities([images[index] for index in range(len(images))]).numpy()
    expected = [
        (float(row.max()), index)
        for index, row in enumerate(shares)
        if row.argmax() != images.labels[index]
    ]
    assert [index for _, index in sorted(expected, key=lambda one: -one[0])] == order.tolist()
    assert len(order) > 1
    drawn = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mistakes, "save_picture", lambda figure, path: drawn.append(figure))
        name, scores = "test", found.scores(pipeline.form.names)
        record = SetScores(name, str(digits_run), "best", False, scores, found)
        mistakes.write(pipeline, [record], None, Path("x.png"))
    first, title = drawn[0].axes[0], drawn[0].axes[0].get_title()
    np.testing.assert_array_equal(first.images[0].get_array(), images[int(order[0])][..., 0])
    guess, label = found.guesses[order[0]], found.labels[order[0]]
    assert title.startswith(
        f"predicted: {guess} ({100 * shares[order[0]].max():.0f} %)\ntrue: {label}"
    )
