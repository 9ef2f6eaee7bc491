"""`landmark.load`: a run directory as a pipeline ready to use."""

from collections.abc import Sequence
from pathlib import Path

from landmark.core.errors import UserError
from landmark.engine.run import Run
from landmark.pipelines.exported import load_engine
from landmark.pipelines.translation import TranslationPipeline
from landmark.recipes.training import check_assets, load_config
from landmark.recipes.translation import TranslationRun


def load(
    run: str | Path,
    checkpoint: str | None = None,
    device: str = "auto",
    *,
    ensemble: Sequence[str | Path] = (),
    engine: str = "torch",
) -> TranslationPipeline:
    """Open a trained run; `checkpoint`: averaged, best, latest or a step (default: first there).

    With an `ensemble` of other runs their probabilities are averaged; an `engine` other than torch
    searches with the run's export (see `landmark export`).
    """
    pipeline = _open(run, checkpoint, device)
    if ensemble and engine != "torch":
        raise UserError("an ensemble is searched with torch: leave out --engine")
    if ensemble:
        others = [_open(other, None, device) for other in ensemble]
        for other in others:
            _check_alike(pipeline, other)
        pipeline.use([pipeline.model, *(other.model for other in others)])
    if engine != "torch":
        pipeline.engine = load_engine(run, engine, pipeline.config.threads, checkpoint)
    return pipeline


def _open(run: str | Path, checkpoint: str | None, device: str) -> TranslationPipeline:
    opened = Run.open(Path(run))
    config = load_config(opened)
    if not isinstance(config, TranslationRun):
        raise UserError(f"{run}: is a run of task {config.task!r}, which has no pipeline")
    check_assets(opened)
    return TranslationPipeline(opened, config, checkpoint, device)


def _check_alike(one: TranslationPipeline, other: TranslationPipeline) -> None:
    """Only what speaks of the same tokens in the same languages can be averaged."""
    if one.tokenizer.backend.to_str() != other.tokenizer.backend.to_str():
        raise UserError(
            f"{other.run.folder}: has another vocabulary than {one.run.folder}: an ensemble needs "
            "runs of one tokenizer (train with tokenizer.file=RUN/tokenizer.json)"
        )
    for name in ("tokenizer.form", "data.languages", "data.tags"):
        group, _, key = name.partition(".")
        values = [getattr(getattr(p.config, group), key) for p in (one, other)]
        if values[0] != values[1]:
            raise UserError(f"{other.run.folder}: has {name} {values[1]!r}, not {values[0]!r}")
