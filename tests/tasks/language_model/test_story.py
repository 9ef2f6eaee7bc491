"""`landmark story`, driven as a pipe drives it."""

import io
import json

import pytest

import landmark
import landmark.decoding.stepwise
from landmark.tasks.language_model.pipeline import GenerationPipeline
from landmark.tasks.language_model.story import Story, StoryTurn, newest_part

TEXT = "".join(f"{n} green bottles hanging on the wall,\n" for n in range(99, 9, -1))
CONTEXT, LENGTH = 40, 12
SMALL = [
    "model.hidden_size=16", "model.num_heads=2", "model.num_layers=1",
    f"model.max_length={CONTEXT}", "tokenizer.kind=characters", "data.separate_documents=false",
    "batches.streams=4", "batches.length=16", "trainer.max_steps=4", "trainer.validate_every=4",
    "trainer.checkpoint_every=4", "schedule.warmup_steps=1", "threads=1", "data.corpus=files",
]  # fmt: skip


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("story")
    (folder / "text.txt").write_text(TEXT)
    text = f"data.text=['{folder / 'text.txt'}']"
    return landmark.train("gpt", folder / "run", [*SMALL, text]).folder


@pytest.fixture
def tell(command, run, monkeypatch):
    """Play these lines; what was told, and what was said beside it."""

    def play(*lines: str, words: tuple = (), at_terminal: bool = False):
        given = io.TextIOWrapper(io.BytesIO("".join(f"{line}\n" for line in lines).encode()))
        given.isatty = lambda: at_terminal
        monkeypatch.setattr("sys.stdin", given)
        answer = command("story", run, "--length", LENGTH, *words)
        assert answer.code == 0, answer.err
        return answer.out, answer.err

    return play


@pytest.fixture
def write(run):
    """What the model writes after a text."""
    pipeline = landmark.load(run)

    def after(text: str, seed: int, temperature: float = 0.8) -> str:
        sampling = landmark.decoding.stepwise.SamplingConfig(temperature=temperature)
        return pipeline.generate(text, LENGTH, sampling=sampling, seed=seed)[0].text

    return after


def test_the_model_goes_on_from_the_story_so_far(tell, write):
    out, err = tell("99 gr", "", "the wall")
    first = write("99 gr", 1)
    second = write("99 gr" + first, 2)
    story = "99 gr" + first + second
    story += "" if story.endswith("\n") else "\n"
    third = write((story + "the wall")[-(CONTEXT - LENGTH) :].partition("\n")[2] or "the wall", 3)
    assert out.startswith(f"99 gr{first}\n{second}\nthe wall")
    assert len(out) == len(f"99 gr{first}\n{second}\nthe wall") + len(third) + 2
    assert "seed 1" in err
    assert [line for line in err.splitlines() if line.startswith("[")] == [
        "[seed 1]", "[seed 2]", "[seed 3]",
    ]  # fmt: skip


def test_a_turn_is_taken_back_or_written_again_with_a_new_seed(tell, write, tmp_path):
    saved = tmp_path / "story.txt"
    tell("99", "on the", "/undo", f"/save {saved}")
    assert saved.read_text() == "99" + write("99", 1)
    out, _ = tell("99", "/retry", f"/save {saved}")
    assert saved.read_text() == "99" + write("99", 2)
    assert out == f"99{write('99', 1)}\n99{write('99', 2)}\n\n"


def test_seeds_are_shown_and_set(tell, write):
    out, err = tell("/seed", "/seed 7", "9", "/seed")
    assert out == f"9{write('9', 7)}\n\n"
    assert err.splitlines()[1:] == [
        "the next seed is 1", "the next seed is 7", "[seed 7]", "the next seed is 8",
    ]  # fmt: skip
    assert tell("9", words=("--seed", 7))[0] == out


def test_a_saved_story_goes_on_and_restarts(tell, write, tmp_path):
    saved = tmp_path / "story.txt"
    saved.write_text("99 green")
    out, _ = tell("", "/restart", "", words=("--story", saved))
    first, again = write("99 green", 1), write("99 green", 2)
    assert out == f"99 green{first}\n99 green{again}\n\n"


def test_json_has_a_record_a_turn(tell, write):
    out, _ = tell("99", "", words=("--json",))
    first = write("99", 1)
    assert [json.loads(line) for line in out.splitlines()] == [
        {"player": "99", "model": first, "seed": 1},
        {"player": "", "model": write(f"99{first}", 2), "seed": 2},
    ]


def test_help_and_quit(tell):
    out, err = tell("/help", "/quit", "99 green")
    assert out == "\n"
    for command in ("/undo", "/retry", "/seed", "/save", "/restart", "/help", "/quit"):
        assert command in err


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("/undoo", "unknown command '/undoo': did you mean /undo?"),
        ("/undo", "there is no turn to undo"),
        ("/retry", "there is no turn to undo"),
        ("/seed x", "/seed x: the seed must be an integer"),
        ("/save", "/save needs a file"),
        ("/save /no/such/folder/story.txt", "cannot be written: No such file or directory"),
        ("straße", "'ß' (U+00DF) was never seen in training"),
    ],
)
def test_a_mistake_is_named_and_changes_nothing(tell, write, line, said):
    out, err = tell(line, "99")
    assert f"landmark: {said}" in err or said in err
    assert out == f"99{write('99', 1)}\n\n"


def test_what_is_no_longer_within_the_context_is_left_out(run):
    pipeline = landmark.load(run)
    most = CONTEXT - LENGTH
    assert newest_part(pipeline, "99 green", LENGTH) == "99 green"
    assert newest_part(pipeline, "g" * 30 + "\nthe wall\non", LENGTH) == "the wall\non"
    assert newest_part(pipeline, "wall " * 30, LENGTH) == "wall " * (most // 5)
    assert 0 < len(newest_part(pipeline, "g" * 100, LENGTH)) <= most
    assert newest_part(pipeline, "g" * 100, 10**6) == "g" * 12  # a half at least is looked back on


def test_a_recurrent_model_reads_the_whole_story():
    class Recurrent:
        context = None

    assert newest_part(Recurrent(), "word " * 1000, 10) == "word " * 1000


def test_a_players_text_begins_a_line_and_silence_does_not():
    story = Story("Once")
    story.turns = [
        StoryTurn("There was", " a king"),
        StoryTurn("", " and"),
        StoryTurn("he", " said\n"),
        StoryTurn("x"),
    ]
    assert story.text == "Once\nThere was a king and\nhe said\nx"


def test_the_prompt_is_no_part_of_the_story(tell, write):
    out, err = tell("99", "/quit", at_terminal=True)
    assert out == f"99{write('99', 1)}\n\n"
    assert err.splitlines()[1:] == ["> [seed 1]", "> "]


@pytest.mark.parametrize("written", ["", " gr"])
def test_ctrl_c_ends_what_is_being_written_but_not_the_game(tell, write, monkeypatch, written):
    stream, begun = GenerationPipeline.stream, []

    def interrupted(pipeline, prompt, *arguments, **options):
        begun.append(prompt)
        if len(begun) > 1:
            yield from stream(pipeline, prompt, *arguments, **options)
            return
        if written:
            yield written
        raise KeyboardInterrupt

    monkeypatch.setattr(GenerationPipeline, "stream", interrupted)
    out, _ = tell("99", "", at_terminal=True)
    assert begun == ["99", f"99{written}"]
    assert out == f"99{written}\n{write(f'99{written}', 2)}\n\n"


def test_ctrl_c_in_a_pipe_ends_the_game(command, run, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"99\n")))
    monkeypatch.setattr("landmark.tasks.language_model.story.newest_part", _interrupt)
    assert command("story", run).code == 130


def _interrupt(*_: object) -> str:
    raise KeyboardInterrupt


def test_a_long_story_is_told_in_the_real_command(landmark_command, run):
    lines = "".join(f"{n} green bottles\n" for n in range(30))
    result = landmark_command("story", run, "--length", 8, stdin=lines + "\n/seed\n")
    assert result.returncode == 0, result.stderr
    assert result.stderr.endswith("the next seed is 32\n")
    assert all(f"{n} green bottles" in result.stdout for n in range(30))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--story", "nowhere.txt"], "nowhere.txt: cannot be read"),
        (["--temperature", "0", "--top-k", "2"], "temperature 0 is greedy"),
        (["--length", "0"], "--length"),
    ],
)
def test_a_mistake_at_the_beginning_is_one_line(mistake, run, words, said):
    assert said in mistake("story", run, *words)


def test_input_that_is_no_text_is_named_with_its_line(landmark_command, run):
    result = landmark_command("story", run, "--length", 3, stdin=b"99\n\xff\n")
    assert result.returncode == 2
    assert result.stderr.endswith("landmark: stdin:2: not valid UTF-8\n")
