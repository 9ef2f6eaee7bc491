"""A run that was fine-tuned on pairs, and its table."""

import pytest

from landmark.tasks.training import train


@pytest.fixture(scope="module")
def fine_tuned(pretrained_runs, tmp_path_factory):
    """A tiny GPT that tells pairs apart, barely trained, and the table it was trained on."""
    folder = tmp_path_factory.mktemp("fine-tuned")
    table = folder / "own.tsv"
    rows = "".join(f"the man {n % 7}\ta book\t{'ab'[n % 2]}\n" for n in range(40))
    table.write_text(
        "text\ttext2\tlabel\n" + rows.translate({ord(str(d)): "old" for d in range(7)})
    )
    settings = [
        f"data.train={table}",
        "data.text2=text2",
        "data.both_ways=true",
        f"init_from={pretrained_runs['gpt']}",
        "trainer.max_steps=3",
        "threads=1",
    ]
    return train("understanding", folder / "run", settings).folder, table
