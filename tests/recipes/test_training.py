import hashlib
import math
import shutil

import pytest
import yaml

import landmark
from benchmarks.faults.damage import flip
from landmark.core.configuration import as_values
from landmark.core.errors import UserError
from landmark.engine.run import Run
from landmark.tasks import training
from landmark.tasks.catalog import RECIPES
from landmark.tasks.training import check_assets, flatten, identity, load_config, resolve


@pytest.fixture
def copied(tiny_run, tmp_path):
    return shutil.copytree(tiny_run, tmp_path / "run")


# What to train


def test_a_recipe_is_resolved_by_its_name_with_overrides():
    config = resolve("transformer-embedded", ["model.dropout=0.3", "trainer.patience=7"])
    assert config.model.dropout == 0.3
    assert config.trainer.patience == 7
    assert resolve("transformer-embedded").model.dropout != 0.3


def test_a_recipe_is_resolved_from_a_file(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text("task: translation\nmodel:\n  hidden_size: 64\n  num_heads: 2\nseed: 5\n")
    config = resolve(str(file), ["seed=6"])
    assert (config.model.hidden_size, config.model.num_heads, config.seed) == (64, 2, 6)
    assert config.model.inner_size == 2048  # what is not said stays as it is by default


def test_a_file_without_the_ending_is_a_recipe_file_too(tmp_path):
    file = tmp_path / "recipe"
    file.write_text("task: translation\n")
    assert resolve(str(file)).task == "translation"


def test_a_name_that_is_neither_recipe_nor_file_suggests_the_nearest(tmp_path):
    with pytest.raises(UserError, match="did you mean gan-gaussian"):
        resolve("gan-gausian")
    with pytest.raises(UserError, match="is a folder: name a recipe"):
        resolve(str(tmp_path))


def test_a_runs_own_recipe_file_can_be_trained_again(tiny_run, tmp_path):
    config = resolve(str(tiny_run / "recipe.yaml"))
    assert config == load_config(Run.open(tiny_run))
    again = landmark.train(str(tiny_run / "recipe.yaml"), tmp_path / "again")
    names = ("checkpoints/step-000012/model.safetensors", "tokenizer.json")
    for name in names:
        assert (again.folder / name).read_bytes() == (tiny_run / name).read_bytes()


def test_keys_are_flattened_with_dots():
    assert flatten({"a": 1, "b": {"c": [2], "d": {"e": None}}}) == {
        "a": 1,
        "b.c": [2],
        "b.d.e": None,
    }


# What a run is


def test_identity_follows_recipe_and_data_but_not_the_machine(tmp_path, monkeypatch):
    name = "transformer-embedded"
    base = identity(resolve(name))
    assert identity(resolve(name, ["device=cpu", "threads=2"])) == base
    assert identity(resolve(name, ["seed=2"])) != base
    assert identity(resolve(name, ["data.train_pairs=7"])) != base
    file = tmp_path / "own.tsv"
    own = ["data.corpus=files", f"data.source=[{file}]"]
    file.write_text("a\tb\n")
    before = identity(resolve(name, own))
    file.write_text("a\tc\n")
    assert identity(resolve(name, own)) != before


def test_what_may_change_on_resuming_exists_in_the_configuration():
    known = {key for name in RECIPES for key in flatten(as_values(resolve(name)))}
    assert known >= training._FREE | training._DELIBERATE


@pytest.mark.parametrize(
    "override",
    ["seed=2", "model.norm=post", "data.train_pairs=301", "batches.tokens=201",
     "objective.label_smoothing=0.2", "trainer.precision=bf16", "trainer.ema_decay=0.9"],
)  # fmt: skip
def test_what_an_update_computes_may_not_change_on_resuming(copied, tiny, override):
    key, _, value = override.partition("=")
    with pytest.raises(UserError) as caught:
        landmark.train("transformer-embedded", copied, [*tiny, override], resume="auto")
    assert f"was trained with {key}=" in str(caught.value)
    assert f"not {value}" in str(caught.value)


def test_the_rate_changes_on_resuming_only_if_it_is_named(copied, tiny):
    lower = [*tiny, "schedule.rate=0.001", "trainer.clip_norm=0.5", "trainer.max_steps=13"]
    run = landmark.train("transformer-embedded", copied, lower, resume="auto")
    assert run.read_recipe()["schedule"]["rate"] == 0.001
    with pytest.raises(UserError, match=r"was trained with schedule.rate=0.001, not 0.003"):
        landmark.train("transformer-embedded", copied, [*tiny, *lower[-2:]], resume="auto")


def test_how_long_and_how_often_may_change_on_resuming(copied, tiny):
    changes = [
        "trainer.max_steps=14", "trainer.log_every=1", "trainer.validate_every=14",
        "trainer.checkpoint_every=13", "trainer.keep_last=2", "trainer.average_last=2",
        "trainer.accumulate=2", "device=cpu",
    ]  # fmt: skip
    run = landmark.train("transformer-embedded", copied, [*tiny, *changes], resume="auto")
    assert run.steps()[-2:] == [13, 14]
    assert run.find_checkpoint("averaged").name == "averaged-000014"


# How long


def test_any_task_is_trained_for_epochs(tmp_path, tiny):
    records = []
    free = [setting for setting in tiny if "max_steps" not in setting]
    settings = [*free, "data.train_pairs=40", "trainer.epochs=1.5"]
    run = landmark.train("transformer-embedded", tmp_path / "run", settings, report=records.append)
    (batches,) = [record["batches"] for record in records if "batches" in record]
    stored = load_config(run).trainer
    assert stored.max_steps == run.steps()[-1] == math.ceil(1.5 * batches)
    landmark.train("transformer-embedded", run.folder, settings, resume="auto")  # the same command
    assert load_config(run).trainer == stored
    longer = [*settings, f"trainer.max_steps={stored.max_steps + 1}"]
    landmark.train("transformer-embedded", run.folder, longer, resume="auto")
    assert run.steps()[-1] == stored.max_steps + 1
    changed = [*settings[:-1], "trainer.epochs=2"]
    with pytest.raises(UserError, match=r"was trained with trainer\.epochs=1\.5, not 2\.0"):
        landmark.train("transformer-embedded", run.folder, changed, resume="auto")


# In Python


def test_training_from_python_gives_the_run_and_reports_every_record(tmp_path, tiny):
    records = []
    run = landmark.train(
        "transformer-embedded", str(tmp_path / "run"), [*tiny, "trainer.max_steps=3"],
        report=records.append,
    )  # fmt: skip
    assert run.folder == tmp_path / "run"
    assert run.finished()
    kinds = [record["kind"] for record in records]
    assert kinds == ["note", "data", "step", "step", "train", "valid", "end"]
    assert [r["kind"] for r in run.read_log()] == ["data", "train", "valid", "end"]
    assert landmark.load(run.folder).translate(["The dog."])[0].source == "The dog."


def test_mistakes_from_python_are_user_errors(tiny_run, tiny, tmp_path):
    with pytest.raises(landmark.UserError, match="continue with --resume"):
        landmark.train("transformer-embedded", tiny_run, tiny)
    with pytest.raises(landmark.UserError, match="unknown recipe"):
        landmark.train("nonsense", tmp_path / "run")
    with pytest.raises(landmark.UserError, match="there is no such run"):
        landmark.train("transformer-embedded", tmp_path / "run", tiny, resume="4")


def test_a_failed_preparation_leaves_nothing_behind_that_was_not_there(tmp_path, tiny):
    folder = tmp_path / "run"
    with pytest.raises(UserError, match="vocabulary does not match"):
        landmark.train("transformer-embedded", folder, [*tiny, "model.vocab_size=99"])
    assert not folder.exists()
    folder.mkdir()
    (folder / "log.jsonl").write_text("mine")
    with pytest.raises(UserError, match="is neither empty nor a run"):
        landmark.train("transformer-embedded", folder, tiny)
    assert [path.name for path in folder.iterdir()] == ["log.jsonl"]
    assert (folder / "log.jsonl").read_text() == "mine"
    (folder / "log.jsonl").unlink()
    run = landmark.train("transformer-embedded", folder, [*tiny, "trainer.max_steps=1"])
    assert [r["kind"] for r in run.read_log()].count("data") == 1


# What belongs to it


def test_settings_that_do_not_go_together_leave_nothing_behind(tmp_path):
    with pytest.raises(UserError, match="has none to learn: take adamw"):
        landmark.train("hello", tmp_path / "run", ["optimizer.name=muon"])
    assert not (tmp_path / "run").exists()


def test_the_recipe_keeps_the_digest_of_every_file_beside_the_checkpoints(tiny_run):
    values = yaml.safe_load((tiny_run / "recipe.yaml").read_text())
    names = {path.name for path in tiny_run.iterdir() if path.is_file()}
    assert values["assets"].keys() == names - {"recipe.yaml", "log.jsonl", "lock"}
    for name, digest in values["assets"].items():
        assert digest == hashlib.sha256((tiny_run / name).read_bytes()).hexdigest()


def test_assets_lead_nowhere_else_and_older_runs_have_fewer(copied):
    run, text = Run.open(copied), (copied / "recipe.yaml").read_text()
    settings = text[: text.index("environment:")]
    run.write_recipe(settings)
    check_assets(run)
    run.write_recipe(settings + "assets:\n  ../other/words.txt: abc\n")
    with pytest.raises(UserError, match=r"the asset '../other/words.txt' leads out of the run"):
        check_assets(run)


@pytest.mark.parametrize("name", ["tokenizer.json", "words.txt"])
def test_assets_that_changed_or_went_are_named(copied, name):
    run, path = Run.open(copied), copied / name
    check_assets(run)
    flip(path)
    with pytest.raises(UserError, match=f"{path}: is not the one"):
        check_assets(run)
    path.unlink()
    with pytest.raises(UserError, match=f"{path}: is missing"):
        check_assets(run)


def test_what_is_changed_on_resuming_is_written_down(copied, tiny):
    landmark.train("transformer-embedded", copied, [*tiny, "trainer.max_steps=14"], resume="auto")
    assert load_config(Run.open(copied)).trainer.max_steps == 14
    check_assets(Run.open(copied))
    landmark.train(str(copied / "recipe.yaml"), copied, resume="auto")


def test_a_model_that_no_memory_holds_is_refused_and_leaves_nothing_behind(tmp_path, tiny):
    wide = [*tiny, "model.hidden_size=4000000", "model.inner_size=4000000"]
    with pytest.raises(UserError, match=r"^training the model of .* needs .* GB of memory, and"):
        landmark.train("transformer-embedded", tmp_path / "run", wide)
    assert not (tmp_path / "run").exists()


def test_a_seed_that_no_generator_takes_is_refused():
    with pytest.raises(UserError, match="seed"):
        resolve("gan-gaussian", [f"seed={10**24}"])


def test_a_failed_preparation_never_touches_what_it_did_not_make(tmp_path, tiny):
    folder = tmp_path / "run"
    folder.mkdir()
    for name in ("lock", "thesis.tex"):  # a file of ours by name does not make the folder ours
        (folder / name).write_text("mine")
    with pytest.raises(UserError, match="is neither empty nor a run"):
        landmark.train("transformer-embedded", folder, [*tiny, "model.vocab_size=99"])
    assert {path.name for path in folder.iterdir()} == {"lock", "thesis.tex"}


def test_going_on_with_other_threads_is_said(copied, tiny, rewrite_recipe):
    rewrite_recipe(copied, "  threads: 1\n", "  threads: 7\n")
    records = []
    landmark.train("transformer-embedded", copied, tiny, resume="auto", report=records.append)
    notes = [record["text"] for record in records if record["kind"] == "note"]
    assert notes == ["warning: started with 7 threads, now 1: results differ in the last bits"]
