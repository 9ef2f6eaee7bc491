"""Truth and attention by hand: one scene of one object, captions whose attention is given."""

import numpy as np
import pytest

from landmark.core.errors import UserError
from landmark.data.captions.corpus import CaptionDataConfig
from landmark.data.captions.scenes import Scene, SceneObject
from landmark.tasks.captioning import scene_truth
from landmark.tasks.captioning.pipeline import CaptionWord
from landmark.tasks.captioning.scene_truth import judge_scenes, overlaps

SIDE = 32
SCENE = Scene((SceneObject("circle", "red", "large", 0.25, 0.25, 0.16),), key=1)
"""Pixels 3 to 12 of 32: of a grid of 4x4, the upper left four places."""


@pytest.fixture
def judge(monkeypatch):
    monkeypatch.setattr(scene_truth, "scene_of", lambda split, number, config: SCENE)

    def call(*captions):
        told = [[CaptionWord(word, 0.5, grid) for word, grid in its] for its in captions]
        return judge_scenes("test", told, CaptionDataConfig(size=SIDE), SIDE)

    return call


def grid(**weights):
    """Attention at places named by row and column, as r0c1=0.7."""
    found = np.zeros((4, 4), np.float32)
    for name, weight in weights.items():
        found[int(name[1]), int(name[3])] = weight
    return found


ELSEWHERE, EVEN = grid(r3c3=1.0), np.full((4, 4), 1 / 16, np.float32)


def caption(text, at_noun):
    *before, noun = text.split()
    return [*((word, ELSEWHERE) for word in before), (noun, at_noun)]


def test_a_place_overlaps_where_any_pixel_of_the_mask_is() -> None:
    mask = np.zeros((8, 8), bool)
    mask[1, 3:5] = True  # of 4x4 places: row 0, columns 1 and 2
    expected = np.zeros((4, 4), bool)
    expected[0, 1:3] = True
    assert np.array_equal(overlaps(mask, (4, 4)), expected)


def test_places_share_out_an_odd_number_of_pixels() -> None:
    for pixel, place in enumerate([0, 0, 0, 1, 1]):  # 2.5 pixels a place
        mask = np.zeros((5, 5), bool)
        mask[pixel, 4] = True
        found = np.argwhere(overlaps(mask, (2, 2))).tolist()
        assert found == [[place, 1]]


def test_a_peak_on_the_object_counts_with_the_weight_that_lies_there(judge) -> None:
    truth = judge(caption("a red circle", grid(r1c0=0.6, r0c1=0.1, r3c3=0.3)))
    assert (truth.true, truth.nouns, truth.peaks) == (1.0, 1, 1.0)
    assert truth.inside == pytest.approx(0.7)
    assert truth.chance == 4 / 16


def test_a_peak_beside_the_object_does_not(judge) -> None:
    truth = judge(caption("a circle", grid(r0c0=0.4, r0c2=0.6)))
    assert (truth.peaks, truth.inside) == (0.0, pytest.approx(0.4))


def test_attention_that_is_even_has_what_chance_has(judge) -> None:
    truth = judge(caption("there is a large circle", EVEN))
    assert truth.peaks == truth.chance == 0.25
    assert truth.inside == pytest.approx(0.25)


def test_captions_that_are_false_or_no_sentence_count_as_false_and_their_nouns_do_not(judge):
    truth = judge(
        caption("a red circle", grid(r0c0=1.0)),
        caption("a blue circle", ELSEWHERE),
        caption("two circles", ELSEWHERE),
        caption("a a circle", ELSEWHERE),
        [],
    )
    assert truth.true == 1 / 5
    assert (truth.nouns, truth.peaks) == (1, 1.0)
    nothing = judge(caption("a square", EVEN))
    assert (nothing.true, nothing.nouns, nothing.peaks, nothing.chance) == (0, 0, 0, 0)
    assert "0.0 % of captions are true" in nothing.lines()[0]


def test_only_drawn_scenes_are_judged() -> None:
    config = CaptionDataConfig(corpus="files", captions=("a.tsv",))
    with pytest.raises(UserError, match="only drawn scenes are known"):
        judge_scenes("test", [[CaptionWord("a", 1.0, EVEN)]], config, SIDE)


def test_scenes_are_judged_in_the_cut_that_the_network_reads(monkeypatch) -> None:
    """Images of 64 pixels, of which a network of 32 sees the middle: pixels 16 to 47."""
    scene = Scene((SceneObject("circle", "red", "small", 0.375, 0.375, 0.09),), key=1)
    monkeypatch.setattr(scene_truth, "scene_of", lambda split, number, config: scene)
    told = [[CaptionWord(w, 0.5, grid(r0c0=1.0)) for w in ("a", "circle")]]
    truth = judge_scenes("test", told, CaptionDataConfig(size=64), 32)
    # The circle spans pixels 18 to 30 of 64, so 2 to 14 of the cut: places 0 and 1.
    assert (truth.peaks, truth.chance) == (1.0, 4 / 16)
