"""Figures of what happens inside: one file a figure, read by the command line and the explorer."""

from landmark.core.registry import Registry
from landmark.tasks.card import CARDS, FigureEntry

FIGURES: Registry[FigureEntry] = Registry("figure")


def register_figure(name: str, help_text: str, module: str) -> FigureEntry:
    """Add a figure: `module` has Options, compute, draw and table."""
    return FIGURES.add(name, FigureEntry(name, help_text, module))


_FIGURES = (
    (
        "attention",
        "Draw the attention of a GPT or a BERT over a text: one head, a layer, or all of them.",
        "landmark.figures.attention",
    ),
    (
        "next",
        "Print what a model would say next at each place of a text, and how it took what came.",
        "landmark.figures.next",
    ),
    (
        "losses",
        "Draw the training and validation losses of runs by step, tokens or minutes.",
        "landmark.figures.losses",
    ),
    (
        "neighbours",
        "Draw the nearest entries of a model's vocabulary around words, by their embeddings.",
        "landmark.figures.neighbours",
    ),
    (
        "scaling",
        "Draw loss against parameters and tokens, with the power laws that fit them best.",
        "landmark.figures.scaling",
    ),
    (
        "gradients",
        "Draw how far back the loss of a last token reaches: RNN, LSTM, GRU and Transformer.",
        "landmark.figures.recurrent.gradients",
    ),
    (
        "gates",
        "Draw the gates of a language model while it reads a text.",
        "landmark.figures.recurrent.gates",
    ),
    (
        "cells",
        "Search for units that track quotes, brackets, indentation or the position in the line.",
        "landmark.figures.recurrent.cells",
    ),
    (
        "alignments",
        "Draw where each run looks while it translates a sentence; print error rates if known.",
        "landmark.figures.translation.alignments",
    ),
    (
        "exposure",
        "Draw how often the next token is right after the right words, and after a run's own.",
        "landmark.figures.translation.exposure",
    ),
    (
        "sizes",
        "Draw how good translators are against how many parameters they have, network by network.",
        "landmark.figures.translation.sizes",
    ),
)
for _name, _help, _module in _FIGURES:
    register_figure(_name, _help, _module)


def every_figure() -> dict[str, FigureEntry]:
    """All figures by name: the general ones, then those that a task brings."""
    return dict(
        {name: FIGURES[name] for name in FIGURES},
        **{name: entry for card in CARDS.values() for name, entry in card.figures.items()},
    )


_IMAGES = {
    "kernels": "Draw the kernels of a convolution as small pictures, as AlexNet's figure 3.",
    "filters": "Draw an image under the lecture's hand-made kernels: identity, edge, blur, …",
    "maps": "Draw the feature maps that a network makes of an image, of one layer or of many.",
    "receptive": "Draw how many pixels the units of each layer see, by arithmetic and gradients.",
    "saliency": "Draw which places of an image speak for a class (Grad-CAM, SmoothGrad).",
    "occlusion": "Draw how much less probable a class is when a part of the image is covered.",
    "patches": "Draw where a Vision Transformer looks: the heads of a layer, the flow through all.",
    "positions": "Draw how alike the positions of a Vision Transformer are: a square a patch.",
}
_DESCENT = {
    "paths": "Draw the paths that optimisers take on surfaces.",
    "rates": "Draw one optimiser with a learning rate that is too small, right and too large.",
    "momentum": "Draw gradient descent against momentum in a ravine, as lectures do.",
    "bias": "Train a small network by Adam with and without bias correction, and draw its losses.",
    "updates": "Draw how far each layer moves at each step of a real training.",
}
for _folder, _figures in (("images", _IMAGES), ("descent", _DESCENT)):
    for _name, _help in _figures.items():
        register_figure(_name, _help, f"landmark.figures.{_folder}.{_name}")
