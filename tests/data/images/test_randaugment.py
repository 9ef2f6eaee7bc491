import numpy as np
import pytest
from PIL import Image

from landmark.data.images.draws import Draws
from landmark.data.images.randaugment import OPERATIONS, randaugment
from tests.torchvision_beside import torchvision

autoaugment = torchvision.transforms.autoaugment
RANDOM = np.random.default_rng(5)
NAMES = {
    "identity": "Identity",
    "shear_x": "ShearX",
    "shear_y": "ShearY",
    "translate_x": "TranslateX",
    "translate_y": "TranslateY",
    "rotate": "Rotate",
    "brightness": "Brightness",
    "color": "Color",
    "contrast": "Contrast",
    "sharpness": "Sharpness",
    "posterize": "Posterize",
    "solarize": "Solarize",
    "autocontrast": "AutoContrast",
    "equalize": "Equalize",
}
"""Of each operation its name at torchvision."""


def picture(mode: str) -> Image.Image:
    """Smooth, so that pixels between pixels do not depend on how they are rounded."""
    small = RANDOM.integers(30, 226, (6, 5) if mode == "L" else (6, 5, 3), np.uint8)
    return Image.fromarray(small).resize((30, 36), Image.Resampling.BICUBIC)


@pytest.mark.parametrize("mode", ["L", "RGB"])
@pytest.mark.parametrize("magnitude", [0, 9, 30])
@pytest.mark.parametrize("name", OPERATIONS)
def test_operations_and_their_ranges_are_torchvisions(name, magnitude, mode):
    if (name, mode) == ("color", "L"):
        return  # torchvision has none for grey images
    image = picture(mode)
    space = autoaugment.RandAugment()._augmentation_space(31, (image.height, image.width))
    magnitudes, signed = space[NAMES[name]]
    size = float(magnitudes[magnitude]) if magnitudes.ndim else 0.0
    for sign in (1, -1) if signed else (1,):
        expected = autoaugment._apply_op(
            image, NAMES[name], sign * size, autoaugment.InterpolationMode.BILINEAR, None
        )
        found = OPERATIONS[name](image, sign * magnitude / 30)
        apart = np.abs(np.asarray(found, np.int64) - np.asarray(expected, np.int64))
        assert apart.max() <= 1


def test_all_operations_are_torchvisions():
    space = autoaugment.RandAugment()._augmentation_space(31, (8, 8))
    assert sorted(space) == sorted(NAMES[name] for name in OPERATIONS)


def test_each_image_gets_its_own_operations_whoever_else_is_in_the_batch():
    images = np.stack([np.asarray(picture("RGB")) for _ in range(20)])
    everything = randaugment(images, 2, 9, Draws(1, 3, range(20)))
    some = randaugment(images[[4, 17]], 2, 9, Draws(1, 3, [4, 17]))
    assert np.array_equal(some, everything[[4, 17]])
    again = randaugment(images, 2, 9, Draws(1, 4, range(20)))
    changed = [not np.array_equal(a, b) for a, b in zip(everything, again, strict=True)]
    assert sum(changed) > 15
    alike = np.stack([images[0]] * 200)
    varied = randaugment(alike, 1, 30, Draws(1, 0, range(200)))
    kinds = {image.tobytes() for image in varied}
    assert len(kinds) == 14 + 9  # nine operations go both ways
