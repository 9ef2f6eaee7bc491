"""Attention within a text as a page: lines between tokens, a choice of layer and head."""

import base64
import json
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from torch import Tensor

from landmark.plots.attention import label
from landmark.plots.figure import save_page

_MOST = 65_535  # a weight of 1, in two bytes


def save_attention_page(
    names: Sequence[str],
    weights: Tensor,
    layers: Sequence[int],
    heads: Sequence[int],
    title: str,
    path: Path,
    token: int | None = None,
) -> None:
    """All given layers and heads in one file; `token`: whose lines to begin with.

    weights: (layers, heads, T, T)
    """
    numbers = (weights.double() * _MOST).round().numpy().astype("<u2")
    data = {
        "title": title,
        "tokens": [label(name) for name in names],
        "layers": list(layers),
        "heads": list(heads),
        "token": token,
        "weights": base64.b64encode(numbers.tobytes()).decode(),
    }
    # Whatever stands in a text, it must not end the script that it is in.
    embedded = json.dumps(data).replace("<", "\\u003c")
    template = files("landmark.plots.page").joinpath("attention.html").read_text("utf-8")
    save_page(template.replace("@DATA@", embedded), path)
