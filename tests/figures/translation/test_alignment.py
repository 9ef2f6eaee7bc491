import torch
from matplotlib.image import imread

from landmark.figures.translation.alignment import save_alignment, save_trials
from landmark.metrics.alignment import AlignmentScore
from landmark.tasks.translation.alignment import Alignment, AttentionChoice, HeadScore


def drawn(path, links):
    weights = torch.tensor([[0.9, 0.05, 0.05], [0.2, 0.7, 0.1]])
    pieces = ("a", "b", "</s>")
    words, choice = (("$a$", "b"), ("c", "d$")), AttentionChoice(1, None, False)
    found = Alignment(*words, frozenset(links), weights, pieces, pieces, weights, choice)
    save_alignment(found, "title", path)
    return imread(path)


def test_links_are_framed(tmp_path):
    one = drawn(tmp_path / "one.png", {(0, 0), (1, 1)})
    other = drawn(tmp_path / "other.png", {(0, 0), (0, 1)})
    assert one.shape == other.shape
    assert (one != other).any()


def test_error_rates_are_drawn_for_both_steps(tmp_path):
    trials = [
        HeadScore(AttentionChoice(layer, head, shifted), AlignmentScore(0.5, 0.5, 0.1 * layer, 3))
        for shifted in (False, True)
        for layer in (1, 2, 3)
        for head in (1, 2, None)
    ]
    path = tmp_path / "choice.png"
    save_trials(trials, path)
    height, width = imread(path).shape[:2]
    assert width > height > 200
