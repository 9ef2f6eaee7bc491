"""All public data sets of `landmark data`."""

from landmark.core.registry import Registry
from landmark.data.captions.flickr8k import FLICKR8K, flickr8k_here
from landmark.data.download import PublicSet
from landmark.data.images.public import IMAGE_SETS, set_here
from landmark.data.public_text import PUBLIC_SETS


def every_set(*, as_found: bool = True) -> Registry[PublicSet]:
    """Text, images and captions; `as_found`: in a smaller form where that is what is here."""
    every: Registry[PublicSet] = Registry("data set")
    for name in PUBLIC_SETS:
        every.add(name, PUBLIC_SETS[name])
    for name in IMAGE_SETS:
        every.add(name, set_here(name) if as_found else IMAGE_SETS[name])
    every.add(FLICKR8K.name, flickr8k_here() if as_found else FLICKR8K)
    return every
