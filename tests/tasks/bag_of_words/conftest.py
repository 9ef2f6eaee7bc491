"""Sentences of two classes, which a regression tells apart by their words."""

import pytest

WORDS = ["good", "bad", "fine", "dull", "film", "story", "very", "not", "a", "the"]


@pytest.fixture(scope="session")
def texts(tmp_path_factory):
    """Forty sentences; those with a good word are good."""
    rows = []
    for number in range(40):
        chosen = [WORDS[(number * step + shift) % 10] for step, shift in ((1, 0), (3, 1), (7, 5))]
        rows.append((" ".join(chosen), "good" if set(chosen) & {"good", "fine"} else "bad"))
    file = tmp_path_factory.mktemp("texts") / "texts.tsv"
    file.write_text("text\tlabel\n" + "".join(f"{text}\t{label}\n" for text, label in rows))
    return file, rows


@pytest.fixture(scope="session")
def bag_run(texts, tmp_path_factory):
    """A regression that was trained on the sentences; tests read it, but never change it."""
    from landmark.tasks.training import train

    settings = ["data.corpus=files", "data.text=text", f"data.train=['{texts[0]}']"]
    settings += [f"data.valid=['{texts[0]}']", "trainer.max_steps=150", "schedule.rate=1"]
    settings += ["trainer.checkpoint_every=150", "batches.size=40", "threads=1", "device=cpu"]
    return train("race-bag-of-words", tmp_path_factory.mktemp("runs") / "bag", settings).folder
