"""COMET, a trained metric of translations, by the user's own install of unbabel-comet.

Rei et al. 2020, "COMET: A Neural Framework for MT Evaluation", arXiv 2009.09025.
"""

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from landmark.core.errors import UserError
from landmark.metrics.translation import Score

NAME = "COMET"


def check_comet(model: str) -> None:
    """Refuse early what could not be scored in the end."""
    _package()
    if model.endswith(".ckpt") and not Path(model).is_file():
        raise UserError(f"--comet {model}: there is no such file")


def _package() -> Any:
    try:
        return importlib.import_module("comet")
    except ImportError:
        raise UserError(
            "COMET needs unbabel-comet, which is not installed: pip install unbabel-comet"
        ) from None


def score_comet(
    model: str, sources: Sequence[str], translations: Sequence[str], references: Sequence[str]
) -> Score:
    """The mean over all sentences, in percent; `model`: a .ckpt file or a name that COMET knows."""
    comet = _package()
    path = model if model.endswith(".ckpt") else comet.download_model(model)
    sides = zip(sources, translations, references, strict=True)
    samples = [{"src": source, "mt": said, "ref": right} for source, said, right in sides]
    network = comet.load_from_checkpoint(path)
    found = network.predict(samples, batch_size=8, gpus=0, progress_bar=False)
    version = getattr(comet, "__version__", "unknown")
    return Score(NAME, 100 * float(found.system_score), f"{model}|version:{version}")
