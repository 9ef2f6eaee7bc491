import io
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from landmark.core.errors import UserError
from landmark.data.images import decoding
from landmark.data.images.decoding import (
    MOST_PIXELS,
    BrokenImageError,
    Fitting,
    decode,
    fit_pixels,
    read_image,
    read_picture,
    read_pixels,
)
from tests.torchvision_beside import torchvision

AS_IT_IS = Fitting()
RANDOM = np.random.default_rng(1)
COLOURS = RANDOM.integers(0, 256, (6, 9, 3), np.uint8)


def packed(image, form="PNG", **options):
    file = io.BytesIO()
    image.save(file, form, **options)
    return file.getvalue()


def test_plain_colours_come_out_as_they_went_in():
    found = decode(packed(Image.fromarray(COLOURS)), "x", AS_IT_IS)
    assert found.dtype == np.uint8
    assert np.array_equal(found, COLOURS)


def test_grey_and_black_and_white_have_one_channel_or_three_alike():
    grey = COLOURS[..., 0]
    content = packed(Image.fromarray(grey))
    assert np.array_equal(decode(content, "x", Fitting(channels=1))[..., 0], grey)
    assert np.array_equal(decode(content, "x", AS_IT_IS), np.repeat(grey[..., None], 3, axis=2))
    bits = Image.fromarray(np.where(grey > 127, 255, 0).astype(np.uint8)).convert("1")
    assert set(np.unique(decode(packed(bits), "x", Fitting(channels=1)))) == {0, 255}


def test_a_palette_gives_its_colours():
    image = Image.new("P", (2, 1))
    image.putpalette([10, 20, 30, 200, 100, 50])
    image.putdata([1, 0])
    found = decode(packed(image), "x", AS_IT_IS)
    assert found.tolist() == [[[200, 100, 50], [10, 20, 30]]]


def test_a_transparent_palette_entry_becomes_white():
    image = Image.new("P", (2, 1))
    image.putpalette([10, 20, 30, 200, 100, 50])
    image.putdata([1, 0])
    found = decode(packed(image, transparency=0), "x", AS_IT_IS)
    assert found.tolist() == [[[200, 100, 50], [255, 255, 255]]]


def test_a_transparent_colour_becomes_white():
    pixels = np.array([[[9, 8, 7], [1, 2, 3]]], np.uint8)
    found = decode(packed(Image.fromarray(pixels), transparency=(9, 8, 7)), "x", AS_IT_IS)
    assert found.tolist() == [[[255, 255, 255], [1, 2, 3]]]


@pytest.mark.parametrize("mode", ["RGBA", "LA"])
def test_alpha_lets_white_through(mode):
    size = len(mode)
    half = np.full((1, 1, size), 0, np.uint8)
    half[..., -1] = 128
    found = decode(packed(Image.fromarray(half, mode)), "x", AS_IT_IS)
    assert found.tolist() == [[[127, 127, 127]]]


def test_sixteen_bits_become_eight():
    values = np.array([[0, 257, 32896, 65535]], np.uint16)
    found = decode(packed(Image.fromarray(values)), "x", Fitting(channels=1))
    assert found[0, :, 0].tolist() == [0, 1, 128, 255]
    found = decode(packed(Image.fromarray(values), "TIFF"), "x", Fitting(channels=1))
    assert found[0, :, 0].tolist() == [0, 1, 128, 255]


def test_of_sixteen_bits_only_the_transparent_value_becomes_white():
    values = np.array([[0, 1000, 1001, 32896, 65535]], np.uint16)
    content = packed(Image.fromarray(values), transparency=1000)
    found = decode(content, "x", Fitting(channels=1))
    assert found[0, :, 0].tolist() == [0, 255, 3, 128, 255]


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P", "I;16"])
@pytest.mark.parametrize("band", [1, 10, 50])
def test_large_images_are_converted_in_bands_to_the_same_pixels(monkeypatch, mode, band):
    if mode == "I;16":
        image = Image.fromarray(RANDOM.integers(0, 65536, (7, 9), np.uint16))
    else:
        image = Image.fromarray(RANDOM.integers(0, 256, (7, 9, 4), np.uint8)).convert(mode)
    content = packed(image, **({"transparency": 3} if mode in ("P", "I;16") else {}))
    whole = decode(content, "x", AS_IT_IS)
    steps = []
    for name in ("_on_white", "_sixteen_bits"):
        convert = getattr(decoding, name)
        monkeypatch.setattr(
            decoding, name, lambda part, to=convert: steps.append(part.size) or to(part)
        )
    monkeypatch.setattr(decoding, "_BAND", band)
    assert np.array_equal(decode(content, "x", AS_IT_IS), whole)
    assert sum(height for _, height in steps) == 7
    assert max(height for _, height in steps) == max(1, band // 9)


def test_pixels_are_read_as_their_file_is():
    colours = RANDOM.integers(0, 256, (6, 9, 4), np.uint8)
    for pixels in (colours, colours[..., :3], colours[..., 0]):
        content = packed(Image.fromarray(pixels))
        for fitting in (AS_IT_IS, Fitting(12, channels=1)):
            assert np.array_equal(read_pixels(pixels, fitting), decode(content, "x", fitting))
    assert np.array_equal(
        read_pixels(colours[..., :1], AS_IT_IS), read_pixels(colours[..., 0], AS_IT_IS)
    )


@pytest.mark.parametrize("shape", [(8,), (8, 8, 5), (8, 8, 2), (0, 8), (8, 0, 3), (1, 8, 8, 3)])
def test_pixels_of_another_shape_are_refused(shape):
    with pytest.raises(UserError, match="pixels are bytes of shape"):
        read_pixels(np.zeros(shape, np.uint8), Fitting(28))
    with pytest.raises(UserError, match="not float64 of shape"):
        read_pixels(np.zeros((8, 8)), Fitting(28))


def test_pixels_too_thin_to_be_scaled_are_refused():
    with pytest.raises(UserError, match="pixels: is 1 x 5000 pixels: too narrow"):
        read_pixels(np.zeros((5000, 1), np.uint8), Fitting(28))


def test_four_inks_become_three_colours():
    image = Image.new("CMYK", (4, 4), (0, 255, 255, 0))
    found = decode(packed(image, "JPEG"), "x", AS_IT_IS)
    assert abs(found[0, 0].astype(int) - [255, 0, 0]).max() < 10


UPRIGHT = {
    1: lambda pixels: pixels,
    2: lambda pixels: pixels[:, ::-1],
    3: lambda pixels: pixels[::-1, ::-1],
    4: lambda pixels: pixels[::-1],
    5: lambda pixels: pixels.transpose(1, 0, 2),
    6: lambda pixels: np.rot90(pixels, -1),
    7: lambda pixels: pixels[::-1, ::-1].transpose(1, 0, 2),
    8: np.rot90,
}


@pytest.mark.parametrize("orientation", UPRIGHT)
def test_a_camera_held_otherwise_is_turned_upright(orientation):
    exif = Image.Exif()
    exif[0x0112] = orientation
    content = packed(Image.fromarray(COLOURS), exif=exif)
    assert np.array_equal(decode(content, "x", AS_IT_IS), UPRIGHT[orientation](COLOURS))


def test_the_first_picture_of_a_moving_one_is_taken():
    pictures = [Image.new("RGB", (3, 3), colour) for colour in ("red", "blue")]
    content = packed(pictures[0], "GIF", save_all=True, append_images=pictures[1:])
    assert decode(content, "x", AS_IT_IS)[0, 0].tolist() == [255, 0, 0]


@pytest.mark.parametrize(
    ("fit", "size", "shape"),
    [
        ("crop", 12, (12, 18)),
        ("pad", 12, (8, 12)),
        ("squeeze", 12, (12, 12)),
        ("crop", None, (6, 9)),
    ],
)
def test_images_are_scaled_by_one_side_or_both(fit, size, shape):
    content = packed(Image.fromarray(COLOURS))
    assert decode(content, "x", Fitting(size, fit)).shape == (*shape, 3)
    assert fit_pixels(COLOURS, Fitting(size, fit)).shape == (*shape, 3)


def test_a_large_photograph_is_read_small_and_looks_the_same():
    rows, columns = np.mgrid[0:480, 0:640]
    smooth = np.stack((rows // 2, columns // 3, (rows + columns) // 5), -1).astype(np.uint8)
    content = packed(Image.fromarray(smooth), "JPEG", quality=95)
    found = decode(content, "x", Fitting(24)).astype(int)
    exact = Image.fromarray(smooth).resize((32, 24), Image.Resampling.BOX)
    assert found.shape == (24, 32, 3)
    assert abs(found - np.asarray(exact))[1:-1, 1:-1].max() <= 4


def cut_short(content):
    return content[: len(content) // 2]


def huge_png():
    """A few bytes that promise an image of forty gigabytes."""
    header = struct.pack(">IIBBBBB", 120_000, 120_000, 8, 2, 0, 0, 0)

    def chunk(kind, content):
        body = kind + content
        return struct.pack(">I", len(content)) + body + struct.pack(">I", zlib.crc32(body))

    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0" * 9))


NOISE = Image.fromarray(RANDOM.integers(0, 256, (64, 64, 3), np.uint8))
BROKEN = {
    "no image": (b"once upon a time", "is not an image"),
    "empty": (b"", "is not an image"),
    "jpeg cut short": (cut_short(packed(NOISE, "JPEG")), "is damaged"),
    "png cut short": (cut_short(packed(NOISE)), "is damaged"),
    "too large": (huge_png(), "too large for memory"),
    "too narrow": (packed(Image.new("L", (1, 2000))), "too narrow to be resized to 32"),
    "floating point": (
        packed(Image.fromarray(np.zeros((2, 2), np.float32)), "TIFF"),
        "save it with 8 bits",
    ),
    "postscript": (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 5 5\n", "is not an image"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_what_cannot_be_used_is_named_with_the_reason(kind):
    content, reason = BROKEN[kind]
    with pytest.raises(BrokenImageError, match=rf"cats/1\.jpg: .*{reason}") as caught:
        decode(content, "cats/1.jpg", Fitting(32))
    assert "\n" not in str(caught.value)


def test_an_image_just_over_the_limit_is_refused_before_it_is_decoded(monkeypatch):
    monkeypatch.setattr("landmark.data.images.decoding.MOST_PIXELS", 53)
    with pytest.raises(BrokenImageError, match="9 x 6 pixels is too large for memory"):
        decode(packed(Image.fromarray(COLOURS)), "x", AS_IT_IS)
    monkeypatch.setattr("landmark.data.images.decoding.MOST_PIXELS", 54)
    assert decode(packed(Image.fromarray(COLOURS)), "x", AS_IT_IS).shape == (6, 9, 3)
    assert MOST_PIXELS <= Image.MAX_IMAGE_PIXELS


def test_a_file_is_read_and_a_missing_one_is_named(tmp_path):
    path = tmp_path / "a.png"
    Image.fromarray(COLOURS).save(path)
    assert np.array_equal(read_image(path, AS_IT_IS), COLOURS)
    with pytest.raises(UserError, match=r"gone\.png: cannot be read: No such file"):
        read_image(tmp_path / "gone.png", AS_IT_IS)
    with pytest.raises(UserError, match="is a folder, not an image"):
        read_image(Path(tmp_path), AS_IT_IS)


def test_pixels_change_channels_as_files_do():
    grey = fit_pixels(COLOURS, Fitting(channels=1))
    assert np.array_equal(grey, decode(packed(Image.fromarray(COLOURS)), "x", Fitting(channels=1)))
    assert fit_pixels(grey, AS_IT_IS).shape == (6, 9, 3)
    assert fit_pixels(grey[..., 0], Fitting(channels=1)).shape == (6, 9, 1)


def test_bicubic_scaling_is_torchvisions():
    random = np.random.default_rng(2)
    image = Image.fromarray(random.integers(0, 256, (48, 64, 3), np.uint8))
    resize = torchvision.transforms.functional.resize
    mode = torchvision.transforms.InterpolationMode.BICUBIC
    found = read_picture(image, Fitting(24, interpolation="bicubic"))
    np.testing.assert_array_equal(found, np.asarray(resize(image, 24, mode)))
    assert not np.array_equal(found, read_picture(image, Fitting(24)))


@pytest.mark.parametrize("fit", ["crop", "pad", "squeeze"])
@pytest.mark.parametrize("shape", [(40, 30), (30, 40), (12, 8), (20, 26)])
def test_an_image_becomes_exactly_as_high_and_wide_as_asked(fit, shape):
    random = np.random.default_rng(1)
    pixels = random.integers(0, 256, (*shape, 3), np.uint8)
    found = fit_pixels(pixels, Fitting((20, 26), fit))
    assert found.shape == (20, 26, 3)
    if shape == (20, 26):
        assert np.array_equal(found, pixels)
    if fit == "squeeze":
        expected = Image.fromarray(pixels).resize((26, 20), Image.Resampling.BILINEAR)
        assert np.array_equal(found, np.asarray(expected))
    if fit == "pad":
        ratio = min(20 / shape[0], 26 / shape[1])
        inside = round(shape[0] * ratio) * round(shape[1] * ratio)
        assert (found.any(2)).sum() <= inside
        assert (found.any(2)).sum() > 0.9 * inside
