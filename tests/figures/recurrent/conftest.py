"""Very small language models of recurrent layers."""

import pytest

from landmark.tasks.training import train

LINES = ["one (two) three,\n", "  four; five;\n", 'six "seven eight"\n', "nine\n", "\n"]
TEXT = "".join(LINES * 40)
SETTINGS = [
    "model.embedding_size=8", "model.hidden_size=12", "model.num_layers=2", "batches.streams=5",
    "batches.length=16", "trainer.max_steps=20", "trainer.validate_every=20",
    "trainer.checkpoint_every=20", "threads=1",
]  # fmt: skip


@pytest.fixture(scope="package")
def text(tmp_path_factory):
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text(TEXT)
    return path


@pytest.fixture(scope="package")
def runs(tmp_path_factory, text):
    """A language model of each kind, of two layers of twelve units; and one of subwords."""
    folder = tmp_path_factory.mktemp("runs")
    settings = [*SETTINGS, "data.corpus=files", f"data.text=['{text}']"]
    for cell in ("lstm", "gru", "rnn"):
        train("language-model", folder / cell, [*settings, f"model.cell={cell}"])
    subwords = ["tokenizer.kind=subwords", "tokenizer.vocab_size=280", "batches.length=8"]
    train("language-model", folder / "subwords", [*settings, *subwords])
    return folder
