"""`landmark train` and `landmark average`: settings, resuming, watching, averaging."""

import json
import re
import shutil
import sys
from importlib.machinery import ModuleSpec

import numpy as np
import pytest
import torch
import yaml

from landmark.data.tokenizer import SubwordTokenizer, TokenizerConfig
from landmark.engine.checkpoint import load_tensors
from landmark.engine.run import Run
from landmark.engine.session import InterruptedTraining, Session

# Mistakes in the settings


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("model.dropuot=0.2", "unknown key 'model.dropuot': did you mean dropout or word_dropout?"),
        ("modle.dropout=0.2", "unknown key 'modle': did you mean model?"),
        ("model.dropout=2", "model.dropout: Input should be less than 1 (got 2)"),
        ("model.num_heads=3", "num_heads 3 does not divide hidden_size 16"),
        ("schedule.name=linear", "schedule.name"),
        ("optimizer.name=adamx", "optimizer.name"),
        ("optimizer.betas=[0.9, 1.0]", "optimizer.betas.1: Input should be less than 1"),
        ("optimizer.betas=[-0.1, 0.9]", "optimizer.betas.0: Input should be greater than or equal"),
        ("optimizer.momentum=1", "optimizer.momentum: Input should be less than 1"),
        ("optimizer.square_decay=1.5", "optimizer.square_decay"),
        ("schedule.rate=-0.001", "schedule.rate"),
    ],
)
def test_a_wrong_setting_names_the_override_and_the_nearest_key(
    mistake, tiny, tmp_path, override, said
):
    words = ["train", "transformer-embedded", *tiny, override, "--run", tmp_path / "run"]
    line = mistake(*words)
    assert said in line
    if "heads" not in override:
        assert line.startswith(f"override '{override}': ")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("task: translation\nmodel:\n  hidden_size: 16\n  dropuot: 0.1\n",
         ":4: unknown key 'model.dropuot': did you mean dropout or word_dropout?"),
        ("task: translation\nsed: 1\n", ":2: unknown key 'sed': did you mean seed or "),
        ("task: translation\ntrainer:\n  max_steps: many\n", ":3: trainer.max_steps: "),
        ("task: translaton\n", "unknown task 'translaton': did you mean translation?"),
        ("seed: 1\n", ": 'task' is missing: one of "),
        ("task: [1, 2\nmodel: }\n", ":2: not valid YAML"),
        ("just some words\n", ":1: a recipe file must contain `key: value` lines"),
        ("- a\n- b\n", ":1: a recipe file must contain `key: value` lines"),
        ("", ":1: a recipe file must contain `key: value` lines"),
        (b"task: translation\nseed: \xff\n", ":2: not valid UTF-8"),
    ],
)  # fmt: skip
def test_a_wrong_recipe_file_is_named_with_its_line(mistake, tmp_path, text, said):
    file = tmp_path / "mine.yaml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    line = mistake("train", file, "--run", tmp_path / "run")
    assert said in line
    if not said.startswith("unknown task"):
        assert line.startswith(str(file))


def test_a_missing_recipe_file_is_said_to_be_missing(mistake, tmp_path):
    path = tmp_path / "no.yaml"
    assert mistake("train", path) == f"{path}: there is no such file"


@pytest.mark.parametrize("device", ["quark", "cuda:77", "meta"])
def test_a_wrong_device_lists_the_right_ones(mistake, tiny, tmp_path, device):
    words = ["transformer-embedded", *tiny, "--run", tmp_path / "run", "--device", device]
    said = mistake("train", *words)
    assert repr(device) in said
    assert "choose from auto, cpu" in said
    assert not (tmp_path / "run").exists()


def test_own_data_for_a_recipe_that_takes_none_is_refused(mistake, own_data):
    said = mistake("train", "gan-gaussian", *own_data.options())
    assert "--source does not fit gan-gaussian, a recipe of task 'adversarial'" in said


# Where a run is, and going on with it


@pytest.fixture
def finished(tiny_run, tmp_path):
    """A copy of the tiny run."""
    return shutil.copytree(tiny_run, tmp_path / "run")


def test_the_run_goes_by_default_where_its_recipe_is_named(
    command, tiny, two_steps, monkeypatch, tmp_path
):
    monkeypatch.chdir(tmp_path)
    answer = command("train", "transformer-embedded", *tiny, *two_steps)
    assert answer.out == "runs/transformer-embedded\n"
    assert (tmp_path / "runs/transformer-embedded/recipe.yaml").is_file()


def test_an_existing_run_is_not_overwritten(mistake, tiny, finished):
    before = (finished / "log.jsonl").read_bytes()
    said = mistake("train", "transformer-embedded", *tiny, "--run", finished)
    assert said == f"{finished}: exists: continue with --resume, or name another folder with --run"
    assert (finished / "log.jsonl").read_bytes() == before


@pytest.mark.parametrize("name", ["8", "step-000008"])
def test_resume_goes_back_to_a_named_step(command, tiny, finished, tiny_run, name):
    answer = command("train", "transformer-embedded", *tiny, "--run", finished, "--resume", name)
    assert answer.code == 0
    assert "step 9/12" in answer.err
    assert "step 6/12" not in answer.err
    ours, theirs = (
        load_tensors(folder / "checkpoints/step-000012", "model.safetensors")
        for folder in (finished, tiny_run)
    )
    assert all(torch.equal(ours[key], tensor) for key, tensor in theirs.items())


@pytest.mark.parametrize(
    "method",
    [
        "averaged-momentum",
        "nesterov",
        "adagrad",
        "rmsprop",
        "adadelta",
        "adamax",
        "amsgrad",
        "muon",
    ],
)
def test_a_resumed_run_steps_on_bit_exactly_with_any_method(command, tiny, tmp_path, method):
    words = ["train", "transformer-embedded", *tiny, f"optimizer.name={method}", "--run"]
    assert command(*words, tmp_path / "whole").code == 0
    shutil.copytree(tmp_path / "whole", tmp_path / "broken")
    answer = command(*words, tmp_path / "broken", "--resume", "4")
    assert answer.code == 0, answer.err
    whole, broken = (Run(tmp_path / name).checkpoint_folder(12) for name in ("whole", "broken"))
    for name in ("model.safetensors", "state.safetensors"):
        expected, found = load_tensors(whole, name), load_tensors(broken, name)
        assert expected.keys() == found.keys()
        assert all(torch.equal(found[key], value) for key, value in expected.items())
        assert any(value.any() for value in expected.values())


def test_a_run_from_before_there_were_many_methods_goes_on(command, tiny, finished):
    """Its recipe knew seven settings of an optimiser; the names of its moments are the same."""
    new = r"^  (bias_correction|square_decay|square_epsilon|centered|readable):.*\n"
    recipe = (finished / "recipe.yaml").read_text().rpartition("# sha256: ")[0]
    older, removed = re.subn(new, "", recipe, flags=re.MULTILINE)
    assert removed == 5
    Run(finished).write_recipe(older)
    words = ["transformer-embedded", *tiny, "trainer.max_steps=14", "--run", finished]
    assert command("train", *words, "--resume").code == 0
    assert Run(finished).steps()[-1] == 14


def test_resume_alone_goes_on_from_the_newest_checkpoint(command, tiny, finished):
    words = ["transformer-embedded", *tiny, "trainer.max_steps=15", "--run", finished]
    answer = command("train", *words, "--resume")
    assert answer.code == 0
    assert re.findall(r"^step (\d+)/15", answer.err, re.MULTILINE) == ["15"]
    assert Run.open(finished).steps()[-1] == 15


def test_a_runs_own_recipe_file_resumes_it_without_repeating_settings(command, finished):
    words = [finished / "recipe.yaml", "trainer.max_steps=14", "--run", finished, "--resume"]
    assert command("train", *words).code == 0
    assert Run.open(finished).steps()[-1] == 14


def test_resume_with_a_changed_setting_names_the_key_and_both_values(mistake, tiny, finished):
    words = ["transformer-embedded", *tiny, "model.dropout=0.3", "--run", finished, "--resume"]
    said = mistake("train", *words)
    assert said.startswith(f"{finished}: was trained with model.dropout=0.1, not 0.3")
    assert f"train {finished / 'recipe.yaml'}" in said


def test_resume_without_the_data_files_names_what_changed(
    mistake, train, own_data, tiny, two_steps
):
    run, _ = train(*own_data.options())
    words = ["translation", *tiny, *two_steps, "--run", run.folder, "--resume"]
    assert f"was trained with data.source=['{own_data.source}'], not []" in mistake("train", *words)


def test_resume_from_an_unknown_step_lists_the_known(mistake, tiny, finished):
    words = ["transformer-embedded", *tiny, "--run", finished, "--resume", "777"]
    said = mistake("train", *words)
    assert said.startswith(f"{finished}: no checkpoint '777': choose from best, latest, 4, 5, 8")


def test_resume_by_step_needs_a_run(mistake, tiny, tmp_path):
    words = ["transformer-embedded", *tiny, "--run", tmp_path / "no", "--resume", "4"]
    assert mistake("train", *words).startswith(f"{tmp_path / 'no'}: there is no such run")
    assert not (tmp_path / "no").exists()


def test_resume_alone_needs_a_run_but_for_a_restarted_group(
    mistake, command, monkeypatch, tiny, two_steps, tmp_path
):
    words = ["transformer-embedded", *tiny, *two_steps, "--run", tmp_path / "new", "--resume"]
    assert mistake("train", *words).startswith(f"{tmp_path / 'new'}: there is no such run")
    assert not (tmp_path / "new").exists()
    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", "1")
    answer = command("train", *words)
    assert answer.code == 0
    assert answer.err.startswith(f"{tmp_path / 'new'}: no run here yet")


def test_a_file_is_no_run_folder(mistake, tiny, tmp_path):
    (tmp_path / "file").touch()
    said = mistake("train", "transformer-embedded", *tiny, "--run", tmp_path / "file")
    assert said.startswith(f"{tmp_path / 'file'}: is a file")


def test_another_tokenizer_in_a_run_is_noticed_on_resuming(mistake, tiny, finished):
    other = SubwordTokenizer.train(["other words entirely"] * 9, TokenizerConfig(vocab_size=300))
    other.save(finished / "tokenizer.json")
    words = ["transformer-embedded", *tiny, "--run", finished, "--resume"]
    said = mistake("train", *words)
    assert said.startswith(f"{finished / 'tokenizer.json'}: is not the one")


def test_an_interrupted_training_exits_with_the_signals_code(command, tiny, tmp_path, monkeypatch):
    monkeypatch.setattr(
        Session, "_agreed_signal", lambda session: 15 * (session.trainer.state.step == 3)
    )
    answer = command("train", "transformer-embedded", *tiny, "--run", tmp_path / "run")
    assert answer.code == InterruptedTraining(15, 3).exit_code == 143
    assert answer.out == ""
    assert (
        "stopped by SIGTERM after step 3, all saved; continue with the same command and --resume"
        in answer.err
    )
    assert Run.open(tmp_path / "run").steps() == [3]


# Watching


def test_progress_goes_to_stderr_and_the_folder_to_stdout(train, own_data):
    run, said = train(*own_data.options(), "trainer.log_every=1")
    loss = r"loss \d\.\d{3} \(label smoothing 0\.1; cross-entropy \d\.\d{3}\)"
    assert re.search(rf"^step 1/2: {loss}, [\d,]+ tokens/s, 0:\d\d left$", said, re.M)
    valid = r"^step 2: validation \(moving average\) accuracy .*, loss .* \(best so far\)$"
    assert re.search(valid, said, re.M)
    assert re.search(r"^done: 2 steps, 0\.\d minutes of training$", said, re.M)
    place = run.folder
    assert said.endswith(f"next: landmark translate {place} TEXT; landmark evaluate {place}\n")


def test_tensorboard_files_hold_the_curves(train, own_data):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    run, _ = train(*own_data.options(), "--tensorboard", "trainer.log_every=1")
    events = EventAccumulator(str(run.folder / "tensorboard"))
    events.Reload()
    log = run.read_log()
    for kind in ("train", "valid"):
        logged = [(r["step"], r["loss"]) for r in log if r["kind"] == kind]
        scalars = [(event.step, event.value) for event in events.Scalars(f"{kind}/loss")]
        np.testing.assert_allclose(scalars, logged, rtol=1e-6)
    assert [event.step for event in events.Scalars("train/rate")] == [1, 2]


class Recorder:
    """Stands in for the wandb package: remembers what it is told."""

    class Error(Exception):
        pass

    def __init__(self) -> None:
        self.__spec__ = ModuleSpec("wandb", None, origin="wandb.py")
        self.begun, self.logged, self.ended = [], [], []

    def Settings(self, **settings):  # noqa: N802
        return settings

    def init(self, **settings):
        self.begun.append(settings)
        return self

    def define_metric(self, name, step_metric):
        assert (name, step_metric) == ("*", "step")

    def log(self, record):
        self.logged.append(record)

    def finish(self, exit_code):
        self.ended.append(exit_code)


@pytest.fixture
def wandb(monkeypatch):
    recorder = Recorder()
    monkeypatch.setitem(sys.modules, "wandb", recorder)
    return recorder


def test_weights_and_biases_gets_the_curves_and_the_configuration(train, own_data, wandb):
    run, _ = train(*own_data.options(), "--wandb", "trainer.log_every=1")
    (begun,) = wandb.begun
    assert begun["project"] == "landmark"
    assert (begun["name"], begun["dir"]) == (run.folder.name, str(run.folder))
    assert begun["config"]["trainer"]["max_steps"] == 2
    for kind in ("train", "valid"):
        logged = [(r["step"], r["loss"]) for r in run.read_log() if r["kind"] == kind]
        told = [(r["step"], r[f"{kind}/loss"]) for r in wandb.logged if f"{kind}/loss" in r]
        assert told == logged
    assert all(isinstance(v, float | int) for record in wandb.logged for v in record.values())
    assert wandb.ended == [0]


def test_weights_and_biases_keeps_its_run_when_the_training_goes_on(
    command, tiny, tmp_path, wandb, monkeypatch
):
    words = ["train", "transformer-embedded", *tiny, "--run", tmp_path / "run", "--wandb"]
    with monkeypatch.context() as patch:
        patch.setattr(
            Session, "_agreed_signal", lambda session: 15 * (session.trainer.state.step == 3)
        )
        assert command(*words).code == 143
    assert command(*words, "--resume").code == 0
    first, second = wandb.begun
    assert first["id"] == second["id"]
    assert second["resume"] == "allow"
    assert wandb.ended == [1, 0]


def test_weights_and_biases_own_complaint_is_one_line(
    command, mistake, tiny, tmp_path, wandb, monkeypatch
):
    def refuse(**settings):
        raise wandb.Error("api_key not configured (no-tty)")

    monkeypatch.setattr(wandb, "init", refuse)
    words = ["train", "transformer-embedded", *tiny, "--run", tmp_path / "run"]
    said = mistake(*words, "--wandb", worked=True)
    assert said.startswith("Weights & Biases: api_key not configured")
    assert "WANDB_MODE=offline" in said
    assert command(*words, "--resume").code == 0


@pytest.mark.parametrize(
    ("flag", "module"), [("wandb", "wandb"), ("tensorboard", "torch.utils.tensorboard")]
)
def test_a_missing_package_is_named_before_anything_is_prepared(
    mistake, tiny, tmp_path, monkeypatch, flag, module
):
    monkeypatch.setitem(sys.modules, module, None)
    said = mistake("train", "transformer-embedded", *tiny, "--run", tmp_path / "run", f"--{flag}")
    assert said == f"--{flag} needs: pip install 'landmark[{flag}]'"
    assert not (tmp_path / "run").exists()


def test_a_folder_called_wandb_is_not_the_package(mistake, tiny, tmp_path, monkeypatch):
    (tmp_path / "wandb").mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "wandb", raising=False)
    said = mistake("train", "transformer-embedded", *tiny, "--run", tmp_path / "run", "--wandb")
    assert said == "--wandb needs: pip install 'landmark[wandb]'"


def test_without_being_asked_no_event_files_are_written(tiny_run):
    assert not (tiny_run / "tensorboard").exists()
    assert not (tiny_run / "profile.txt").exists()


def test_a_profile_has_a_table_and_a_trace(command, tiny, tmp_path):
    run = tmp_path / "run"
    words = ["transformer-embedded", *tiny, "--run", run, "--profile"]
    assert command("train", *words).code == 0
    assert "Self CPU" in (run / "profile.txt").read_text()
    events = json.loads((run / "profile.json").read_text())["traceEvents"]
    assert any("aten::" in event.get("name", "") for event in events)


# Averaging


def test_average_is_the_mean_of_the_last_checkpoints_and_is_used_from_then_on(
    command, finished, monkeypatch
):
    monkeypatch.setattr("landmark.tasks.translation.evaluation.EMBEDDED_TEST_PAIRS", 5)
    run = Run.open(finished)
    before = run.find_checkpoint()
    answer = command("average", finished, "--last", "3")
    assert answer.code == 0
    assert answer.out == f"{finished}/checkpoints/averaged-000012\n"
    assert answer.err == "averaged 3 checkpoints\n"
    assert run.find_checkpoint().name == "averaged-000012" != before.name
    averaged = load_tensors(run.find_checkpoint(), "model.safetensors")
    assert run.steps()[-3:] == [8, 10, 12]
    parts = [load_tensors(run.checkpoint_folder(n), "model.safetensors") for n in (8, 10, 12)]
    for name, tensor in averaged.items():
        mean = torch.stack([part[name].double() for part in parts]).mean(0)
        torch.testing.assert_close(tensor.double(), mean, atol=1e-7, rtol=1e-6)
    scored = json.loads(command("evaluate", finished, "--split", "valid", "--json").out)
    assert scored["checkpoint"] == "averaged-000012"


def test_average_of_more_than_there_are_takes_all(command, finished):
    answer = command("average", finished, "--last", "99")
    assert answer.err == f"averaged {len(Run.open(finished).steps())} checkpoints\n"


def test_average_refuses_what_is_no_run(mistake, tmp_path):
    assert "there is no such run" in mistake("average", tmp_path / "no")
    assert "is not a run" in mistake("average", tmp_path)


def test_the_recipe_of_a_run_names_versions_seed_and_threads(tiny_run):
    values = yaml.safe_load((tiny_run / "recipe.yaml").read_text())
    assert values["seed"] == 1
    assert values["environment"]["threads"] == 1
    assert values["environment"]["torch"] == torch.__version__
    assert re.fullmatch("[0-9a-f]{16}", values["identity"])
    assert values["model"]["vocab_size"] == 500


def test_a_gpt_and_a_bert_are_trained_further_on_a_text(
    command, mistake, pretrained_runs, tmp_path
):
    (tmp_path / "text.txt").write_text("the old man reads a book .\n\nnot very good .\n\n" * 20)
    steps = ["trainer.max_steps=2", "trainer.validate_every=2", "threads=1"]
    for name, other in (("gpt", "bert"), ("bert", "gpt")):
        run = tmp_path / name
        words = ["train", name, "--text", tmp_path / "text.txt", "--run", run, *steps]
        answer = command(*words, "--init-from", pretrained_runs[name])
        assert (answer.code, answer.out) == (0, f"{run}\n")
        words[words.index(run)] = tmp_path / "none"
        said = mistake(*words, "--init-from", pretrained_runs[other])
        assert said.startswith(f"{pretrained_runs[other]}: is a run of task ")
        assert not (tmp_path / "none").exists()
