"""The `translation` recipe on somebody's own pairs, for given minutes: BLEU on a test set.

Beside it the recipe as it was before, variants of it, and JoeyNMT's shipped small Transformer
(configs/transformer_small.yaml) in the peers' environment (see peers.py). Minutes are of one
thread's processor time, all included (tokenizer, validation, checkpoints), so that a busy machine
counts for nothing. How many updates of ours fill them is found by a short training first, because
the rate falls to zero at the last one.

    python benchmarks/own_pairs.py --data multi30k --minutes 12 --seed 1 --seed 2
    python benchmarks/own_pairs.py --data gettext --variant translation --variant joeynmt
    python benchmarks/own_pairs.py --data multi30k --set "no dropout: model.dropout=0"

Departures from JoeyNMT's file: its vocabulary is of 101 words for a toy; here it has the same
number of subwords as ours, by SentencePiece, sentences of up to 100 of them, and case. It
validates on 200 sentences every 2,000 updates, not on all every 100.
"""

import argparse
import gzip
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sacrebleu
import yaml
from peers import peers_python

import landmark
from landmark.tasks.training import resolve, train
from landmark.tasks.translation.pipeline import TranslationPipeline

SPLITS = ("train", "valid", "test")
BEFORE = (  # the recipe until 2026-11-19
    "tokenizer.vocab_size=8000",
    "model.dropout=0.2",
    "batches.tokens=4096",
    "batches.pool=50",
    "optimizer.name=adam",
    "schedule.name=inverse-sqrt",
    "schedule.rate=2e-3",
    "schedule.warmup_steps=1000",
    "search.beam=4",
    "search.length_penalty=0.6",
    "trainer.validate_every=500",
    "trainer.checkpoint_every=500",
    "trainer.ema_decay=null",
    "trainer.average_last=5",
    "trainer.keep_last=5",
    "trainer.patience=10",
)
VARIANTS: dict[str, tuple[str, ...]] = {"translation": (), "before": BEFORE}
JOEYNMT = "joeynmt"
CALIBRATION = (20, 80)  # updates: the first are slower, and are not timed
SIZE = 6000  # JoeyNMT's subwords


@dataclass(frozen=True)
class Score:
    """What one training came to."""

    minutes: float
    updates: int
    bleu: float
    chrf: float


def write_pairs(name: str, data: Path, folder: Path) -> None:
    """Plain files SPLIT.en and SPLIT.de of one of the data sets."""
    folder.mkdir(parents=True, exist_ok=True)
    if name == "multi30k":
        for split, found in zip(SPLITS, ("train", "val", "test_2016_flickr"), strict=True):
            for side in ("en", "de"):
                packed = (data / "multi30k" / f"{found}.{side}.gz").read_bytes()
                (folder / f"{split}.{side}").write_bytes(gzip.decompress(packed))
        return
    table = (data / "debian-gettext-en-de/en-de.tsv").read_text(encoding="utf-8")
    pairs = [line.split("\t") for line in table.splitlines()]
    random.Random(1).shuffle(pairs)
    parts = {"test": pairs[:1000], "valid": pairs[1000:2000], "train": pairs[2000:]}
    for split, its in parts.items():
        for side, number in (("en", 0), ("de", 1)):
            lines = "".join(f"{pair[number]}\n" for pair in its)
            (folder / f"{split}.{side}").write_text(lines, encoding="utf-8")


def files(pairs: Path) -> list[str]:
    """The pairs as a user gives them, as settings."""
    names = (("source", "train.en"), ("target", "train.de"))
    names += (("valid_source", "valid.en"), ("valid_target", "valid.de"))
    return [f"data.{key}=[{pairs / name}]" for key, name in names]


def steps_for(minutes: float, settings: Sequence[str], folder: Path) -> int:
    """How many updates fill so many minutes, found by a short training of the same settings."""
    times: dict[str, float] = {}
    first, last = CALIBRATION

    def note(record: Mapping[str, Any]) -> None:
        if record["kind"] in ("step", "train", "valid"):
            times[f"{record['kind'] == 'valid'} {record['step']}"] = time.process_time()

    shutil.rmtree(folder, ignore_errors=True)
    started = time.process_time()
    short = [f"trainer.max_steps={last}", f"trainer.validate_every={last}"]
    train("translation", folder, [*settings, *short], report=note)
    shutil.rmtree(folder)
    prepared, trained, validated = (
        times[f"{k} {n}"] for k, n in ((False, first), (False, last), (True, last))
    )
    update = (trained - prepared) / (last - first)
    every = resolve("translation", settings).trainer.validate_every
    rest = 60 * minutes - (prepared - started)
    return max(1, int(rest / (update + (validated - trained) / every)))


def train_ours(
    settings: Sequence[str], pairs: Path, folder: Path, minutes: float, seed: int
) -> tuple[float, int, list[str]]:
    """Minutes, updates, and translations of the test set by the recipe's own search."""
    its = ["threads=1", f"seed={seed}", *files(pairs), *settings]
    steps = steps_for(minutes, its, folder)
    started = time.process_time()
    run = train("translation", folder, [*its, f"trainer.max_steps={steps}"], report=tell)
    seconds = time.process_time() - started
    last = max(record["step"] for record in run.read_log() if "step" in record)
    pipeline = landmark.load(folder, kind=TranslationPipeline)
    sources = read(pairs / "test.en")
    return seconds / 60, last, [found.text for found in pipeline.translate(sources)]


def tell(record: Mapping[str, Any]) -> None:
    if record["kind"] == "valid":
        say(f"  step {record['step']}: validation loss {record['loss']:.4f}")


# JoeyNMT


def joey_settings(pairs: Path, folder: Path, seed: int) -> dict[str, Any]:
    """configs/transformer_small.yaml of JoeyNMT, but for what the text above names."""
    side = {
        "type": "transformer",
        **{"num_layers": 3, "num_heads": 4, "hidden_size": 64, "ff_size": 128, "dropout": 0.1},
        "embeddings": {"embedding_dim": 64, "scale": True},
    }
    text = {
        **{"max_length": 100, "lowercase": False, "level": "bpe"},
        **{"tokenizer_type": "sentencepiece", "voc_file": str(folder / "subwords.txt")},
        "tokenizer_cfg": {"model_file": str(folder / "subwords.model")},
    }
    names = {"train": "train", "dev": "valid", "test": "test"}
    return {
        **{"name": "small", "model_dir": str(folder / "model"), "use_cuda": False},
        **{"random_seed": seed, "num_workers": 0, "joeynmt_version": "2.3.0"},
        "data": {
            **{key: str(pairs / name) for key, name in names.items()},
            **{"dataset_type": "plain", "sample_dev_subset": 200},
            **{"src": {"lang": "en", **text}, "trg": {"lang": "de", **text}},
        },
        "testing": {
            **{"beam_size": 5, "beam_alpha": 1.0, "max_output_length": 100},
            **{"batch_size": 50, "batch_type": "sentence", "eval_metrics": ["bleu"]},
        },
        "training": {
            **{"optimizer": "adam", "adam_betas": [0.9, 0.98], "weight_decay": 0.0},
            **{"learning_rate": 0.001, "learning_rate_min": 0.000001, "scheduling": "noam"},
            **{"learning_rate_factor": 0.5, "learning_rate_warmup": 1000},
            **{"batch_size": 250, "batch_type": "token", "normalization": "batch"},
            **{"epochs": 1_000_000, "validation_freq": 2000, "logging_freq": 500},
            **{"early_stopping_metric": "loss", "keep_best_ckpts": 3, "label_smoothing": 0.0},
        },
        "model": {
            **{"initializer": "xavier_uniform", "embed_initializer": "xavier_uniform"},
            **{"bias_initializer": "zeros", "init_gain": 1.0, "embed_init_gain": 1.0},
            **{"tied_embeddings": False, "tied_softmax": True, "encoder": side, "decoder": side},
        },
    }


SUBWORDS = """
import sys
from sentencepiece import SentencePieceProcessor, SentencePieceTrainer
prefix, size, *files = sys.argv[1:]
SentencePieceTrainer.train(
    input=files, model_prefix=prefix, vocab_size=int(size), character_coverage=1.0,
    unk_id=0, pad_id=1, bos_id=2, eos_id=3, minloglevel=2,
)
pieces = SentencePieceProcessor(model_file=prefix + ".model")
names = [pieces.id_to_piece(number) for number in range(len(pieces))]
open(prefix + ".txt", "w", encoding="utf-8").write("".join(name + chr(10) for name in names))
"""


# SetVocabulary went from SentencePiece's Python in 0.2.1; of all pieces, it changes nothing.
JOEY = """
import runpy, sentencepiece, signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored, where a shell began us by &
sentencepiece.SentencePieceProcessor.SetVocabulary = lambda self, pieces: None
runpy.run_module("joeynmt", run_name="__main__", alter_sys=True)
"""


def train_joeynmt(
    pairs: Path, folder: Path, minutes: float, seed: int
) -> tuple[float, int, list[str]]:
    """The same of JoeyNMT, which is interrupted when its minutes are over, as its users do."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    python = str(peers_python())
    sides = [str(pairs / f"train.{side}") for side in ("en", "de")]
    before = children_seconds()
    run([python, "-c", SUBWORDS, str(folder / "subwords"), str(SIZE), *sides])
    prepared = children_seconds() - before
    config, settings = folder / "config.yaml", joey_settings(pairs, folder, seed)
    config.write_text(yaml.safe_dump(settings), encoding="utf-8")
    command = [python, "-c", JOEY, "train", str(config), "--skip-test"]
    with (folder / "train.log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env=one_thread())
        while process.poll() is None and seconds_of(process.pid) < 60 * minutes - prepared:
            time.sleep(1)
        seconds = prepared + (seconds_of(process.pid) if process.poll() is None else 0.0)
        process.send_signal(signal.SIGINT)
        process.wait()
    if process.returncode or not (folder / "model/best.ckpt").exists():
        sys.exit(f"JoeyNMT failed, or was stopped before its first validation: see {log.name}")
    settings["data"].pop("dev")  # only the test set is translated
    config.write_text(yaml.safe_dump(settings), encoding="utf-8")
    run([python, "-c", JOEY, "test", str(config), "-o", str(folder / "out")])
    latest = Path(os.readlink(folder / "model/latest.ckpt")).stem
    return seconds / 60, int(latest), read(folder / "out.test")


def run(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, env=one_thread(), check=False)
    if done.returncode:
        sys.exit(done.stderr)


def one_thread() -> dict[str, str]:
    return {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def children_seconds() -> float:
    times = os.times()
    return times.children_user + times.children_system


def seconds_of(pid: int) -> float:
    """Processor seconds of a process, all its threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


# The table


def measure(name: str, arguments: argparse.Namespace, pairs: Path, seed: int) -> Score:
    """Train a variant and score it; a result that is there already is read."""
    folder = arguments.output / f"{arguments.data}-{name.replace(' ', '-')}-{seed}"
    path = folder.with_suffix(".json")
    wanted = {"minutes": arguments.minutes, "settings": arguments.variants.get(name)}
    if path.is_file() and (found := json.loads(path.read_text()))["wanted"] == wanted:
        return Score(**found["score"])
    say(f"{name}, seed {seed}")
    if name == JOEYNMT:
        trained = train_joeynmt(pairs, folder, arguments.minutes, seed)
    else:
        settings = arguments.variants[name]
        trained = train_ours(settings, pairs, folder, arguments.minutes, seed)
    minutes, updates, translations = trained
    references = [read(pairs / "test.de")]
    bleu = sacrebleu.corpus_bleu(translations, references).score
    chrf = sacrebleu.corpus_chrf(translations, references).score
    score = Score(minutes, updates, bleu, chrf)
    path.write_text(json.dumps({"wanted": wanted, "score": vars(score)}, indent=1))
    return score


def read(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", choices=("multi30k", "gettext"), default="multi30k")
    parser.add_argument("--minutes", type=float, default=12.0)
    parser.add_argument("--seed", type=int, action="append", default=[])
    parser.add_argument("--variant", choices=(*VARIANTS, JOEYNMT), action="append", default=[])
    parser.add_argument("--set", metavar="NAME: SETTING …", action="append", default=[])
    parser.add_argument("--output", type=Path, default=Path("runs/own-pairs"))
    arguments = parser.parse_args()
    extra = {
        name.strip(): tuple(its.split())
        for name, _, its in (s.partition(":") for s in arguments.set)
    }
    arguments.variants = {**VARIANTS, **extra}
    arguments.names = [*arguments.variant, *extra] or [*VARIANTS, JOEYNMT]
    arguments.seed = arguments.seed or [1]
    return arguments


def main() -> None:
    arguments = parse()
    data = Path(os.environ.get("LANDMARK_DATA", ""))
    if not (data / "multi30k").is_dir():
        sys.exit("LANDMARK_DATA must name a folder that holds multi30k and debian-gettext-en-de")
    pairs = arguments.output / arguments.data
    write_pairs(arguments.data, data, pairs)
    print(f"{arguments.data} en-de, {len(read(pairs / 'train.en')):,} pairs, one thread")
    print(f"{'':16s} seed  minutes  updates    BLEU   chrF2")
    for name in arguments.names:
        for seed in arguments.seed:
            its = measure(name, arguments, pairs, seed)
            numbers = f"{its.minutes:7.1f} {its.updates:8,}  {its.bleu:6.2f}  {its.chrf:6.2f}"
            print(f"{name:16s} {seed:4d}  {numbers}", flush=True)


if __name__ == "__main__":
    main()
