"""From a recipe's name to a trained run directory: what `landmark train` does."""

import dataclasses
import hashlib
import json
import re
import shutil
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import torch
import yaml
from torch import nn

from landmark.core.choice import follow_choices
from landmark.core.configuration import (
    Provenance,
    as_values,
    as_yaml,
    build,
    fingerprint,
    override,
    read_yaml,
)
from landmark.core.errors import UserError
from landmark.core.runtime import choose_device, environment, set_threads
from landmark.core.storage import is_plain_name, read_own, storage_error
from landmark.engine import distributed
from landmark.engine.checkpoint import load_module
from landmark.engine.observation import check_libraries
from landmark.engine.run import LOCK, LOG, RECIPE, Run
from landmark.engine.session import load_player, open_session
from landmark.engine.settings import resolve_epochs
from landmark.engine.trainer import Report
from landmark.tasks.card import CARDS, listed
from landmark.tasks.card import resolve as resolve_reference
from landmark.tasks.catalog import RECIPES, load_catalog
from landmark.tasks.fine_tuning import Origin
from landmark.tasks.index import check_recipe
from landmark.tasks.task import RunConfig, Task, task_named

# What may change when a run goes on. Weights and data stay what they are; max_steps moves the end
# of a cosine schedule, and accumulate deals out dropout's draws anew.
_FREE = {"device", "threads", "batches.workers"} | {
    f"trainer.{key}"
    for key in (
        "max_steps", "accumulate", "log_every", "validate_every", "checkpoint_every", "keep_last",
        "patience", "average_last", "compile", "sharded", "timeout",
    )
}  # fmt: skip

# What may change only by being named: a way past numbers that are not finite.
_DELIBERATE = {
    "schedule.rate", "trainer.clip_norm", "trainer.clip_value", "trainer.skip_nonfinite",
}  # fmt: skip

_LENGTH = "trainer.max_steps"

# What a run's recipe.yaml says beside the configuration.
FACTS = ("environment", "identity", "assets")


def resolve(name: str, overrides: Sequence[str] = ()) -> RunConfig:
    """A recipe's name or a YAML file, with dotted overrides, as a checked configuration."""
    load_catalog()
    if name in RECIPES:
        values, origin = as_values(RECIPES[name].build()), Provenance(f"recipe {name}")
    elif name.endswith((".yaml", ".yml")) or Path(name).is_file():
        values, origin = read_yaml(Path(name))
    else:
        check_recipe(name)  # says what was perhaps meant
        raise AssertionError
    return _build(values, overrides, origin)


def _build(values: dict[str, Any], overrides: Sequence[str], origin: Provenance) -> RunConfig:
    values = {key: value for key, value in values.items() if key not in FACTS}
    changed = override(values, overrides, origin)
    if "task" not in changed:
        raise UserError(f"{origin.default}: 'task' is missing: one of {', '.join(CARDS)}")
    cls = task_named(str(changed["task"])).config
    given = override({}, overrides, Provenance(origin.default))
    config: RunConfig = build(cls, follow_choices(cls, values, changed, given), origin)
    return config


def load_config(run: Run, overrides: Sequence[str] = ()) -> RunConfig:
    """The configuration of an existing run."""
    load_catalog()
    return _build(run.read_recipe(), overrides, Provenance(str(run.folder / "recipe.yaml")))


def is_finished(folder: Path) -> bool:
    """Whether a folder holds a run whose training has come to its end."""
    if not folder.is_dir():
        return False
    run = Run.open(folder)
    steps = run.steps()
    return bool(steps) and steps[-1] >= load_config(run).trainer.max_steps


def task_of_recipe(name: str, overrides: Sequence[str] = ()) -> str:
    """The task of a recipe's name or a YAML file."""
    return resolve(name, overrides).task


def assignments(
    recipe: str, settings: Sequence[str] | Mapping[str, Any], options: Mapping[str, Any]
) -> list[str]:
    """Settings and options, as Python gives them, as dotted overrides; settings come last."""
    if isinstance(settings, str):
        raise UserError(f"settings are a mapping or a list, not one string: [{settings!r}]")
    if isinstance(settings, Mapping):
        settings = [_assignment(key, value) for key, value in flatten(settings).items()]
    data, found = dict(options), {}
    for key in ("device", "init_from"):
        if (value := data.pop(key, None)) is not None:
            found[key] = fspath(value)
    if data:
        card = CARDS[task_of_recipe(recipe, settings)]
        cls = resolve_reference(card.data_options)
        known = [*(field.name for field in dataclasses.fields(cls)), "device", "init_from"]
        if odd := next((key for key in data if key not in known), None):
            raise UserError(
                f"{odd!r} is no option of {recipe}, a recipe of task {card.name!r}: it takes "
                f"{', '.join(known)}; settings of the recipe go into the mapping `settings`"
            )
        found |= build(cls, listed(cls, data), Provenance(recipe)).overrides()
    return [*(_assignment(key, value) for key, value in found.items()), *settings]


def _assignment(key: str, value: Any) -> str:
    return f"{key}={json.dumps(value, default=fspath)}"


def identity(config: RunConfig) -> str:
    """What a run is, for finding it again: a digest of its recipe and its data."""
    values = as_values(config)
    for free in ("device", "threads"):
        values.pop(free, None)
    return fingerprint({"recipe": values, "data": task_named(config.task).data_digest(config)})


def train(
    recipe: str,
    run: str | PathLike[str] | None = None,
    settings: Sequence[str] | Mapping[str, Any] = (),
    *,
    resume: str | None = None,
    report: Report = lambda record: None,
    tensorboard: bool = False,
    wandb: bool = False,
    profile: bool = False,
    **options: Any,
) -> Run:
    """Train a recipe into a run directory, or go on with it (`resume`: auto or a checkpoint).

    `settings` change the recipe: {"trainer.max_steps": 100}, nested or as "trainer.max_steps=100".
    `options`: device, init_from (a run to fine-tune), and the data options of the recipe's task, as
    source= and target=, text=, or data=. `report` gets a mapping for each line of the log.
    """
    check_libraries(tensorboard, wandb)
    overrides = assignments(recipe, settings, options)
    config = resolve(recipe, overrides)
    target = Run(Path(run) if run else Path("runs") / Path(recipe).stem)
    for place in (target.folder, *target.folder.parents):
        if place.is_file():
            raise UserError(f"{place}: is a file: --run names another folder")
    if resume is not None and not distributed.restarted():
        _check_there(target, resume)
    device = choose_device(config.device)
    set_threads(config.threads)
    timeout = config.trainer.timeout
    with distributed.process_group(device, timeout), _lock(target, task_named(config.task)):
        if distributed.max_over_ranks(distributed.restarted(), device):
            resume = "auto"  # with what the same command has saved so far
        exists = (target.folder / RECIPE).is_file() and distributed.is_main()
        resuming = bool(distributed.max_over_ranks(exists, device))
        if resuming and resume is None:
            raise UserError(
                f"{target.folder}: exists: continue with --resume, or name another folder with "
                "--run"
            )
        if not resuming and distributed.is_main():
            if resume:  # it ended before its run was prepared
                report(
                    {
                        "kind": "note",
                        "text": f"{target.folder}: no run here yet: starting from scratch",
                    }
                )
            _prepare(config, target, report, named_settings(recipe, overrides))
        _wait_until_prepared(target)
        named = {override.partition("=")[0] for override in overrides}
        config = _continued(config, target, named) if resuming else load_config(target)
        try:
            assembly = task_named(config.task).assembled(config, target.folder, device)
            session = open_session(config, assembly, target, device, report)
        except UserError:
            if not resuming and distributed.is_main():  # settings that do not go together
                (target.folder / RECIPE).unlink()
                _discard(target, task_named(config.task))
            raise
        if resuming:
            check_assets(target)
            _compare_threads(target, report)
            session.resume(resume or "auto")
        if tensorboard:
            session.add_tensorboard()
        if wandb:
            session.add_wandb(as_values(config))
        session.train(profile)
    return target


def _check_there(run: Run, resume: str) -> None:
    """A typo must not begin another training; one that was broken off early may begin again."""
    begun = (run.folder / LOCK).is_file()
    if resume != "auto" or not begun:
        Run.open(run.folder)


def _lock(run: Run, task: Task) -> AbstractContextManager[None]:
    """The first process holds the run's lock for all of them, in a folder that is ours to fill."""
    if not distributed.is_main():
        return nullcontext()
    inside = {path.name for path in run.folder.iterdir()} if run.folder.is_dir() else set()
    made = {LOCK, LOG, f".{RECIPE}.partial", *task.prepared}
    broken_off = LOCK in inside and inside <= made
    if inside and RECIPE not in inside and not broken_off:
        raise UserError(f"{run.folder}: is neither empty nor a run: --run names another folder")
    return run.locked()


def _wait_until_prepared(run: Run) -> None:
    """The first process prepares, for hours perhaps: no exchange that times out.

    It has made the folder and locked it before it met the others.
    """
    patience = time.monotonic() + 30  # a network's file system may show things late
    while not (run.folder / RECIPE).is_file():
        if not run.folder.is_dir() and time.monotonic() > patience:
            raise UserError(
                f"{run.folder}: is not to be seen from process {distributed.rank()}: "
                "--run must name a folder that all machines share"
            )
        time.sleep(0.1)


def named_settings(recipe: str, overrides: Sequence[str]) -> set[str]:
    """The dotted keys that a user named: in overrides, or in a recipe file of their own.

    What a file has of a run's resolved settings was perhaps not the user's wish.
    """
    named = set(flatten(override({}, overrides, Provenance(recipe))))
    if recipe in RECIPES:
        return named
    values, _ = read_yaml(Path(recipe))
    resolved = task_named(str(values["task"])).resolved if "task" in values else ()
    return named | (set(flatten(values)) - set(resolved))


def _prepare(config: RunConfig, run: Run, report: Report, named: Collection[str]) -> None:
    """Fill the folder; the recipe is written last, so that a folder with one is complete."""

    def log(record: Mapping[str, Any]) -> None:
        if record["kind"] == "data":
            run.append_log(record)
        report(record)

    task = task_named(config.task)
    (run.folder / LOG).unlink(missing_ok=True)
    try:
        name = identity(config)
        resolved = prepare_task(config, run.folder, log, named)
    except BaseException as error:
        _discard(run, task)
        if isinstance(error, OSError) and not error.filename:
            raise storage_error(run.folder, error) from None
        raise
    assets = {asset: _file_digest(run.folder / asset) for asset in task.assets}
    _write_recipe(run, resolved, {"environment": environment(), "identity": name, "assets": assets})


def prepare_task(
    config: RunConfig, folder: Path, report: Report, named: Collection[str] = ()
) -> RunConfig:
    """Fill a run folder with what training needs; the configuration fitted to it.

    `named`: the settings that the user named, which a fine-tuning must not drop in silence. Passes
    over the data become updates here, unless the task knows their number earlier.
    """
    task = task_named(config.task)
    config = task.prepare(config, folder, report, open_origin(config, named))
    if config.trainer.epochs is None or _LENGTH in task.resolved:
        return config
    source = task.assembled(config, folder, torch.device("cpu")).source
    trainer = resolve_epochs(config.trainer, source.batches_per_epoch())
    report({"kind": "data", "batches": source.batches_per_epoch(), "max_steps": trainer.max_steps})
    return dataclasses.replace(config, trainer=trainer)


def open_origin(config: RunConfig, named: Collection[str] = ()) -> Origin | None:
    """The run that a configuration begins from, if it names one; only certain tasks' runs fit."""
    if config.init_from is None:
        return None
    run = Run.open(Path(config.init_from))
    old, allowed = load_config(run), CARDS[config.task].begins_from
    if old.task not in allowed:
        fits = f"begin from one of {' or '.join(allowed)}" if allowed else "leave out --init-from"
        raise UserError(
            f"{run.folder}: is a run of task {old.task!r}, and a run of task {config.task!r} "
            f"cannot begin from it: {fits}"
        )
    check_assets(run)
    return Origin(run, old, frozenset(named))


def _discard(run: Run, task: Task) -> None:
    """Take away what a preparation that failed has made, and nothing else."""
    for name in (*task.prepared, LOG, LOCK):
        path = run.folder / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    if not any(run.folder.iterdir()):
        run.folder.rmdir()


def _write_recipe(run: Run, config: RunConfig, facts: Mapping[str, Any]) -> None:
    run.write_recipe(as_yaml(config) + yaml.safe_dump(dict(facts), sort_keys=False))


def check_assets(run: Run) -> None:
    """Refuse a run whose files beside the checkpoints are not the ones it was trained with."""
    for asset, digest in _fact(run, "assets").items():
        if not is_plain_name(asset):
            raise UserError(f"{run.folder / RECIPE}: the asset {asset!r} leads out of the run")
        check_asset(run.folder / asset, digest)


def check_asset(path: Path, digest: str) -> None:
    """Refuse a file that has not the digest which the run's recipe says."""
    if not path.is_file():
        raise UserError(f"{path}: is missing: the run cannot be used without it")
    if _file_digest(path) != digest:
        raise UserError(f"{path}: is not the one this run was trained with: put that one back")


def load_weights(model: nn.Module, run: Run, checkpoint: str | None, vocabulary: int) -> Path:
    """Give a model for use the weights of a run, whose tokenizer must be as large; from where."""
    entries = model.get_parameter("output.weight").shape[0]
    if vocabulary != entries:
        raise UserError(
            f"{run.folder}: the vocabulary does not match: the model has {entries} entries, "
            f"tokenizer.json has {vocabulary}"
        )
    folder = run.find_checkpoint(checkpoint)
    load_module(model, load_player(folder, "model"), folder)
    return folder


def _compare_threads(run: Run, report: Report) -> None:
    """Say so if a run goes on with another number of threads than it began with."""
    begun = _fact(run, "environment").get("threads")
    now = torch.get_num_threads()
    if begun not in (None, now) and distributed.is_main():
        text = f"warning: started with {begun} threads, now {now}: results differ in the last bits"
        report({"kind": "note", "text": text})


def _fact(run: Run, key: str) -> dict[str, Any]:
    """What a run's recipe says beside the configuration; old runs say less."""
    found = run.read_recipe().get(key)
    return found if isinstance(found, dict) else {}


def _file_digest(path: Path) -> str:
    return hashlib.sha256(read_own(path, "put the run's own back")).hexdigest()


def _continued(config: RunConfig, run: Run, named: set[str]) -> RunConfig:
    """The run's own configuration, with what may change taken from `config`."""
    stored = load_config(run)
    old, new = flatten(as_values(stored)), flatten(as_values(config))
    changed = {key: value for key, value in new.items() if old.get(key) != value}
    dropped = {key for key in old.keys() - new.keys() if _for_all_players(key) != key}
    changed |= dict.fromkeys(dropped)
    # Resolved when the run was prepared, some from the run that it began from.
    resolved = ("model.", "tokenizer.") if stored.init_from else ("model.vocab_size",)
    changed = {key: value for key, value in changed.items() if not key.startswith(resolved)}
    fitted = {*task_named(stored.task).resolved, *([_LENGTH] if stored.trainer.epochs else [])}
    for key in fitted - named:
        changed.pop(key, None)
    changed = {key: value for key, value in changed.items() if not _is_idle(key, stored, config)}
    deliberate = {key for key in named if _for_all_players(key) in _DELIBERATE}
    fixed = sorted(set(changed) - _FREE - deliberate)
    if fixed:
        key = fixed[0]
        raise UserError(
            f"{run.folder}: was trained with {key}={old.get(key)}, not {changed[key]}: "
            f"a run goes on as it began (train {run.folder / RECIPE} repeats all its settings)"
        )
    changed_config = load_config(run, [f"{k}={json.dumps(v)}" for k, v in changed.items()])
    if changed and distributed.is_main():
        _write_recipe(
            run, changed_config, {k: v for k, v in run.read_recipe().items() if k in FACTS}
        )
    return changed_config


def _is_idle(key: str, *configs: RunConfig) -> bool:
    """Whether it is a setting of Adam's, and nothing in these configurations reads it."""
    return key in ("optimizer.betas", "optimizer.epsilon") and not any(
        config.optimizer.has_moments or config.optimizers for config in configs
    )


def _for_all_players(key: str) -> str:
    """The setting of all players that a setting of one player changes."""
    return re.sub(r"^(optimizer|schedule)s\.[^.]+\.", r"\1.", key)


def flatten(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested values by dotted key."""
    flat: dict[str, Any] = {}
    for key, value in values.items():
        flat |= (
            flatten(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value}
        )
    return flat
