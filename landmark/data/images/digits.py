"""The digits of scikit-learn: 1,797 images of 8 x 8 pixels, no download.

E. Alpaydin and C. Kaynak 1998, "Optical Recognition of Handwritten Digits" (its test set): counts
of 0 to 16 ink spots, made 0 to 255 here.
"""

import numpy as np

from landmark.data.hold_out import draw
from landmark.data.images.source import ArraySource

NAMES = tuple("0123456789")
_TEST_IMAGES = 360
_MOST_INK = 16


def digits_splits() -> dict[str, ArraySource]:
    """Four fifths to learn from, a fifth for the test."""
    from sklearn.datasets import load_digits

    loaded = load_digits()
    images = np.rint(loaded.images * (255 / _MOST_INK)).astype(np.uint8)
    labels = loaded.target.astype(np.int64)
    test = np.sort(draw(len(labels), _TEST_IMAGES, "test", "digits"))
    parts = {"train": np.setdiff1d(np.arange(len(labels)), test), "test": test}
    return {
        split: ArraySource(images[part], labels[part], NAMES, f"digits {split}")
        for split, part in parts.items()
    }
