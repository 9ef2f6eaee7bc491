"""`landmark diversify`: one command from pairs to a student."""

from landmark.pipelines.translation import diversification


def test_the_command_says_what_it_does_and_prints_the_students_folder(command, tiny, tmp_path):
    folder = tmp_path / "a"
    settings = [*tiny, "data.train_pairs=60", "data.valid_pairs=10", "--run", folder]
    answer = command("diversify", "transformer-embedded", *settings, "--teacher-steps", 2)
    assert answer.code == 0, answer.err
    assert answer.out == f"{folder / 'student'}\n"
    said = answer.err.splitlines()
    stages = ["forward:", "backward:", "forward translates source.txt: 60 of 60 sentences"]
    stages += ["backward translates target.txt: 60 of 60 sentences", "student:"]
    assert [line for line in said if line in stages] == stages
    assert command("translate", answer.out.strip(), "A sentence.").code == 0


def test_own_files_are_diversified_too(command, own_data, tiny):
    folder = own_data.folder / "a"
    answer = command(
        "diversify",
        "translation",
        *tiny,
        *own_data.options(),
        "--run",
        folder,
        "--teacher-steps",
        2,
    )
    assert answer.code == 0, answer.err
    assert len((folder / "source.txt").read_text().splitlines()) == 108  # the others are held out


def test_an_interrupted_command_says_how_to_go_on(command, tiny, tmp_path, monkeypatch):
    def interrupt(*given, **named):
        raise KeyboardInterrupt

    monkeypatch.setattr(diversification, "_translate", interrupt)
    settings = [*tiny, "data.train_pairs=60", "--run", tmp_path / "a", "--teacher-steps", 2]
    answer = command("diversify", "transformer-embedded", *settings)
    assert answer.code == 130
    assert "the same command with --resume goes on" in answer.err
    monkeypatch.undo()
    assert command("diversify", "transformer-embedded", *settings, "--resume").code == 0


def test_the_folder_must_be_new(mistake, tiny, tmp_path):
    (tmp_path / "note.txt").write_text("mine")
    said = mistake("diversify", "transformer-embedded", *tiny, "--run", tmp_path)
    assert said == f"{tmp_path}: exists: --resume goes on with it, --run names another folder"
