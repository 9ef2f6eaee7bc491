"""`landmark score`: files, tables, pipes and mistakes."""

import json

import pytest

import landmark
from landmark.tasks.translation.scoring import score_pairs


@pytest.fixture
def files(own_data):
    """The first ten pairs as two files."""
    few = own_data.pairs[:10]
    sides = [own_data.write(f"few.{n}", [pair[n] for pair in few]) for n in (0, 1)]
    return few, sides


def test_each_pair_gets_a_line_with_sum_mean_and_perplexity(command, tiny_run, files):
    pairs, (source, target) = files
    answer = command("score", tiny_run, "--source", source, "--target", target)
    expected = list(score_pairs(landmark.load(tiny_run), pairs))
    assert answer.code == 0
    for line, score in zip(answer.lines, expected, strict=True):
        values = [float(column) for column in line.split("\t")]
        assert values == pytest.approx(
            [score.log_probability, score.per_token, score.perplexity], rel=1e-3
        )
    tokens = sum(len(score.pieces) for score in expected)
    assert answer.err.startswith(f"10 pairs, {tokens} tokens: log-probability -")


def test_tokens_are_shown_if_asked_for(command, tiny_run, files):
    pairs, (source, target) = files
    words = ["score", tiny_run, "--source", source, "--target", target, "--per-token"]
    parts = command(*words).lines[0].split("\t")[3].split(" ")
    assert "".join(part.rpartition("=")[0] for part in parts) == (
        "▁" + pairs[0][1].replace(" ", "▁") + "</s>"
    )
    record = json.loads(command(*words, "--json").lines[0])
    assert (record["source"], record["target"]) == pairs[0]
    assert "".join(record["pieces"]) == f" {pairs[0][1]}</s>"
    assert sum(record["log_probabilities"]) == pytest.approx(record["log_probability"])
    assert record["tokens"] == len(record["pieces"])


def test_a_table_and_a_pipe_give_the_same(command, landmark_command, tiny_run, files, tmp_path):
    pairs, (source, target) = files
    table = tmp_path / "few.tsv"
    text = "".join(f"{a}\t{b}\n" for a, b in pairs)
    table.write_text(text, encoding="utf-8")
    sides = command("score", tiny_run, "--source", source, "--target", target).out
    assert command("score", tiny_run, "--source", table).out == sides
    piped = landmark_command("score", tiny_run, stdin=text)
    assert (piped.returncode, piped.stdout) == (0, sides)


def test_mistakes_name_the_file_and_the_line(mistake, tiny_run, own_data):
    source = own_data.write("a.en", ["one", "two"])
    short = own_data.write("short.de", ["eins"])
    for options, expected in (
        (["--target", short], "--target needs --source"),
        (["--source", source, "--target", short], f"{source} has 2 lines but {short} has 1"),
        (["--source", "missing", "--target", short], "missing: there is no such file"),
    ):
        assert mistake("score", tiny_run, *options).startswith(expected)


def test_a_pair_too_long_is_named_and_the_others_are_scored(command, tiny_run, own_data):
    source = own_data.write("a.en", ["one", "two", "three"])
    long = own_data.write("long.de", ["eins", "zwei " * 90, "drei"])
    answer = command("score", tiny_run, "--source", source, "--target", long)
    assert answer.code == 0
    assert [bool(line) for line in answer.lines] == [True, False, True]
    assert f"warning: {source}:2: the translation has " in answer.err
    assert "2 pairs, " in answer.err
    strict = command("score", tiny_run, "--source", source, "--target", long, "--strict")
    assert strict.code == 2


def test_a_bad_pair_costs_the_others_nothing(command, mistake, tiny_run, tmp_path):
    table = tmp_path / "a.tsv"
    table.write_bytes(b"one\teins\n\xff\tzwei\nthree\nfour\tvier\n")
    answer = command("score", tiny_run, "--source", table)
    assert answer.code == 0
    assert [bool(line) for line in answer.lines] == [True, False, False, True]
    assert f"warning: {table}:2: not valid UTF-8: skipped" in answer.err
    assert f"warning: {table}:3: 1 tab-separated columns" in answer.err
    assert len(command("align", tiny_run, "--source", table, "--layer", "1").lines) == 4
    strict = mistake("score", tiny_run, "--source", table, "--strict", worked=True)
    assert strict == f"{table}:2: not valid UTF-8"
    sides = [tmp_path / "a.en", tmp_path / "a.de"]
    sides[0].write_text("one\ntwo\n")
    sides[1].write_bytes(b"\xff\nzwei\n")
    answer = command("score", tiny_run, "--source", sides[0], "--target", sides[1])
    assert [bool(line) for line in answer.lines] == [False, True]
    assert f"warning: {sides[1]}:1: not valid UTF-8: skipped" in answer.err
