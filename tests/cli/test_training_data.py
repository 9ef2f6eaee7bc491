"""`landmark train` on the user's own sentence pairs: the ways in, and every mistake in them."""

import gzip
import json
import re

import pytest
import torch

from landmark.data.shards import TokenStore
from landmark.data.tokenizer import SubwordTokenizer
from landmark.engine.checkpoint import load_tensors
from landmark.engine.run import Run


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
    scores = {s["name"]: s["value"] for s in json.loads(report.out)["scores"]}
    assert scores["exact match"] == 100
    assert scores["BLEU"] == pytest.approx(100)


def test_a_recipe_file_takes_own_data_too(command, own_data, tiny, two_steps):
    file = own_data.folder / "mine.yaml"
    file.write_text(command("recipe", "translation", *tiny, *two_steps).out)
    run = own_data.folder / "run"
    assert command("train", file, *own_data.options(), "--run", run).code == 0
    assert sentences(Run.open(run), "valid") == own_data.pairs[9::10]


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
        (["--extra-target", "a.de"], "--extra-target needs --extra-source"),
        (
            ["--text", "a", "--extra-source", "b"],
            "--text does not fit translation, a recipe of task 'translation'",
        ),
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
    table = own_data.write("bad.tsv", ["wort\t" + "viele " * 9] * 20)
    options = ["--source", table, "--clean", "--run", own_data.folder / "run", *tiny]
    said = mistake("train", "translation", *options, worked=True)
    assert said.startswith("no training pair is left (18 lopsided)")


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
