"""`landmark.load`: a run directory as a pipeline ready to use."""

from pathlib import Path

from landmark.core.errors import UserError
from landmark.engine.run import Run
from landmark.pipelines.translation import TranslationPipeline
from landmark.recipes.training import check_assets, load_config
from landmark.recipes.translation import TranslationRun


def load(
    run: str | Path, checkpoint: str | None = None, device: str = "auto"
) -> TranslationPipeline:
    """Open a trained run; `checkpoint`: averaged, best, latest or a step (default: first there)."""
    opened = Run.open(Path(run))
    config = load_config(opened)
    if not isinstance(config, TranslationRun):
        raise UserError(f"{run}: is a run of task {config.task!r}, which has no pipeline")
    check_assets(opened)
    return TranslationPipeline(opened, config, checkpoint, device)
