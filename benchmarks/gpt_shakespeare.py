"""How long it takes to reach nanoGPT's figure for a CPU, 1.88 nats a character of Shakespeare.

nanoGPT publishes 1.88 for its CPU setting: 4 layers of width 128, windows of 64 characters, 12 of
them an update, 2,000 updates at 1e-3. That setting is re-created here in plain PyTorch from its
description, and trained beside ours: the same shape through `landmark train`, by our own schedule.
Both are measured on the whole of the held-out tenth after every 250 updates; the clock runs for
training alone. On a machine that is busy with other work, --busy counts processor seconds, on one
thread.

    python benchmarks/gpt_shakespeare.py [--threads 2] [--busy] [--output FILE.json]

Tinyshakespeare is read from $LANDMARK_DATA, or fetched.
"""

import argparse
import json
import math
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from landmark.data.public_text import plain_files
from landmark.tasks.training import train

WIDTH, LAYERS, HEADS, WINDOW, TOGETHER, UPDATES = 128, 4, 4, 64, 12, 2000
EVERY, PUBLISHED = 250, 1.88
OURS = [
    f"model.hidden_size={WIDTH}", f"model.num_layers={LAYERS}", f"model.num_heads={HEADS}",
    f"model.max_length={WINDOW}", "model.dropout=0", f"batches.length={WINDOW}",
    f"batches.streams={TOGETHER}", "batches.valid_streams=64", f"trainer.max_steps={UPDATES}",
    f"trainer.validate_every={EVERY}", f"trainer.checkpoint_every={UPDATES}",
    f"trainer.log_every={EVERY}", "schedule.rate=0.004", "trainer.ema_decay=0.98",
]  # fmt: skip
Curve = list[tuple[int, float, float]]
"""Updates, seconds of training, validation loss."""


class Block(nn.Module):
    """A pre-norm block without biases, as nanoGPT's configuration asks for."""

    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = (nn.LayerNorm(WIDTH, bias=False) for _ in range(2))
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.project = nn.Linear(WIDTH, WIDTH, bias=False)
        self.expand = nn.Linear(WIDTH, 4 * WIDTH, bias=False)
        self.contract = nn.Linear(4 * WIDTH, WIDTH, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, _ = x.shape
        heads = self.qkv(self.norm1(x)).view(batch, length, 3, HEADS, WIDTH // HEADS)
        query, key, value = heads.permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.project(mixed.transpose(1, 2).reshape(batch, length, WIDTH))
        return x + self.contract(F.gelu(self.expand(self.norm2(x))))


class Plain(nn.Module):
    """The decoder that nanoGPT's CPU setting trains."""

    def __init__(self, characters: int) -> None:
        super().__init__()
        self.token, self.place = nn.Embedding(characters, WIDTH), nn.Embedding(WINDOW, WIDTH)
        self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.norm = nn.LayerNorm(WIDTH, bias=False)
        self.output = nn.Linear(WIDTH, characters, bias=False)
        self.output.weight = self.token.weight
        for name, weight in self.named_parameters():
            if weight.dim() > 1:
                is_added = "project" in name or "contract" in name
                nn.init.normal_(weight, std=0.02 / (math.sqrt(2 * LAYERS) if is_added else 1))

    def forward(self, tokens: Tensor) -> Tensor:
        places = torch.arange(tokens.shape[1])
        logits: Tensor = self.output(
            self.norm(self.blocks(self.token(tokens) + self.place(places)))
        )
        return logits


def read_text() -> tuple[Tensor, Tensor, int]:
    """The first nine tenths and the last, as numbers."""
    (path,) = plain_files("tinyshakespeare", lambda record: None)
    text = path.read_text()
    number = {character: n for n, character in enumerate(sorted(set(text)))}
    numbers = torch.tensor([number[character] for character in text])
    kept = int(0.9 * len(numbers))
    return numbers[:kept], numbers[kept:], len(number)


@torch.no_grad()
def held_out_loss(model: nn.Module, text: Tensor) -> float:
    """Every character of the text predicted once, window by window."""
    total, count = 0.0, len(text) - 1
    whole = count - count % WINDOW
    for rows, labels in zip(
        text[:whole].view(-1, WINDOW).split(64),
        text[1 : whole + 1].view(-1, WINDOW).split(64),
        strict=True,
    ):
        total += F.cross_entropy(
            model(rows).flatten(0, 1), labels.flatten(), reduction="sum"
        ).item()
    return total / whole


def train_plainly(clock: Callable[[], float], seed: int) -> Curve:
    """nanoGPT's loop: random windows, AdamW with decay for matrices, cosine to a tenth."""
    training, validation, characters = read_text()
    torch.manual_seed(seed)
    model = Plain(characters)
    matrices = [w for w in model.parameters() if w.dim() > 1]
    others = [w for w in model.parameters() if w.dim() < 2]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=1e-3, betas=(0.9, 0.99))
    curve: Curve = []
    spent, started = 0.0, clock()
    for update in range(1, UPDATES + 1):
        done = (update - 100) / (UPDATES - 100)
        share = update / 100 if update <= 100 else 0.1 + 0.45 * (1 + math.cos(math.pi * done))
        for group in optimizer.param_groups:
            group["lr"] = 1e-3 * share
        starts = torch.randint(len(training) - WINDOW, (TOGETHER,)).tolist()
        rows = torch.stack([training[start : start + WINDOW + 1] for start in starts])
        loss = F.cross_entropy(model(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if update % EVERY == 0:
            spent += clock() - started
            curve.append((update, spent, held_out_loss(model, validation)))
            print(f"nanoGPT's setting: {_row(curve[-1])}", flush=True)
            started = clock()
    return curve


def train_ours(clock: Callable[[], float], seed: int, threads: int) -> Curve:
    """The same shape by `landmark train`; a training record comes just before its validation."""
    curve: Curve = []
    spent, started = 0.0, clock()

    def report(record: Any) -> None:
        nonlocal spent, started
        if record["kind"] == "data":
            started = clock()
        elif record["kind"] == "train":
            spent += clock() - started
        elif record["kind"] == "valid":
            curve.append((record["step"], spent, record["loss"]))
            print(f"landmark:          {_row(curve[-1])}", flush=True)
            started = clock()

    with tempfile.TemporaryDirectory() as folder:
        words = [*OURS, f"seed={seed}", f"threads={threads}"]
        train("gpt-shakespeare", Path(folder) / "run", words, report=report)
    return curve


def _row(point: tuple[int, float, float]) -> str:
    update, seconds, loss = point
    return f"update {update:>5}, {seconds:7.1f} s, validation {loss:.3f}"


def reached(curve: Curve, loss: float) -> float | None:
    """The seconds after which the loss was first measured below a figure."""
    return next((seconds for _, seconds, measured in curve if measured < loss), None)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--busy", action="store_true")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    threads = 1 if options.busy else options.threads
    torch.set_num_threads(threads)
    clock = time.process_time if options.busy else time.perf_counter
    plain = train_plainly(clock, options.seed)
    ours = train_ours(clock, options.seed, threads)
    theirs, last = plain[-1][1], plain[-1][2]
    print(f"nanoGPT's setting: {last:.3f} after {theirs:.1f} s")
    for figure in (PUBLISHED, last):
        seconds = reached(ours, figure)
        said = "not reached" if seconds is None else f"{seconds:.1f} s, {theirs / seconds:.2f}x"
        print(f"landmark below {figure:.3f}: {said}")
    print(f"landmark: {ours[-1][2]:.3f} after {ours[-1][1]:.1f} s; threads {threads}")
    if options.output:
        body = {"threads": threads, "busy": options.busy, "nanogpt": plain, "landmark": ours}
        options.output.write_text(json.dumps(body, indent=2))


if __name__ == "__main__":
    main()
