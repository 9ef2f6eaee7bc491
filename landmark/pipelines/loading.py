"""`landmark.load`: a run directory as a pipeline ready to use."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, overload

from landmark.core.errors import UserError
from landmark.engine.run import Run
from landmark.pipelines.filling import FillingPipeline
from landmark.pipelines.generation import GenerationPipeline
from landmark.pipelines.image.classification import ClassificationPipeline
from landmark.pipelines.image.engine import COMPILED, TorchEngine
from landmark.pipelines.image.exported import ONNX, load_onnx
from landmark.pipelines.translation.exported import load_engine
from landmark.pipelines.translation.translation import TranslationPipeline
from landmark.pipelines.understanding import UnderstandingPipeline
from landmark.recipes.image_classification import ImageClassificationRun
from landmark.recipes.language_model import LanguageModelRun
from landmark.recipes.masked_language_model import MaskedLanguageModelRun
from landmark.recipes.training import check_assets, load_config
from landmark.recipes.translation import TranslationRun
from landmark.recipes.understanding import UnderstandingRun

Folder = str | Path
_Usable = (
    TranslationRun
    | LanguageModelRun
    | MaskedLanguageModelRun
    | UnderstandingRun
    | ImageClassificationRun
)
_COMMANDS = {
    "translation": "landmark translate",
    "language-model": "landmark generate",
    "masked-language-model": "landmark fill",
    "understanding": "landmark predict",
    "image-classification": "landmark classify",
}
_PIPELINES: dict[str, Any] = {
    "language-model": GenerationPipeline,
    "masked-language-model": FillingPipeline,
    "understanding": UnderstandingPipeline,
}


@overload
def load(
    run: Folder,
    checkpoint: str | None = None,
    device: str = "auto",
    *,
    ensemble: Sequence[Folder] = (),
    engine: str = "torch",
    task: Literal["translation"],
) -> TranslationPipeline: ...


@overload
def load(
    run: Folder,
    checkpoint: str | None = None,
    device: str = "auto",
    *,
    task: Literal["language-model"],
) -> GenerationPipeline: ...


@overload
def load(
    run: Folder,
    checkpoint: str | None = None,
    device: str = "auto",
    *,
    task: Literal["understanding"],
) -> UnderstandingPipeline: ...


@overload
def load(
    run: Folder,
    checkpoint: str | None = None,
    device: str = "auto",
    *,
    engine: str = "torch",
    task: Literal["image-classification"],
) -> ClassificationPipeline: ...


@overload
def load(
    run: Folder,
    checkpoint: str | None = None,
    device: str = "auto",
    *,
    task: Literal["masked-language-model"],
) -> FillingPipeline: ...


@overload
def load(
    run: Folder,
    checkpoint: str | None = None,
    device: str = "auto",
    *,
    ensemble: Sequence[Folder] = (),
    engine: str = "torch",
) -> Any: ...


def load(
    run: Folder,
    checkpoint: str | None = None,
    device: str = "auto",
    *,
    ensemble: Sequence[Folder] = (),
    engine: str = "torch",
    task: str | None = None,
) -> Any:
    """Open a trained run; `checkpoint`: averaged, best, latest or a step (default: first there).

    What comes out is what the run was trained for; with a `task`, nothing else may.
    Translation: with an `ensemble` of other runs their probabilities are averaged; an `engine`
    other than torch searches with the run's export (see `landmark export`). Images have onnx, too,
    and compiled: a minute or two of waiting, then faster.
    """
    opened, config = _open(run, task)
    if isinstance(config, ImageClassificationRun):
        if ensemble or engine not in ("torch", COMPILED, ONNX):
            raise UserError(f"{run}: images are named by one network, with torch, compiled or onnx")
        return _load_classifier(opened, config, checkpoint, device, engine)
    if not isinstance(config, TranslationRun):
        if ensemble or engine != "torch":
            kind = "fine-tuned" if isinstance(config, UnderstandingRun) else "language"
            raise UserError(f"{run}: a {kind} model has neither an ensemble nor an engine")
        return _PIPELINES[config.task](opened, config, checkpoint, device)
    pipeline = TranslationPipeline(opened, config, checkpoint, device)
    if ensemble and engine != "torch":
        raise UserError("an ensemble is searched with torch: leave out --engine")
    if ensemble:
        others = [load(other, device=device, task="translation") for other in ensemble]
        for other in others:
            _check_alike(pipeline, other)
        pipeline.use([pipeline.model, *(other.model for other in others)])
    if engine != "torch":
        pipeline.engine = load_engine(run, engine, checkpoint=checkpoint)
    return pipeline


def _load_classifier(
    run: Run, config: ImageClassificationRun, checkpoint: str | None, device: str, engine: str
) -> ClassificationPipeline:
    """A run on images, with what looks at them."""
    pipeline = ClassificationPipeline(run, config, checkpoint, "cpu" if engine == ONNX else device)
    if engine == ONNX:
        pipeline.engine = load_onnx(run, checkpoint)
    elif engine == COMPILED:
        pipeline.engine = TorchEngine(pipeline.network, pipeline.device, compiled=True)
    return pipeline


def _open(run: Folder, task: str | None) -> tuple[Run, _Usable]:
    """A run that is whole and of the task that is asked for."""
    opened = Run.open(Path(run))
    config = load_config(opened)
    if not isinstance(config, _Usable):
        raise UserError(f"{run}: is a run of task {config.task!r}, which has no pipeline")
    if task not in (None, config.task):
        raise UserError(
            f"{run}: is a run of task {config.task!r}, not {task!r}: use `{_COMMANDS[config.task]}`"
        )
    check_assets(opened)
    return opened, config


def _check_alike(one: TranslationPipeline, other: TranslationPipeline) -> None:
    """Only what speaks of the same tokens in the same languages can be averaged."""
    if one.tokenizer.to_text() != other.tokenizer.to_text():
        raise UserError(
            f"{other.run.folder}: has another vocabulary than {one.run.folder}: an ensemble needs "
            "runs of one tokenizer (train with tokenizer.file=RUN/tokenizer.json)"
        )
    for name in ("tokenizer.form", "data.languages", "data.tags"):
        group, _, key = name.partition(".")
        values = [getattr(getattr(p.config, group), key) for p in (one, other)]
        if values[0] != values[1]:
            raise UserError(f"{other.run.folder}: has {name} {values[1]!r}, not {values[0]!r}")
