"""Figures, one file each."""

from landmark.core.registry import Registry
from landmark.tasks.card import CARDS, FigureEntry

FIGURES: Registry[FigureEntry] = Registry("figure")


def register_figure(name: str, help_text: str, module: str) -> FigureEntry:
    """Add a figure: `module` has Options, compute, draw and table."""
    return FIGURES.add(name, FigureEntry(name, help_text, module))


_FIGURES = (
    (
        "attention",
        "Plot the attention of a GPT or BERT over a text: one head, a layer, or all.",
        "landmark.figures.attention",
    ),
    (
        "next",
        "Print the predicted next tokens and the surprisal at each position of a text.",
        "landmark.figures.next",
    ),
    (
        "losses",
        "Plot training and validation losses of runs by step, tokens or minutes.",
        "landmark.figures.losses",
    ),
    (
        "neighbours",
        "Plot the nearest neighbours of words by their embeddings.",
        "landmark.figures.neighbours",
    ),
    (
        "scaling",
        "Plot loss against parameters and tokens, with fitted power laws (scaling laws).",
        "landmark.figures.scaling",
    ),
    (
        "gradients",
        "Plot vanishing gradients over time: RNN, LSTM, GRU and Transformer.",
        "landmark.figures.recurrent.gradients",
    ),
    (
        "gates",
        "Plot the gates of an LSTM or GRU language model while it reads a text.",
        "landmark.figures.recurrent.gates",
    ),
    (
        "cells",
        "Find hidden units that track quotes, brackets, indentation or the position in the line.",
        "landmark.figures.recurrent.cells",
    ),
    (
        "game",
        "Plot data, samples and discriminator of a GAN on points over its training.",
        "landmark.figures.adversarial.game",
    ),
    (
        "samples",
        "Show what a GAN of images makes of the same noise, validation by validation.",
        "landmark.figures.adversarial.samples",
    ),
    (
        "nearest",
        "Show samples of a GAN of images beside the training images that are nearest to them.",
        "landmark.figures.adversarial.nearest",
    ),
    (
        "alignments",
        "Plot the attention of translation models on one sentence, with alignment error rates.",
        "landmark.figures.translation.alignments",
    ),
    (
        "exposure",
        "Plot exposure bias: next-token accuracy after reference words and after the model's own.",
        "landmark.figures.translation.exposure",
    ),
    (
        "sizes",
        "Plot BLEU against the number of parameters of translation models.",
        "landmark.figures.translation.sizes",
    ),
    (
        "board",
        "Plot a position of a Go game: stones, move numbers, ownership.",
        "landmark.figures.go.board",
    ),
    (
        "go-network",
        "Draw what a Go network sees in a position: policy, search, ownership.",
        "landmark.figures.go.network",
    ),
    (
        "go-ladder",
        "Plot the Elo of all players of Go matches on one scale.",
        "landmark.figures.go.ladder",
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
    "kernels": "Plot the kernels of a convolution, as in AlexNet's figure 3.",
    "filters": "Plot an image filtered by hand-made kernels: identity, edge, blur, …",
    "maps": "Plot the feature maps of an image, of one layer or many.",
    "receptive": "Plot the receptive field of each layer, theoretical and effective.",
    "saliency": "Plot Grad-CAM and SmoothGrad: where an image shows evidence for a class.",
    "occlusion": "Plot occlusion sensitivity: class probability with a patch covered.",
    "patches": "Plot a Vision Transformer's attention: the heads of a layer, attention rollout.",
    "positions": "Plot the similarity of a Vision Transformer's position embeddings.",
}
_DESCENT = {
    "paths": "Plot the paths of optimizers on test surfaces.",
    "rates": "Plot an optimizer with a learning rate that is too small, right and too large.",
    "momentum": "Plot gradient descent with and without momentum in a ravine.",
    "bias": "Plot Adam's losses with and without bias correction on a small network.",
    "updates": "Plot the size of each layer's updates at each training step.",
}
for _folder, _figures in (("images", _IMAGES), ("descent", _DESCENT)):
    for _name, _help in _figures.items():
        register_figure(_name, _help, f"landmark.figures.{_folder}.{_name}")
