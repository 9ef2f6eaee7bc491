"""`landmark train` and `landmark average` on the user's own data, and with every mistake."""

import gzip
import json
import re
import shutil

import numpy as np
import pytest
import torch
import yaml

from landmark.data.shards import TokenStore
from landmark.data.tokenizer import SubwordTokenizer, TokenizerConfig
from landmark.engine.checkpoint import load_tensors
from landmark.engine.run import Run
from landmark.engine.session import InterruptedTraining, Session

# Preparation is what these tests look at: two updates are enough.
SHORT = ["trainer.max_steps=2", "trainer.validate_every=2", "trainer.checkpoint_every=2"]


@pytest.fixture
def train(command, tmp_path, tiny):
    """Train the translation recipe for two steps; the finished run, and what was said."""

    def call(*words, run="run"):
        answer = command("train", "translation", *tiny, *SHORT, *words, "--run", tmp_path / run)
        assert answer.code == 0, answer.err
        assert answer.out == f"{tmp_path / run}\n"
        return Run.open(tmp_path / run), answer.err

    return call


def sentences(run: Run, split: str) -> list[tuple[str, str]]:
    """What a run trained or validated on, from its token shards."""
    tokenizer = SubwordTokenizer.load(run.folder / "tokenizer.json")
    store = TokenStore(run.folder / "data" / split)
    sides = [
        tokenizer.decode([store[side, number].tolist() for number in range(len(store))])
        for side in ("source", "target")
    ]
    return list(zip(*sides, strict=True))


def test_two_plain_files_are_trained_on_and_a_tenth_is_held_out(train, own_data):
    run, said = train(*own_data.options())
    held_out = own_data.pairs[9::10]
    assert sentences(run, "valid") == held_out
    assert sentences(run, "train") == [pair for pair in own_data.pairs if pair not in held_out]
    assert "108 pairs to train on, 12 to validate, 500 subwords" in said
    assert "left out" not in said
    assert run.finished()


def test_gzip_table_and_plain_text_give_the_same_run(train, own_data):
    packed = []
    for path in (own_data.source, own_data.target):
        packed.append(path.with_name(f"{path.name}.gz"))
        packed[-1].write_bytes(gzip.compress(path.read_bytes()))
    table = own_data.write("own.tsv", [f"{a}\t{b}" for a, b in own_data.pairs])
    forms = [
        own_data.options(),
        ["--source", packed[0], "--target", packed[1]],
        ["--source", table],
    ]
    runs = [train(*form, run=f"form-{number}")[0] for number, form in enumerate(forms)]
    weights = [load_tensors(run.checkpoint_folder(2), "model.safetensors") for run in runs]
    for other in weights[1:]:
        assert all(torch.equal(other[name], tensor) for name, tensor in weights[0].items())


def test_reverse_swaps_the_sides(train, own_data):
    run, _ = train(*own_data.options(), "--reverse")
    assert sentences(run, "valid") == [(b, a) for a, b in own_data.pairs[9::10]]
    words = (run.folder / "words.txt").read_text().split()
    assert "und" in words
    assert "and" not in words


def test_given_validation_files_are_used_and_nothing_is_held_out(train, own_data):
    own_data.write("valid.en", ["Good morning.", "Thank you."])
    own_data.write("valid.de", ["Guten Morgen.", "Danke."])
    files = [own_data.folder / "valid.en", own_data.folder / "valid.de"]
    run, said = train(*own_data.options(), "--valid-source", files[0], "--valid-target", files[1])
    assert sentences(run, "valid") == [("Good morning.", "Guten Morgen."), ("Thank you.", "Danke.")]
    assert len(sentences(run, "train")) == 120
    assert "120 pairs to train on, 2 to validate" in said


def test_several_files_follow_each_other(train, own_data):
    more = own_data.write("more.en", ["One more.", "And another."])
    their = own_data.write("more.de", ["Noch einer.", "Und noch einer."])
    run, _ = train(*own_data.options(), "--source", more, "--target", their)
    assert sentences(run, "train")[-2:] == [
        ("One more.", "Noch einer."),
        ("And another.", "Und noch einer."),
    ]


def test_cleaning_says_how_many_pairs_it_left_out_and_why(train, own_data):
    lines = [f"{a}\t{b}" for a, b in own_data.pairs[:60]]
    lines += lines[:3]
    lines += ["\tleer", "empty\t", " \t "]
    lines += ["w " * 251 + "\t" + "w " * 251, "a b c d e f g h i\tzwei Wörter"]
    lines += ["The last one is held out.\tDer letzte ist zurückgehalten."]
    table = own_data.write("dirty.tsv", lines)
    run, said = train("--source", table, "--clean", "data.valid_pairs=1")
    reasons = re.search(r"warning: left out: (.*)", said)[1]
    assert set(reasons.split(", ")) == {"3 repeated", "3 empty", "1 too long", "1 lopsided"}
    assert run.read_log()[0]["left_out"]["repeated"] == 3
    kept = sentences(run, "train")
    assert set(kept) < set(own_data.pairs)
    assert len(kept) == len(set(kept)) == 60


def test_lines_too_long_for_the_model_are_counted_and_skipped(train, own_data):
    long = "word " * 100
    own_data.write("own.en", [a for a, _ in own_data.pairs] + [long, "short"])
    own_data.write("own.de", [b for _, b in own_data.pairs] + ["kurz", long])
    own_data.write("valid.en", ["Thank you.", long])
    own_data.write("valid.de", ["Danke.", "lang"])
    valid = [own_data.folder / "valid.en", own_data.folder / "valid.de"]
    run, said = train(*own_data.options(), "--valid-source", valid[0], "--valid-target", valid[1])
    assert "warning: left out: 2 longer than 63 tokens" in said
    assert "warning: left out of validation: 1 longer than 63 tokens" in said
    assert len(sentences(run, "train")) == 120
    assert len(sentences(run, "valid")) == 1
    lengths = TokenStore(run.folder / "data" / "train").lengths
    assert max(lengths["source"].max(), lengths["target"].max()) <= 63


def test_own_data_learns_and_translates_itself(command, own_data):
    """The way through for a newcomer: train, then translate and score what was learnt."""
    pairs = [
        ("The dog sleeps.", "Der Hund schläft."),
        ("The cat eats.", "Die Katze frisst."),
        ("A bird sings.", "Ein Vogel singt."),
        ("The dog eats.", "Der Hund frisst."),
    ]
    source = own_data.write("few.en", [a for a, _ in pairs])
    target = own_data.write("few.de", [b for _, b in pairs])
    run = own_data.folder / "few"
    files = ["--source", source, "--target", target]
    files += ["--valid-source", source, "--valid-target", target]
    settings = [
        "tokenizer.vocab_size=300", "model.hidden_size=32", "model.inner_size=64",
        "model.encoder_layers=1", "model.decoder_layers=1", "model.dropout=0", "threads=1",
        "objective.label_smoothing=0", "schedule.name=constant", "schedule.rate=0.01",
        "schedule.warmup_steps=5", "trainer.max_steps=60", "trainer.validate_every=30",
        "trainer.average_last=0",
    ]  # fmt: skip
    assert command("train", "translation", *files, *settings, "--run", run).code == 0
    answer = command("translate", run, "The dog eats.", "A bird sings.")
    assert answer.out == "Der Hund frisst.\nEin Vogel singt.\n"
    assert answer.err == ""
    report = command("evaluate", run, "--split", "valid", "--json")
    scores = {s["name"]: s["value"] for s in json.loads(report.out)["sets"][0]["scores"]}
    assert scores["exact match"] == 100
    assert scores["BLEU"] == pytest.approx(100)


def test_a_recipe_file_takes_own_data_too(command, own_data, tiny):
    file = own_data.folder / "mine.yaml"
    file.write_text(command("recipe", "translation", *tiny, *SHORT).out)
    run = own_data.folder / "run"
    assert command("train", file, *own_data.options(), "--run", run).code == 0
    assert sentences(Run.open(run), "valid") == own_data.pairs[9::10]


def test_the_run_goes_by_default_where_its_recipe_is_named(
    command, own_data, tiny, monkeypatch, tmp_path
):
    monkeypatch.chdir(tmp_path)
    answer = command("train", "transformer-embedded", *tiny, *SHORT)
    assert answer.out == "runs/transformer-embedded\n"
    assert (tmp_path / "runs/transformer-embedded/recipe.yaml").is_file()


def test_progress_goes_to_stderr_and_the_folder_to_stdout(train, own_data):
    run, said = train(*own_data.options(), "trainer.log_every=1")
    assert re.search(r"^step 1/2: loss \d\.\d{3}, [\d,]+ tokens/s, 0:\d\d left$", said, re.M)
    assert re.search(r"^step 2: validation accuracy .*, loss .* \(best so far\)$", said, re.M)
    assert re.search(r"^done: 2 steps, 0\.\d minutes of training$", said, re.M)
    assert run.folder.name == "run"


# Mistakes in the data


def test_sides_of_unequal_length_give_both_counts(mistake, own_data, tiny):
    short = own_data.write("short.de", ["eins", "zwei"])
    said = mistake("train", "translation", "--source", own_data.source, "--target", short, *tiny)
    assert said.startswith(f"{own_data.source} has 120 lines but {short} has 2")


def test_an_empty_file_is_named(mistake, own_data, tiny):
    empty = own_data.write("empty", [])
    options = ["--run", own_data.folder / "run", *tiny]
    said = mistake("train", "translation", "--source", empty, "--target", empty, *options)
    assert said.startswith(f"{empty}: is empty")
    valid = ["--valid-source", empty, "--valid-target", empty]
    assert mistake("train", "translation", *own_data.options(), *valid, *options) == said


def test_invalid_utf8_names_file_and_line_before_any_work(mistake, own_data, tiny):
    content = own_data.target.read_bytes().splitlines(keepends=True)
    content[41] = b"Stra\xdfe\n"
    own_data.target.write_bytes(b"".join(content))
    run = own_data.folder / "run"
    said = mistake("train", "translation", *own_data.options(), "--run", run, *tiny)
    assert said.startswith(f"{own_data.target}:42: not valid UTF-8")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--source", "missing.en", "--target", "missing.de"], "missing.en: cannot be read"),
        (["--target", "a.de"], "own data needs --source"),
        (["--valid-source", "a.en"], "own data needs --source"),
        (["--source", "a.en", "--target", "a.de", "--valid-target", "b"], "needs --valid-source"),
        (["--source", "a", "--source", "b", "--target", "c"], "a: cannot be read"),
    ],
)
def test_incomplete_data_options_are_refused(mistake, options, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert said in mistake("train", "translation", *options)


def test_own_data_that_is_not_given_is_asked_for(mistake, tmp_path):
    run = tmp_path / "run"
    assert "give --source and --target" in mistake("train", "translation", "--run", run)
    assert not run.exists()


def test_a_second_word_after_an_option_is_no_file(mistake, own_data):
    said = mistake("train", "translation", "--source", own_data.source, own_data.target)
    assert "is not an override: write key=value" in said


def test_one_side_alone_is_refused_by_its_line(mistake, own_data, tiny):
    options = ["--run", own_data.folder / "run", *tiny]
    said = mistake("train", "translation", "--source", own_data.source, *options)
    assert said.startswith(f"{own_data.source}:1: 1 tab-separated columns")


def test_a_single_pair_cannot_be_split(mistake, own_data, tiny):
    table = own_data.write("one.tsv", ["Hello.\tHallo."])
    options = ["--source", table, "--run", own_data.folder / "run", *tiny]
    assert "too few to hold one out" in mistake("train", "translation", *options, worked=True)


def test_nothing_left_after_cleaning_says_why(mistake, own_data, tiny):
    table = own_data.write("bad.tsv", ["\tleer"] * 20)
    options = ["--source", table, "--clean", "--run", own_data.folder / "run", *tiny]
    said = mistake("train", "translation", *options, worked=True)
    assert said.startswith("no training pair is left (18 empty)")


def test_a_vocabulary_that_does_not_match_gives_both_sizes(mistake, own_data, tiny):
    run = own_data.folder / "run"
    options = [*own_data.options(), "--run", run, *tiny, "model.vocab_size=77"]
    said = mistake("train", "translation", *options, worked=True)
    expected = "the vocabulary does not match: model.vocab_size is 77, the tokenizer has 500"
    assert said == expected
    assert not run.exists()  # nothing is left behind


def test_an_existing_tokenizer_is_used(train, own_data, tiny_run, command):
    tokenizer = tiny_run / "tokenizer.json"
    run, _ = train(*own_data.options(), f"tokenizer.file={tokenizer}")
    assert (run.folder / "tokenizer.json").read_bytes() == tokenizer.read_bytes()


# Mistakes in the settings


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("model.dropuot=0.2", "unknown key 'model.dropuot': did you mean dropout?"),
        ("modle.dropout=0.2", "unknown key 'modle': did you mean model?"),
        ("model.dropout=2", "model.dropout: Input should be less than 1 (got 2)"),
        ("model.num_heads=3", "num_heads 3 does not divide hidden_size 16"),
        ("schedule.name=linear", "schedule.name"),
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
         ":4: unknown key 'model.dropuot': did you mean dropout?"),
        ("task: translation\nsed: 1\n", ":2: unknown key 'sed': did you mean seed or schedule?"),
        ("task: translation\ntrainer:\n  max_steps: many\n", ":3: trainer.max_steps: "),
        ("task: translaton\n", "unknown task 'translaton': did you mean translation?"),
        ("seed: 1\n", ": 'task' is missing: one of "),
        ("task: [1, 2\nmodel: }\n", ":2: not valid YAML"),
        ("just some words\n", ":1: a recipe file holds `key: value` lines"),
        ("- a\n- b\n", ":1: a recipe file holds `key: value` lines"),
        ("", ":1: a recipe file holds `key: value` lines"),
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
    assert mistake("train", tmp_path / "no.yaml") == (
        f"{tmp_path / 'no.yaml'}: cannot be read: No such file or directory"
    )


@pytest.mark.parametrize("device", ["quark", "cuda:77", "meta"])
def test_a_wrong_device_lists_the_right_ones(mistake, tiny, tmp_path, device):
    words = ["transformer-embedded", *tiny, "--run", tmp_path / "run", "--device", device]
    said = mistake("train", *words)
    assert repr(device) in said
    assert "choose from auto, cpu" in said
    assert not (tmp_path / "run").exists()


def test_own_data_for_a_recipe_that_takes_none_is_refused(mistake, own_data):
    said = mistake("train", "gan-gaussian", *own_data.options())
    assert "unknown key 'data.source'" in said


# Existing runs


@pytest.fixture
def finished(tiny_run, tmp_path):
    """A copy of the tiny run."""
    return shutil.copytree(tiny_run, tmp_path / "run")


def test_an_existing_run_is_not_overwritten(mistake, tiny, finished):
    before = (finished / "log.jsonl").read_bytes()
    said = mistake("train", "transformer-embedded", *tiny, "--run", finished)
    assert said == f"{finished}: exists: --resume goes on with it, --run names another folder"
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


def test_resume_without_the_data_files_names_what_changed(mistake, train, own_data, tiny):
    run, _ = train(*own_data.options())
    words = ["translation", *tiny, *SHORT, "--run", run.folder, "--resume"]
    assert f"was trained with data.source=['{own_data.source}'], not []" in mistake("train", *words)


def test_resume_from_an_unknown_step_lists_the_known(mistake, tiny, finished):
    words = ["transformer-embedded", *tiny, "--run", finished, "--resume", "777"]
    said = mistake("train", *words)
    assert said.startswith(f"{finished}: no checkpoint '777': choose from best, latest, 4, 5, 8")


def test_resume_by_step_needs_a_run(mistake, tiny, tmp_path):
    words = ["transformer-embedded", *tiny, "--run", tmp_path / "no", "--resume", "4"]
    assert mistake("train", *words).startswith(f"{tmp_path / 'no'}: there is no such run")
    assert not (tmp_path / "no").exists()


def test_resume_alone_begins_a_run_that_is_not_there_and_says_so(command, tiny, tmp_path):
    words = ["transformer-embedded", *tiny, *SHORT, "--run", tmp_path / "new", "--resume"]
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
        "stopped by SIGTERM after step 3, all saved; the same command with --resume" in answer.err
    )
    assert Run.open(tmp_path / "run").steps() == [3]


# Watching


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
    monkeypatch.setattr("landmark.pipelines.evaluation.EMBEDDED_TEST_PAIRS", 5)
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
