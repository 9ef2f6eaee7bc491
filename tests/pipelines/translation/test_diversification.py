"""Two teachers and a student: what each learns from, and that an interruption costs nothing."""

import pytest

from landmark.core.errors import UserError
from landmark.data.embedded import corpus
from landmark.data.shards import TokenStore
from landmark.data.tokenizer import SubwordTokenizer
from landmark.engine.checkpoint import checkpoint_digest
from landmark.pipelines.loading import load
from landmark.pipelines.translation import diversification
from landmark.pipelines.translation.diversification import diversify
from landmark.recipes.training import load_config

RECIPE = "transformer-embedded"


@pytest.fixture(scope="module")
def settings(tiny):
    return [*tiny, "data.train_pairs=60", "data.valid_pairs=10", "model.max_length=256"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory, settings):
    """A folder in which everything came to its end, and its student."""
    folder = tmp_path_factory.mktemp("diversified") / "whole"
    return folder, diversify(RECIPE, folder, settings, teacher_steps=3)


def lines(path):
    return path.read_text(encoding="utf-8").splitlines()


def trained_on(run):
    tokenizer = SubwordTokenizer.load(run.folder / "tokenizer.json")
    store = TokenStore(run.folder / "data" / "train")
    sides = (
        tokenizer.decode([store[s, n].tolist() for n in range(len(store))]) for s in store.sides
    )
    return list(zip(*sides, strict=True))


def test_the_student_learns_from_the_text_and_from_what_both_teachers_made_of_it(whole):
    folder, student = whole
    drawn = [(pair.source, pair.target) for pair in corpus.draw("train", 60)]
    sources, targets = zip(*drawn, strict=True)
    new_targets = [r.text for r in load(folder / "forward").translate(sources)]
    new_sources = [r.text for r in load(folder / "backward").translate(targets)]
    there = zip(sources, new_targets, strict=True)
    back = zip(new_sources, targets, strict=True)
    assert trained_on(student) == list(dict.fromkeys([*drawn, *there, *back]))
    assert len(trained_on(student)) > 60


def test_teachers_train_for_their_steps_and_one_of_them_backwards(whole):
    folder, student = whole
    forward, backward = (load(folder / name) for name in ("forward", "backward"))
    assert [forward.config.data.reverse, backward.config.data.reverse] == [False, True]
    assert forward.config.trainer.max_steps == backward.config.trainer.max_steps == 3
    assert load_config(student).trainer.max_steps > 3
    assert not forward.config.data.extra_source


def test_all_three_have_one_vocabulary_learnt_from_the_text_alone(whole):
    folder, student = whole
    vocabularies = [
        set(SubwordTokenizer.load(run / "tokenizer.json").pieces(range(300)))
        for run in (folder / "forward", folder / "backward", student.folder)
    ]
    assert vocabularies[0] == vocabularies[1] == vocabularies[2]


def test_a_student_that_is_turned_round_gets_its_pairs_turned_round(tmp_path, settings):
    student = diversify(RECIPE, tmp_path / "a", [*settings, "data.reverse=true"], teacher_steps=2)
    drawn = [(pair.target, pair.source) for pair in corpus.draw("train", 60)]
    pairs = trained_on(student)
    assert pairs[:60] == drawn
    sources, targets = ({pair[side] for pair in drawn} for side in (0, 1))
    assert all(source in sources or target in targets for source, target in pairs)
    assert not load(tmp_path / "a" / "forward").config.data.reverse


def test_pairs_too_long_for_a_teacher_are_not_translated(tmp_path, tiny):
    text = [(pair.source, pair.target) for pair in corpus.draw("train", 30)]
    text.insert(3, ("word " * 100, "kurz"))
    text.insert(9, ("short", "Wort " * 100))
    (tmp_path / "own.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in text), encoding="utf-8")
    own = [f'data.source=["{tmp_path / "own.tsv"}"]', "data.corpus=files", "data.valid_pairs=2"]
    diversify(RECIPE, tmp_path / "a", [*tiny, *own], teacher_steps=2)
    kept = lines(tmp_path / "a" / "source.txt")
    assert "short" not in kept
    assert all(len(line) < 400 for line in kept)
    assert len(kept) == len(lines(tmp_path / "a" / "target.new.txt"))


@pytest.mark.parametrize("call", [2, 3])
def test_what_is_done_is_not_repeated_after_an_interruption(
    whole, tmp_path, settings, monkeypatch, call
):
    trained, train = [], diversification.train

    def stop_at(recipe, folder, *rest, **named):
        trained.append(folder.name)
        if len(trained) == call:
            raise KeyboardInterrupt
        return train(recipe, folder, *rest, **named)

    folder = tmp_path / "a"
    monkeypatch.setattr(diversification, "train", stop_at)
    with pytest.raises(KeyboardInterrupt):
        diversify(RECIPE, folder, settings, teacher_steps=3)
    before = checkpoint_digest(load(folder / "forward").checkpoint)
    student = diversify(RECIPE, folder, settings, teacher_steps=3, resume=True)
    assert checkpoint_digest(load(folder / "forward").checkpoint) == before
    assert trained_on(student) == trained_on(whole[1])


def test_a_translation_that_was_interrupted_goes_on_at_its_line(
    whole, tmp_path, settings, monkeypatch
):
    monkeypatch.setattr(diversification, "_BLOCK", 20)
    asked, folder = [], tmp_path / "a"
    translate = diversification.TranslationPipeline.translate

    def stop_at_the_second(pipeline, block, **options):
        asked.append(options["first_number"])
        if len(asked) == 2:
            raise KeyboardInterrupt
        return translate(pipeline, block, **options)

    monkeypatch.setattr(diversification.TranslationPipeline, "translate", stop_at_the_second)
    with pytest.raises(KeyboardInterrupt):
        diversify(RECIPE, folder, settings, teacher_steps=3)
    diversify(RECIPE, folder, settings, teacher_steps=3, resume=True)
    assert asked == [1, 21, 21, 41, 1, 21, 41]
    for name in ("target.new.txt", "source.new.txt"):
        assert lines(folder / name) == lines(whole[0] / name)


def test_teachers_take_a_quarter_of_the_steps_unless_it_is_said(tmp_path, settings):
    diversify(RECIPE, tmp_path / "a", [*settings, "trainer.max_steps=8"])
    assert load(tmp_path / "a" / "backward").config.trainer.max_steps == 2


@pytest.mark.parametrize(
    ("recipe", "overrides", "said"),
    [
        ("hello", [], "is no translation"),
        ("transformer-multi30k-multilingual", [], "for one target language"),
        (RECIPE, ['data.extra_source=["a.tsv"]'], "leave out data.extra_source"),
    ],
)
def test_what_cannot_be_diversified_is_refused_before_any_work(tmp_path, recipe, overrides, said):
    with pytest.raises(UserError, match=said):
        diversify(recipe, tmp_path / "a", overrides)
    assert not (tmp_path / "a").exists()


def test_a_folder_in_use_is_refused(whole, tmp_path, settings):
    with pytest.raises(UserError, match="--resume goes on with it"):
        diversify(RECIPE, whole[0], settings)
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="exists"):
        diversify(RECIPE, tmp_path / "file", settings)


def test_several_processes_are_told_the_other_way(tmp_path, settings, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(UserError, match="one process: with torchrun"):
        diversify(RECIPE, tmp_path / "a", settings)
