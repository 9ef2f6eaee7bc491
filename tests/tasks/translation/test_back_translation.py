"""The chain of commands by which text in the target language alone teaches a model."""

import subprocess

from landmark.data.embedded import corpus


def test_text_without_translations_is_translated_back_filtered_and_learnt_from(
    command, tiny, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    pairs = list(corpus.draw("train", 60))
    for name, lines in {
        "my.en": [pair.source for pair in pairs[:30]],
        "my.de": [pair.target for pair in pairs[:30]],
        "mono.de": [pair.target for pair in pairs[30:50]],
        "valid.en": [pair.source for pair in pairs[50:]],
        "valid.de": [pair.target for pair in pairs[50:]],
    }.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    settings = [*tiny, "data.corpus=files", "trainer.max_steps=3", "model.max_length=512"]
    train = ["train", "translation", *settings]
    mine = ["--source", "my.en", "--target", "my.de"]
    checked = ["--valid-source", "valid.en", "--valid-target", "valid.de"]
    assert command(*train, *mine, *checked, "--reverse", "--run", "backward").code == 0
    back = ["translate", "backward", "--file", "mono.de", "--output", "mono.en"]
    assert command(*back, "--sample", "--top-k", "10").code == 0
    scored = command("score", "backward", "--source", "mono.de", "--target", "mono.en")
    assert scored.code == 0, scored.err
    (tmp_path / "scores.txt").write_text(scored.out, encoding="utf-8")
    likely = sorted(float(line.split("\t")[1]) for line in scored.out.splitlines())[10]
    filtering = (
        f"paste scores.txt mono.en mono.de | awk -F '\\t' '$2 >= {likely}' > good.tsv && "
        "cut -f 4 good.tsv > good.en && cut -f 5 good.tsv > good.de"
    )
    subprocess.run(filtering, shell=True, check=True)
    kept = (tmp_path / "good.de").read_text(encoding="utf-8").splitlines()
    assert len(kept) == 10
    assert set(kept) <= {pair.target for pair in pairs[30:50]}
    made_up = ["--extra-source", "good.en", "--extra-target", "good.de"]
    forward = command(*train, *mine, *made_up, *checked, "--run", "forward")
    assert forward.code == 0
    assert "40 pairs to train on, 10 to validate" in forward.err
    assert command("translate", "forward", "A sentence.").code == 0
