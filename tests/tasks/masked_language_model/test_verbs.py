"""`landmark fill` and `landmark embed`, and `landmark train bert --text` that comes before them."""

import json

import numpy as np
import pytest

from landmark.cli.main import run as call

TEXT = "the walker walks.\nthe talker talks.\n\nan old house.\na new house.\n\nthe new walker.\n"
SMALL = [
    "tokenizer.vocab_size=60", "model.hidden_size=12", "model.inner_size=16", "model.num_heads=2",
    "model.num_layers=1", "model.max_length=16", "batches.tokens=60", "trainer.max_steps=1",
    "threads=1",
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A text as text.txt, and a BERT of it as run/."""
    folder = tmp_path_factory.mktemp("own")
    (folder / "text.txt").write_text(TEXT)
    words = ["train", "bert", "--text", str(folder / "text.txt"), "--run", str(folder / "run")]
    assert call([*words, *SMALL]) == 0
    return folder


def test_fillings_are_printed_likeliest_first(folder, command):
    answer = command("fill", folder / "run", "the [MASK] walks.", "--top-k", 3)
    assert answer.lines[0] == "the [MASK] walks."
    assert len(answer.lines) == 4
    shares = [float(line.split()[0]) for line in answer.lines[1:]]
    assert shares == sorted(shares, reverse=True)
    assert all(line.endswith(" walks.") for line in answer.lines[1:])


def test_several_blanks_are_printed_one_by_one_and_together(folder, command):
    answer = command("fill", folder / "run", "the [MASK] [MASK].", "--top-k", 2)
    kinds = [line.split()[0] for line in answer.lines[1:5]]
    assert kinds == ["blank"] * 4
    assert len(answer.lines) == 7


def test_json_has_all_of_it_for_each_line_of_stdin(folder, landmark_command):
    given = b"\xef\xbb\xbfa [MASK]\r\nthe [MASK]"
    answer = landmark_command("fill", folder / "run", "--json", stdin=given)
    records = [json.loads(line) for line in answer.stdout.splitlines()]
    assert [record["text"] for record in records] == ["a [MASK]", "the [MASK]"]
    assert len(records[0]["blanks"][0]) == len(records[0]["fillings"]) == 5
    assert records[0]["blanks"][0][0].keys() == {"token", "probability"}


def test_vectors_of_lines_go_to_a_file_or_to_stdout(folder, command, tmp_path):
    (tmp_path / "lines.txt").write_text("the walker\nan old house\n")
    answer = command("embed", folder / "run", "--file", tmp_path / "lines.txt")
    records = [json.loads(line) for line in answer.lines]
    assert [record["text"] for record in records] == ["the walker", "an old house"]
    saved = command(
        "embed",
        folder / "run",
        "--file",
        tmp_path / "lines.txt",
        "--output",
        tmp_path / "vectors.npy",
    )
    assert saved.out == f"{tmp_path / 'vectors.npy'}\n"
    np.testing.assert_allclose(
        np.load(tmp_path / "vectors.npy"), [record["vector"] for record in records], rtol=1e-6
    )


def test_vectors_of_words_go_with_their_names(folder, command, tmp_path):
    (tmp_path / "lines.txt").write_text("the walker\nhouse\n")
    words = ["embed", folder / "run", "--file", tmp_path / "lines.txt", "--words", "--layer", 0]
    assert command(*words, "--output", tmp_path / "words.npy").code == 0
    assert np.load(tmp_path / "words.npy").shape == (3, 12)
    assert (tmp_path / "words.tsv").read_text() == "1\tthe\n1\twalker\n2\thouse\n"
    records = [json.loads(line) for line in command(*words).lines]
    assert [word["word"] for word in records[0]["words"]] == ["the", "walker"]


def test_neighbours_are_words_or_lines(folder, command):
    answer = command("embed", folder / "run", "--neighbours", "the", "--count", 2)
    assert len(answer.lines) == 2
    answer = command(
        "embed", folder / "run", "--neighbours", "an old house.", "--json",
        "--among", folder / "text.txt",
    )  # fmt: skip
    near = [json.loads(line) for line in answer.lines]
    assert near[0] == {"text": "an old house.", "cosine": pytest.approx(1)}
    assert {one["text"] for one in near} == set(TEXT.split("\n")) - {""}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["fill", "RUN", "no blank"], "there is no mask: write [MASK] for the missing word"),
        (["fill", "RUN", "the [FOO]"], "[FOO]: is not a special token: choose from [PAD], [UNK]"),
        (["fill", "RUN", "[MASK] " + "old " * 30], "the model reads at most 16: shorten it"),
        (["fill", "RUN", "[MASK]", "--top-k", "0"], "Invalid value for '--top-k'"),
        (["generate", "RUN"], "is a run of task 'masked-language-model', which has no generate"),
        (["embed", "RUN", "--file", "missing.txt"], "missing.txt: there is no such file"),
        (["embed", "RUN", "TEXT"], "is a file, not a text: give --file"),
        (["embed", "RUN", "a", "--output", "v.txt"], "--output v.txt: name a .npy file"),
        (["embed", "RUN", "a", "--layer", "7"], "layer 7: the model has 1: from 0 to 1"),
        (["embed", "RUN", "a", "--neighbours", "b"], "--neighbours reads no texts"),
        (["embed", "RUN", "a", "--among", "TEXT"], "--among and --count go with --neighbours"),
        (["embed", "RUN", "a", "--count", "3"], "--among and --count go with --neighbours"),
        (["embed", "RUN", "a", "--words", "--pooling", "first"], "leave out --pooling"),
        (["embed", "RUN", "--neighbours", "a", "--words"], "--neighbours prints names"),
    ],
)
def test_mistakes_are_one_line(folder, mistake, words, said):
    places = {"RUN": folder / "run", "TEXT": folder / "text.txt"}
    assert said in mistake(*(places.get(word, word) for word in words))


def test_a_line_that_is_no_text_is_named_and_the_others_are_filled(landmark_command, folder):
    result = landmark_command("fill", folder / "run", "--json", stdin=b"a [MASK]\n\xff\nno blank\n")
    assert result.returncode == 0
    first, second, third = map(json.loads, result.stdout.splitlines())
    assert first["text"] == "a [MASK]"
    assert second["error"] == "stdin:2: not valid UTF-8"
    assert third["error"] == "stdin:3: there is no mask: write [MASK] for the missing word"
