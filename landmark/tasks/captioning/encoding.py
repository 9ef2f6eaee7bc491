"""Images as the places of a network's last map, computed once where the network is frozen."""

import numpy as np
import torch
from torch import Tensor

from landmark.data.images.form import ImageForm
from landmark.data.images.store import Images
from landmark.models.captioning.captioner import Captioner

_TOGETHER = 64


@torch.no_grad()
def encode_images(
    model: Captioner,
    images: Images,
    form: ImageForm,
    side: int,
    device: torch.device,
    mirrored: bool = False,
) -> Tensor:
    """The places of all images, and if asked for of their mirror images, too.

    Half precision, in main memory. -> (N, 1 or 2, S, F)
    """
    was_training = model.training
    model.eval()
    found = []
    for start in range(0, len(images), _TOGETHER):
        pixels = [images[number] for number in range(start, min(start + _TOGETHER, len(images)))]
        views = [pixels, [np.ascontiguousarray(image[:, ::-1]) for image in pixels]]
        rows = []
        for view in views[: 1 + mirrored]:
            given = form.network_input(view, side).contiguous(memory_format=torch.channels_last)
            places = model.places_of(given.to(device)).unflatten(0, (len(view), -1))
            rows.append(places.half().cpu())
        found.append(torch.stack(rows, 1))
    model.train(was_training)
    return torch.cat(found)
