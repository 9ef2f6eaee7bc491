"""A model of another library as a run directory: written beside its place, then put there whole."""

import hashlib
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import yaml

from landmark.core.configuration import Positional, as_values, as_yaml, fingerprint, settings
from landmark.core.errors import UserError
from landmark.core.storage import beside, make_folder, sync_folder, write_durably

if TYPE_CHECKING:
    from torch import Tensor

    from landmark.tasks.task import RunConfig


@settings
class HuggingFaceOptions:
    """A model as Hugging Face saves it."""

    path: Annotated[str, Positional("PATH")]
    """A folder with config.json, or a model on the Hub, as owner/model."""
    run: Path | None = None
    """Run directory to create; default: runs/ and the name."""
    revision: str = "main"
    """Branch, tag or commit of a model on the Hub."""


def free_folder(run: Path | None, name: str) -> Path:
    """Where a run is to be: as asked for, or by its name; a folder that holds something is not."""
    target = run or Path("runs") / name
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UserError(f"{target}: exists: --run names another folder")
    return target


def write_imported(
    config: "RunConfig",
    state: "Mapping[str, Tensor]",
    assets: Mapping[str, bytes],
    target: Path,
    source: str,
) -> None:
    """Make a run of a configuration, weights and the files that using them needs."""
    # Here, not above: the command reads the options of imports without torch.
    from landmark.core.runtime import environment
    from landmark.engine.checkpoint import save_checkpoint
    from landmark.engine.run import Run
    from landmark.engine.session import MODEL

    target = target.resolve()
    partial = beside(target, "partial")
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in assets.items()}
    facts = {"environment": environment(), "assets": digests}
    facts["identity"] = fingerprint({"recipe": as_values(config), "from": source})
    try:
        shutil.rmtree(partial, ignore_errors=True)
        make_folder(partial)
        run = Run(partial)
        for name, content in assets.items():
            write_durably(partial / name, content)
        checkpoint = run.checkpoint_folder(0)
        weights = {f"model.{name}": tensor for name, tensor in state.items()}
        save_checkpoint(checkpoint, {MODEL: weights}, {"step": 0, "from": source})
        run.point("latest", checkpoint)
        run.append_log({"kind": "import", "step": 0, "from": source})
        run.write_recipe(as_yaml(config) + yaml.safe_dump(facts, sort_keys=False))
        if target.is_dir():
            target.rmdir()  # it is empty
        partial.rename(target)
        sync_folder(target.parent)
    except OSError as error:
        reason = error.strerror or error
        raise UserError(f"{target}: could not be written ({reason}): nothing is there") from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)
