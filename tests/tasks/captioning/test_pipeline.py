import csv
import json
import re

import numpy as np
import pytest
import torch
from PIL import Image

import landmark
from landmark.core.errors import UserError
from landmark.data.captions.text import caption_text
from landmark.data.images.form import FILE, ImageForm
from landmark.data.tokenizer import UNKNOWN
from landmark.layers.packing import Packing
from landmark.tasks.captioning.engine import image_requests
from landmark.tasks.captioning.options import CaptionOptions
from landmark.tasks.searching import TorchEngine

KINDS = ["soft", "hard", "transformer"]
NOUN = re.compile("(circle|square|triangle|star|cross)(e?s)?$")


@pytest.fixture(scope="module")
def rare(train_captioner, steps, small):
    """A captioner of a vocabulary so small that most words of its captions are <unk>."""
    settings = [*small, *steps(30), "schedule.rate=0.01", "tokenizer.vocab_size=14"]
    return train_captioner("rare", settings)


@pytest.fixture
def paths(pictures):
    return sorted(pictures.glob("*.png"))


@pytest.fixture(scope="module")
def pipelines(captioners):
    return {kind: landmark.load(run, device="cpu") for kind, run in captioners.items()}


@torch.no_grad()
def greedy_by_hand(pipeline, pixels):
    """The most probable word, one after the other, by the plain forward pass."""
    model, tokenizer = pipeline.model, pipeline.tokenizer
    image = pipeline.form.network_input([pixels], pipeline.side)
    tokens, places = [tokenizer.begin], Packing.full(1, model.config.places)
    for _ in range(pipeline.config.search.max_words + 1):
        hidden = model(image, places, torch.tensor(tokens), Packing.full(1, len(tokens)))
        logits = model.logits(hidden)[-1]
        logits[[0, tokenizer.begin, tokenizer.unknown]] = -torch.inf
        tokens.append(int(logits.argmax()))
        if tokens[-1] == tokenizer.end:
            return tokens[1:-1]
    return tokens[1:]


@pytest.mark.parametrize("kind", KINDS)
def test_greedy_search_says_the_most_probable_words(pipelines, paths, kind):
    pipeline = pipelines[kind]
    found = pipeline.caption(paths, beam=1)
    for path, its in zip(paths, found, strict=True):
        tokens = greedy_by_hand(pipeline, pipeline.read(path))
        assert its.text == pipeline.tokenizer.decode([tokens])[0]
        assert [word.text for word in its.words] == its.text.split()


def test_captions_say_what_training_showed(pipelines, paths):
    texts = [its.text for its in pipelines["soft"].caption(paths)]
    assert len(set(texts)) > 1
    assert all(any(NOUN.match(word) for word in text.split()) for text in texts)


@pytest.mark.parametrize("kind", KINDS)
def test_attention_sums_to_one_and_probabilities_make_the_log_probability(pipelines, paths, kind):
    pipeline = pipelines[kind]
    grid = pipeline.grid
    for its in pipeline.caption(paths, begin="a red", min_length=4, beam=2):
        assert its.text.startswith("a red ")
        assert len(its.words) == len(its.text.split()) >= 4
        for word in its.words:
            assert word.attention.shape == grid
            assert word.attention.sum() == pytest.approx(1, abs=1e-5)
            assert 0 <= word.probability <= 1
    looks = np.stack([w.attention for its in pipeline.caption(paths[:1]) for w in its.words] or [0])
    assert kind != "soft" or np.ptp(looks, 0).max() > 1e-4  # another place for another word


def test_paths_texts_and_pixels_are_the_same_image(pipelines, paths):
    pipeline = pipelines["soft"]
    given = [paths[0], str(paths[0]), np.asarray(Image.open(paths[0])), Image.open(paths[0])]
    found = pipeline.caption(given)
    assert len({its.text for its in found}) == 1
    assert len({round(its.score, 5) for its in found}) == 1
    assert [its.image for its in found] == [str(paths[0]), str(paths[0]), "image 3", "image 4"]


def test_a_caption_does_not_depend_on_the_images_beside_it(pipelines, paths):
    for pipeline in pipelines.values():
        together = pipeline.caption(paths)
        for path, its in zip(paths, together, strict=True):
            (alone,) = pipeline.caption([path])
            assert alone.text == its.text
            assert alone.score == pytest.approx(its.score, abs=1e-4)


def test_n_best_are_different_captions_best_first(pipelines, paths):
    (its,) = pipelines["soft"].caption(paths[:1], n_best=3)
    texts, scores = zip(*its.alternatives, strict=True)
    assert len(set(texts)) == 3
    assert list(scores) == sorted(scores, reverse=True)
    assert (its.text, its.score) == its.alternatives[0]
    record = its.json()
    assert [one["text"] for one in record["n_best"]] == list(texts)


def test_no_unknown_word_is_ever_said(rare, paths):
    pipeline = landmark.load(rare, device="cpu")
    free = TorchEngine(
        pipeline.model, pipeline.tokenizer.begin, pipeline.tokenizer.end, pipeline.device,
        pack=pipeline.engine.pack,
    )  # fmt: skip
    pixels = [pipeline.read(path) for path in paths]
    requests = image_requests(pipeline.model, pipeline.form, pixels, 8)
    found = [its[0].tokens for its in free.search(requests, 1, 0.0)]
    assert any(pipeline.tokenizer.unknown in tokens for tokens in found)  # what it would say
    said = [text for its in pipeline.caption(paths, n_best=5) for text, _ in its.alternatives]
    for seed in range(5):
        said += [its.text for its in pipeline.caption(paths, sample=True, seed=seed, temperature=3)]
    assert len(said) == 40
    specials = {UNKNOWN, "<pad>", "<s>", "</s>"}
    assert not any(specials & set(text.split()) for text in said)


def test_samples_are_repeatable_by_seed_and_differ_between_seeds(pipelines, paths):
    pipeline = pipelines["soft"]

    def draw(seed, **options):
        found = pipeline.caption(paths, sample=True, seed=seed, temperature=2, **options)
        return [its.text for its in found]

    assert draw(5) == draw(5)
    assert draw(5) != draw(6)
    assert draw(None) == draw(1)
    (several,) = pipeline.caption(paths[:1], sample=True, n_best=3, temperature=2)
    assert len(several.alternatives) == 3
    only = pipeline.caption(paths, sample=True, top_k=1)
    assert [its.text for its in only] == [its.text for its in pipeline.caption(paths, beam=1)]


def test_a_draw_depends_on_the_images_number_alone(command, captioner, paths, tmp_path):
    broken = tmp_path / "broken.png"
    broken.write_bytes(b"broken")
    options = ["--sample", "--seed", 3, "--temperature", 2]
    whole = command("caption", captioner, *paths[:3], *options)
    answer = command("caption", captioner, paths[0], broken, paths[2], *options)
    assert answer.lines == [whole.lines[0], whole.lines[2]]


def test_an_ensemble_with_itself_changes_nothing(captioners, pipelines, paths):
    for kind, run in captioners.items():
        alone = pipelines[kind].caption(paths, n_best=2)
        twice = landmark.load(run, ensemble=(run,), device="cpu").caption(paths, n_best=2)
        for one, two in zip(alone, twice, strict=True):
            assert [text for text, _ in one.alternatives] == [text for text, _ in two.alternatives]
            assert one.score == pytest.approx(two.score, abs=1e-4)


def test_an_ensemble_averages_the_models_probabilities(captioners, pipelines, paths):
    """The first word of a greedy search, of two models of one vocabulary."""
    both = landmark.load(captioners["soft"], ensemble=(captioners["hard"],), device="cpu")
    pixels = [both.read(path) for path in paths]
    chances = []
    for kind in ("soft", "hard"):
        model = pipelines[kind].model
        with torch.no_grad():
            given = pipelines[kind].form.network_input(pixels, 32)
            state = model.start(given, Packing.full(len(pixels), model.config.places), 1, 4)
            begin = torch.full((len(pixels),), both.tokenizer.begin)
            chances.append(model.step(begin, state).softmax(1))
    expected = torch.stack(chances).mean(0)
    expected[:, [0, both.tokenizer.begin, both.tokenizer.unknown]] = 0
    found = both.search(pixels, CaptionOptions(beam=1))
    assert [its[0].tokens[0] for its in found] == expected.argmax(1).tolist()


def test_an_ensemble_of_other_vocabularies_is_refused(mistake, captioner, rare, paths):
    line = mistake("caption", captioner, paths[0], "--ensemble", rare)
    assert line.startswith(f"{rare}: has another vocabulary than {captioner}")


def test_the_command_prints_images_and_captions(command, captioner, pipelines, paths):
    answer = command("caption", captioner, *paths)
    assert answer.code == 0
    expected = pipelines["soft"].caption(paths)
    lines = zip(paths, expected, strict=True)
    assert answer.lines == [f"{path}\t{its.text}" for path, its in lines]
    best = command("caption", captioner, paths[0], "--n-best", 2, "--begin", "There is").lines
    assert len(best) == 2
    assert all(line.split("\t")[2].startswith("there is ") for line in best)
    assert float(best[0].split("\t")[1]) >= float(best[1].split("\t")[1])


def test_json_holds_words_with_their_attention(command, captioner, pipelines, paths):
    (line,) = command("caption", captioner, paths[0], "--json", "--n-best", 2).lines
    record = json.loads(line)
    (its,) = pipelines["soft"].caption([paths[0]], n_best=2)
    assert record == json.loads(json.dumps(its.json()))
    assert (record["image"], record["caption"]) == (str(paths[0]), its.text)
    assert [word["word"] for word in record["words"]] == its.text.split()
    for word, known in zip(record["words"], its.words, strict=True):
        assert np.sum(word["attention"]) == pytest.approx(1, abs=2e-3)
        assert np.unravel_index(np.argmax(word["attention"]), known.attention.shape) == (
            np.unravel_index(known.attention.argmax(), known.attention.shape)
        )


def test_a_folder_becomes_a_table(command, captioner, pipelines, pictures, paths, tmp_path):
    table = tmp_path / "captions.csv"
    answer = command("caption", captioner, pictures, "--csv", table)
    assert answer.code == 0
    rows = list(csv.reader(table.open()))
    assert rows[0] == ["image", "caption", "score"]
    expected = pipelines["soft"].caption(paths)
    assert [row[0] for row in rows[1:]] == [str(path) for path in paths]
    assert [row[1] for row in rows[1:]] == [its.text for its in expected]
    np.testing.assert_allclose(
        [float(row[2]) for row in rows[1:]], [its.score for its in expected], atol=1e-3
    )
    command("caption", captioner, pictures, "--csv", tmp_path / "more.csv", "--n-best", 2)
    assert len(list(csv.reader((tmp_path / "more.csv").open()))) == 1 + 2 * len(paths)


def test_the_figure_has_a_panel_for_every_word(command, captioner, paths, tmp_path, monkeypatch):
    from landmark.figures.images import captioned

    drawn = []
    monkeypatch.setattr(
        captioned, "draw_word", lambda axes, pixels, word: drawn.append((pixels.shape, word.text))
    )
    figure = tmp_path / "seen.png"
    answer = command("caption", captioner, *paths[:2], "--figure", figure)
    assert answer.code == 0
    captions = [line.split("\t")[1] for line in answer.lines if "\t" in line]
    words = [word for caption in captions for word in caption.split()]
    assert len(captions) == 2
    assert drawn == [((32, 32, 3), word) for word in words]
    assert Image.open(figure).size[0] > 300


def test_a_words_panel_is_bright_where_it_looks():
    from landmark.figures.images.captioned import brightness

    grid = np.zeros((4, 4), np.float32)
    grid[3, 0] = 1
    light = brightness(grid, 32)
    assert light.shape == (32, 32)
    assert light[28:, :4].min() > 0.9
    assert light[:16].max() < 0.1
    assert (brightness(np.full((4, 4), 1 / 16, np.float32), 8) == 1).all()


def test_minimum_length_and_repeated_words_are_as_asked_for(pipelines, paths):
    for its in pipelines["soft"].caption(paths, min_length=6):
        assert len(its.text.split()) >= 6
    for its in pipelines["hard"].caption(paths, no_repeat_ngram=1):
        assert len(set(its.text.split())) == len(its.text.split())


def test_a_caption_as_long_as_the_model_can_write_is_cut_with_a_warning(
    pipelines, paths, monkeypatch
):
    pipeline = pipelines["transformer"]
    longest = pipeline.model.config.max_length - 2
    tokens = [4] * longest
    pixels = [pipeline.read(paths[0])]
    (words,) = pipeline.words(pixels, [[*tokens, 4]])  # as many as there are positions
    assert len(words) == longest + 1
    logits, end = pipeline.model.logits, torch.tensor([pipeline.tokenizer.end])
    never = lambda hidden: logits(hidden).index_fill(1, end, -100.0)  # noqa: E731
    monkeypatch.setattr(pipeline.model, "logits", never)
    (its,) = pipeline.caption(paths[:1], min_length=longest, beam=1)
    assert len(its.words) == longest + 1
    assert not its.ended
    (warning,) = its.warnings
    assert warning == f"{paths[0]}: the caption was truncated at {longest + 1} words, the maximum"


@pytest.mark.parametrize(
    ("begin", "word"),
    [("a zebra", "zebra"), ("a - zebra", "zebra"), ("a/zebra", "zebra"), ("Zebra!", "zebra")],
)
def test_a_beginning_with_an_unknown_word_is_refused(mistake, captioner, paths, begin, word):
    line = mistake("caption", captioner, paths[0], "--begin", begin)
    assert line == f"--begin {begin!r}: {word!r} is not in the run's vocabulary"


def test_a_beginning_as_long_as_a_caption_is_refused(mistake, captioner, paths):
    line = mistake("caption", captioner, paths[0], "--begin", " ".join(["a"] * 40))
    assert "40 words are as long as a whole caption" in line


@pytest.mark.parametrize(
    ("content", "what"), [(b"broken", "is not an image"), (b"A dog runs.\n", "is not an image")]
)
def test_an_image_that_cannot_be_read_is_named_and_the_others_described(
    command, captioner, paths, tmp_path, content, what
):
    broken = tmp_path / "broken.png"
    broken.write_bytes(content)
    answer = command("caption", captioner, paths[0], broken, paths[1])
    assert answer.code == 2
    whole = command("caption", captioner, *paths[:2])
    assert answer.lines == whole.lines
    (line,) = answer.err.splitlines()
    assert line.startswith(f"landmark: {broken}: {what}")
    with pytest.raises(UserError, match=what):
        landmark.load(captioner).caption([paths[0], broken])


def test_a_text_file_is_no_image(command, captioner, tmp_path):
    text = tmp_path / "notes.txt"
    text.write_text("a dog runs\n")
    answer = command("caption", captioner, text)
    assert answer.code == 2
    (line,) = answer.err.splitlines()
    assert str(text) in line
    assert answer.out == ""


def test_a_run_that_writes_no_captions_is_refused(mistake, tiny_run, digits_run, paths):
    for run, task in ((tiny_run, "translation"), (digits_run, "image-classification")):
        line = mistake("caption", run, paths[0])
        assert str(run) in line
        assert task in line or "caption" in line


def test_engines_that_there_are_not_are_refused(mistake, captioner, paths):
    line = mistake("caption", captioner, paths[0], "--engine", "ctranslate2")
    assert line == "no engine 'ctranslate2': a captioner has torch, onnx"
    line = mistake("caption", captioner, paths[0], "--engine", "onnx", "--ensemble", captioner)
    assert "leave out --engine" in line


def test_an_export_that_there_is_not_is_named(mistake, captioner, paths):
    pytest.importorskip("onnxruntime")
    line = mistake("caption", captioner, paths[0], "--engine", "onnx")
    assert "landmark export" in line


def test_the_runs_images_are_read_in_its_form(captioner, pipelines, paths):
    form = ImageForm.load(captioner / FILE)
    assert (form.size, form.fit) == (32, "squeeze")
    assert pipelines["soft"].read(paths[1]).shape == (32, 32, 3)
    assert caption_text("A dog.") == "a dog"
