import os
from collections import Counter
from pathlib import Path

import pytest

from landmark.data.captions.text import caption_text, caption_words

DATA = Path(os.environ.get("LANDMARK_DATA", ""))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("A child in a pink dress is climbing .", "a child in a pink dress is climbing"),
        ('Two dogs , "Rex" and No. 7 ; they run !', "two dogs rex and no 7 they run"),
        ("The man's T-shirt says 24/7 - & it 's blue.", "the man's t-shirt says 24 7 it s blue"),
        ("a dog’s 3-legged-race (x_y) #1", "a dog's 3-legged-race x y 1"),
        ("A CAFÉ, Öl & नमस्ते", "a café öl नमस्ते"),
        ("cafe\u0301", "café"),
        (" . ", ""),
    ],
)
def test_a_caption_is_lower_case_words_without_punctuation(text, words):
    assert caption_text(text) == words
    assert caption_words(text) == words.split()
    assert caption_text(words) == words


@pytest.mark.skipif(
    not (os.environ.get("LANDMARK_DATA") and (DATA / "flickr8k").is_dir()),
    reason="set LANDMARK_DATA to a folder with flickr8k",
)
def test_flickr8k_has_as_many_frequent_words_as_others_count():
    """2,536 occur five times or more: github.com/danieljl/keras-image-captioning, issue 1."""
    folder = DATA / "flickr8k"
    train = set((folder / "Flickr_8k.trainImages.txt").read_text().split())
    counts = Counter()
    for line in (folder / "Flickr8k.token.txt").read_text().splitlines():
        name, _, text = line.partition("\t")
        if name.partition("#")[0] in train:
            counts.update(caption_words(text))
    assert sum(count >= 5 for count in counts.values()) == 2536
