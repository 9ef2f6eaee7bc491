"""Sources that are read from end to end: what is broken, and by how many threads."""

import os
import threading

import numpy as np
import pytest

from landmark.core.errors import UserError
from landmark.data.images.decoding import BrokenImageError, Fitting
from landmark.data.images.reading import readable
from landmark.data.images.store import LazyImages


class Source:
    """Images whose pixels are their number; two must be decoded at a time."""

    labels = np.arange(6)
    names = ("a",)

    def __init__(self, broken=(), at_once=1):
        self.broken, self.meeting = broken, threading.Barrier(at_once)

    def place(self, index):
        return f"{index}.jpg"

    def pixels(self, index, fitting):
        self.meeting.wait(timeout=20)  # which a single thread would never leave
        if index in self.broken:
            raise BrokenImageError(f"{self.place(index)}: is damaged")
        return np.full((1, 1, 3), index, np.uint8)


def test_images_in_files_are_decoded_by_several_threads_in_order(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    images, broken = LazyImages(Source({3}, at_once=2), Fitting()), {}
    found, pixels = readable(images, range(6), False, broken)
    assert found == [0, 1, 2, 4, 5]
    assert [int(image[0, 0, 0]) for image in pixels] == found
    assert list(broken) == [3]


def test_strictly_the_first_broken_image_ends_it():
    with pytest.raises(UserError, match=r"2\.jpg: is damaged: repair or remove it"):
        readable(LazyImages(Source({2, 4}), Fitting()), range(6), True, {})
