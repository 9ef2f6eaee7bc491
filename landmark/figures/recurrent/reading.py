"""Language models with recurrent layers opened for figures, and texts cut into their tokens."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from landmark.core.errors import UserError
from landmark.figures.opening import open_pipeline


def open_recurrent(run: Path, checkpoint: str | None = None, device: str = "auto") -> Any:
    """A run of a language model that has recurrent layers to look at."""
    pipeline = open_pipeline(run, ("language-model",), checkpoint, device)
    architecture = pipeline.config.model.architecture
    if architecture != "recurrent":
        raise UserError(
            f"{run}: is a {architecture.upper()}, which has no recurrent layers: "
            "see `landmark figure attention`"
        )
    return pipeline


def cut(tokenizer: Any, text: str, place: Callable[[int], str]) -> tuple[list[int], list[str]]:
    """A text's tokens and what each stands for; a character never seen is named with its place."""
    from landmark.data.running_text.character import UnknownCharacterError
    from landmark.data.text_file import is_valid
    from landmark.probes.gate import cut_text

    if not text:
        raise UserError("the text is empty: give some")
    if not is_valid(text):
        raise UserError("the text is not valid UTF-8")
    try:
        return cut_text(tokenizer, text)
    except UnknownCharacterError as error:
        raise error.at(place(error.offset)) from None
