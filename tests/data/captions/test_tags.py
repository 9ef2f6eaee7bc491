"""Which words of captions are learnt, and how true each is of an image."""

import numpy as np
import pytest
import torch
from sklearn.feature_extraction.text import CountVectorizer

from landmark.core.errors import UserError
from landmark.data.captions.tags import (
    STOP_WORDS,
    TagConfig,
    TagSamples,
    choose_tags,
    tag_shares,
)
from landmark.data.images.augment import AugmentConfig
from landmark.data.images.form import ImageForm
from landmark.data.images.samples import ImageBatchConfig
from landmark.data.images.store import ImageList

CAPTIONS = [
    ("a dog runs", "the brown dog", "a dog on a dog"),
    ("a man with a dog", "a man"),
    ("two people",),
    ("a man runs", "the man is there"),
]
LOW = TagConfig(min_images=1)


def test_words_are_counted_by_images_and_stop_words_left_out():
    assert choose_tags(CAPTIONS, TagConfig(min_images=2)) == ("dog", "man", "runs")
    every = choose_tags(CAPTIONS, LOW)
    assert every == ("dog", "man", "runs", "brown", "people", "two")
    assert choose_tags(CAPTIONS, TagConfig(min_images=1, most=2)) == ("dog", "man")
    whole = choose_tags(CAPTIONS, TagConfig(min_images=2, stop_words=True))
    assert whole == ("a", "dog", "man", "runs", "the")
    assert {"a", "is", "on", "the", "there", "with"} <= STOP_WORDS


def test_too_few_words_are_refused():
    with pytest.raises(UserError, match=r"0 words are in the captions of at least 9 images"):
        choose_tags(CAPTIONS, TagConfig(min_images=9))


def test_words_of_a_file_are_learnt_in_its_order(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("Two\n\nman\nthe\nman\n")
    assert choose_tags(CAPTIONS, TagConfig(file=str(path))) == ("two", "man", "the")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("dog\ncat\n", r"words\.txt:2: no training caption has the word 'cat': leave it out"),
        ("dog\nhot dog\n", r"words\.txt:2: 'hot dog' is not one word"),
        ("dog\n", r"words\.txt: has 1 words: give 2 to"),
        (None, r"words\.txt: cannot be read"),
    ],
)
def test_a_wrong_file_of_words_is_named_with_its_line(tmp_path, content, message):
    path = tmp_path / "words.txt"
    if content is not None:
        path.write_text(content)
    with pytest.raises(UserError, match=message):
        choose_tags(CAPTIONS, TagConfig(file=str(path)))


def test_a_words_share_is_that_of_the_captions_that_have_it():
    words = choose_tags(CAPTIONS, LOW)
    counts = CountVectorizer(vocabulary=words, binary=True)
    expected = [np.asarray(counts.transform(texts).mean(0))[0] for texts in CAPTIONS]
    found = tag_shares(CAPTIONS, words)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert found[0].tolist() == pytest.approx([1, 0, 1 / 3, 1 / 3, 0, 0])
    assert found.max() == 1


def test_a_batch_has_the_row_of_each_image_and_mixed_images_that_of_both():
    random = np.random.default_rng(1)
    pixels = [random.integers(0, 256, (9, 9, 3), np.uint8) for _ in CAPTIONS]
    images = ImageList(pixels, np.zeros(4, np.int64), [f"image {n}" for n in range(4)])
    words = choose_tags(CAPTIONS, LOW)
    targets = torch.from_numpy(tag_shares(CAPTIONS, words))

    def samples(augment):
        batches = ImageBatchConfig(size=4)
        return TagSamples(images, targets, ImageForm(words), batches, 8, augment=augment)

    plain = samples(None).collate(0, [2, 0])
    assert torch.equal(plain.labels, targets[[2, 0]])
    assert plain.num_tokens == 2
    mixed = samples(AugmentConfig(mixup=0.5)).collate(3, [2, 0, 1])
    assert torch.equal(mixed.labels, targets[[2, 0, 1]])
    rows = {tuple(row.tolist()) for row in targets}
    assert {tuple(row.tolist()) for row in mixed.partners} <= rows
    assert mixed.partners.shape == (3, 6)
