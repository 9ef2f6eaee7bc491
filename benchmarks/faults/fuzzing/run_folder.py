"""A run that somebody else made: manifests, pointers, logs and recipes, with the right digests.

A digest tells damage, not who wrote a file: what is well-formed is signed anew before it is read.
"""

import importlib
import json
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path

from benchmarks.faults.fuzzing.recipe import TOKENS as YAML_TOKENS
from benchmarks.faults.fuzzing.recipe import good as good_recipes
from benchmarks.faults.fuzzing.recipe import hostile as hostile_recipes
from benchmarks.faults.fuzzing.target import Target
from landmark.core.storage import signed
from landmark.engine.run import LOG, RECIPE, Run

FILES = "model.safetensors"
TOKENS = (b"null", b"-1", b"1e999", b"[", b"{", b'"', b"NaN", b"true", b'"../x"', b"[]", b"{}")


@cache
def _run() -> Run:
    """A run with one checkpoint, made once in each process."""
    import torch

    from landmark.core.configuration import as_yaml
    from landmark.engine.checkpoint import save_checkpoint
    from landmark.tasks.training import resolve

    run = Run(Path(tempfile.mkdtemp(prefix="fuzz-run-")))
    run.write_recipe(as_yaml(resolve("gan-gaussian", ())))
    save_checkpoint(run.checkpoint_folder(2), {FILES: {"model.a": torch.zeros(2)}}, _facts())
    run.point("best", run.checkpoint_folder(2))
    importlib.import_module("landmark.figures.losses")  # the first file is timed, too
    importlib.import_module("landmark.cli.run_table")
    run.append_log({"kind": "train", "step": 2, "loss": 1.0, "seconds": 3.0})
    return run


def _facts() -> dict[str, object]:
    from landmark.engine.state import TrainingState

    state = TrainingState(step=2)
    state.judge(1.5)
    sums = {"loss": 3.0, "weight": 2.0}
    state.record_move("model", sums, 1.0, 0.1)
    return {**state.facts(), "scaler": {}, "stopgap": False, "preferred": True}


def good_manifests() -> list[bytes]:
    body = json.loads((_run().checkpoint_folder(2) / "manifest.json").read_bytes())
    del body["sha256"]
    return [json.dumps(body).encode()]


def read_manifest(path: Path) -> object:
    """As a command that uses a checkpoint, and one that resumes from it, read it."""
    from landmark.engine.checkpoint import load_tensors, read_facts
    from landmark.engine.session import load_player
    from landmark.engine.state import TrainingState

    run, content = _run(), path.read_bytes()
    with suppress(ValueError, RecursionError):
        body = json.loads(content)
        content = signed(body) if isinstance(body, dict) else content
    folder = run.checkpoint_folder(2)
    (folder / "manifest.json").write_bytes(content)
    load_tensors(run.find_checkpoint(), FILES)
    load_player(run.find_checkpoint("2"), "model")
    with suppress(ValueError):  # as the session asks
        TrainingState().load(read_facts(folder))
    return folder


def hostile_manifests() -> list[bytes]:
    names = ("../../recipe.yaml", "/etc/hostname", "..", "a/b", "")
    facts = ({}, [], None, {"step": "2"}, {"step": 1e999}, {"step": 2, "preferred": []})
    digest = "0" * 64
    return [
        b'{"a":' * 50_000,
        b"[" * 200_000,
        b'{"format": 1, "facts": {"step": 1' + b"0" * 5_000 + b"}}",
        *(json.dumps({"format": 1, "facts": {}, "files": {n: digest}}).encode() for n in names),
        *(json.dumps({"format": 1, "facts": f, "files": {FILES: digest}}).encode() for f in facts),
        *(json.dumps({"format": 1, "facts": {}, "files": f}).encode() for f in (None, [], 3)),
        b"{}",
        b'{"format": "1"}',
        b'{"format": 1, "facts": {}, "files": {"\\ud800": "' + digest.encode() + b'"}}',
    ]


def good_logs() -> list[bytes]:
    records = (
        {"kind": "data", "batches": 3, "max_steps": 6},
        {"kind": "train", "step": 2, "loss": 1.5, "weight": 9, "per_second": 3.0, "seconds": 1.5},
        {"kind": "valid", "step": 2, "loss": 1.5, "best": True},
        {"kind": "train", "step": 4, "loss": 1.5, "weight": 9, "seconds": 2.5, "unit": "tokens"},
        {"kind": "end", "step": 4, "seconds": 3.25},
    )
    _run()  # takes a while
    return ["".join(json.dumps(record) + "\n" for record in records).encode()]


def read_log(path: Path) -> object:
    """As `landmark runs`, `runs compare`, `figure losses` and resuming read it."""
    from landmark.cli.run_table import rows, summarise
    from landmark.engine.run import training_minutes
    from landmark.figures.losses import loss_curves

    run = _run()
    (run.folder / LOG).write_bytes(path.read_bytes())
    rows([summarise(run.folder)])
    log = run.read_log()
    training_minutes(log)
    loss_curves(log)
    run.rewind_log(2)
    return run.finished()


def hostile_logs() -> list[bytes]:
    wrong = (
        {"kind": "train", "step": "2", "seconds": 1},
        {"kind": "train", "step": 2, "seconds": [1]},
        {"kind": "train", "step": 2, "seconds": 1, "loss": "low"},
        {"kind": "train", "step": 2, "seconds": 1, "loss": None},
        {"kind": "train", "step": 2, "seconds": 1, "weight": {}},
        {"kind": ["train"]},
        {"kind": {}, "seconds": 1},
        {"kind": "valid", "best": "yes", "step": 1, "loss": 2},
        {"kind": "valid", "best": True, "step": True},
        {"kind": "valid", "best": True, "loss": 10**300},
        {"kind": "end", "step": None},
        {"kind": "other", "seconds": "long"},
    )
    return [
        *(json.dumps(record).encode() + b"\n" for record in wrong),
        b'{"kind":' * 30_000,
        b'{"kind": "train", "step": 1' + b"0" * 5_000 + b"}",
        b"\n" * 500_000,
    ]


def good_pointers() -> list[bytes]:
    _run()  # takes a while
    return [b"step-000002", b"averaged-000002"]


def read_pointer(path: Path) -> object:
    from landmark.engine.run import _pointer_line

    run = _run()
    name = path.read_bytes().decode("utf-8", "replace")
    (run.checkpoints / "best").write_bytes(_pointer_line("best", name))
    folder = run.pointed("best")
    if folder is None or folder.resolve().parent != run.checkpoints.resolve():
        raise AssertionError(f"{name!r} leads to {folder}")
    return run.find_checkpoint(name)


def read_recipe(path: Path) -> object:
    """As every command that opens a run reads it."""
    from landmark.cli.run_table import rows, summarise
    from landmark.engine.run import _signed
    from landmark.tasks.training import check_assets, load_config

    run = _run()
    (run.folder / RECIPE).write_bytes(_signed(path.read_bytes()))
    rows([summarise(run.folder)])
    load_config(run)
    check_assets(run)
    return run


def good_own_recipes() -> list[bytes]:
    facts = b"environment:\n  threads: 1\nidentity: abc\nassets:\n  recipe.yaml: abc\n"
    return [recipe + facts for recipe in good_recipes()]


TARGETS = [
    Target("manifest", ".json", good_manifests, read_manifest, hostile_manifests, TOKENS),
    Target("run log", ".jsonl", good_logs, read_log, hostile_logs, TOKENS),
    Target("pointer", ".txt", good_pointers, read_pointer, tuple, (b"../", b"/", b"\0", b"step-")),
    Target("run recipe", ".yaml", good_own_recipes, read_recipe, hostile_recipes, YAML_TOKENS),
]
