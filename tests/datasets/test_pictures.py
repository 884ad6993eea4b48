import io
import struct
import warnings
import zipfile
import zlib

import numpy as np
import pytest
from PIL import Image
from PIL.PngImagePlugin import PngImageFile

from tests.datasets.mutants import assert_damaged_are_read_or_refused
from unbraid.datasets.formats.archives import Zip
from unbraid.datasets.pictures import Framing, decode, decode_many, framed, resized, shape_of
from unbraid.errors import DataError

RANDOM = np.random.default_rng(0)
COLOR = RANDOM.integers(0, 256, (6, 4, 3), dtype=np.uint8)
GRAY = COLOR[:, :, 0]


def saved(pixels, form="PNG", **options):
    stream = io.BytesIO()
    picture = pixels if isinstance(pixels, Image.Image) else Image.fromarray(pixels)
    picture.save(stream, form, **options)
    return stream.getvalue()


@pytest.mark.parametrize("form", ["PNG", "BMP", "TIFF", "PPM", "TGA", "SGI", "QOI"])
def test_a_color_picture_is_read_to_the_byte(form):
    np.testing.assert_array_equal(decode(saved(COLOR, form), "a"), COLOR)
    assert shape_of(saved(COLOR, form), "a") == (3, 6, 4)


@pytest.mark.parametrize("form", ["PNG", "BMP", "TIFF", "PPM", "TGA", "GIF", "SGI"])
def test_a_gray_picture_has_one_channel(form):
    content = saved(GRAY, form)
    image = decode(content, "a")
    np.testing.assert_array_equal(image[:, :, 0], GRAY)
    assert shape_of(content, "a") == (image.shape[2], 6, 4)


@pytest.mark.parametrize("form", ["JPEG", "WEBP", "JPEG2000", "AVIF"])
def test_lossy_pictures_are_nearly_right(form):
    smooth = np.linspace(0, 255, 64 * 64 * 3).reshape(64, 64, 3).astype(np.uint8)
    assert np.abs(decode(saved(smooth, form), "a").astype(int) - smooth).max() < 16


def test_black_and_white_is_0_and_255():
    np.testing.assert_array_equal(decode(saved(np.eye(4, 6, dtype=bool)), "a")[:, :, 0], np.eye(4, 6) * 255)


def test_a_palette_is_looked_up():
    picture = Image.fromarray(COLOR).quantize(256)
    np.testing.assert_array_equal(decode(saved(picture), "a"), np.asarray(picture.convert("RGB")))


@pytest.mark.parametrize("mode", ["RGBA", "LA"])
def test_what_one_can_see_through_lies_on_black_or_as_asked(mode):
    pixels = np.full((4, 6, len(mode)), 200, dtype=np.uint8)
    pixels[0, :, -1] = 0
    pixels[1:, :, -1] = 255
    content = saved(Image.fromarray(pixels))
    channels = len(mode) - 1
    for background, value in (("black", 0), ("white", 255)):
        image = framed(content, "a", Framing((channels, 4, 6), background=background))
        assert np.unique(image[:, 0]).tolist() == [value]
        assert np.unique(image[:, 1:]).tolist() == [200]
    assert decode(content, "a").shape == (4, 6, channels)
    assert decode(content, "a")[0].max() == 0


def test_sixteen_bits_are_scaled_not_cut():
    content = saved(np.full((4, 6), 257 * 100, dtype=np.uint16))
    assert np.unique(decode(content, "a")).tolist() == [100]


@pytest.mark.parametrize("pixels", [np.zeros((4, 6), np.int32), np.zeros((4, 6), np.float32)])
def test_more_bits_are_refused(pixels):
    with pytest.raises(DataError, match=r"a\.tif"):
        decode(saved(pixels, "TIFF"), "a.tif")


@pytest.mark.parametrize("orientation", range(1, 9))
def test_a_photograph_is_turned_upright_unless_told_otherwise(orientation):
    exif = Image.Exif()
    exif[0x0112] = orientation
    content = saved(COLOR, "PNG", exif=exif)
    turns = {1: lambda a: a, 2: np.fliplr, 3: lambda a: np.rot90(a, 2), 4: np.flipud, 5: lambda a: a.swapaxes(0, 1)}
    turns |= {6: lambda a: np.rot90(a, -1), 7: lambda a: np.rot90(a, 2).swapaxes(0, 1), 8: np.rot90}
    upright = turns[orientation](COLOR)
    np.testing.assert_array_equal(decode(content, "a"), upright)
    assert shape_of(content, "a") == (3, *upright.shape[:2])
    np.testing.assert_array_equal(framed(content, "a", Framing((3, 6, 4), follow_exif=False)), COLOR.transpose(2, 0, 1))


def test_gray_and_color_become_each_other_as_pillow_has_it():
    np.testing.assert_array_equal(decode(saved(GRAY), "a", 3), np.stack([GRAY] * 3, axis=2))
    np.testing.assert_array_equal(
        decode(saved(COLOR), "a", 1)[:, :, 0], np.asarray(Image.fromarray(COLOR).convert("L"))
    )
    np.testing.assert_array_equal(decode(saved(COLOR), "a", 3), COLOR)


def test_the_middle_is_kept_and_the_odd_pixel_is_left_over_at_the_right_and_the_bottom():
    pixels = np.arange(7 * 8, dtype=np.uint8).reshape(7, 8)
    for crop, expected in ((3, pixels[2:5, 2:5]), ("largest", pixels[:, :7])):
        image = framed(saved(pixels), "a", Framing((1, *expected.shape), crop=crop))
        np.testing.assert_array_equal(image[0], expected)


def test_a_face_of_celeba_is_cut_where_others_cut_it():
    pixels = np.zeros((218, 178), np.uint8)
    pixels[45:173, 25:153] = 255
    assert framed(saved(pixels), "a", Framing((1, 128, 128), crop=128)).min() == 255


def test_halving_weighs_by_a_triangle_as_wide_as_two_pixels():
    # Computed by hand: weights 1/8, 3/8, 3/8, 1/8 around each new pixel, scaled up where the edge cuts them off.
    row = np.array([10, 20, 40, 80, 160, 0, 0, 200], np.uint8)
    image = framed(saved(np.tile(row, (8, 1))), "a", Framing((1, 4, 4)))
    weights = np.array([1, 3, 3, 1])
    padded, inside = np.pad(row.astype(float), 1), np.pad(np.ones(8), 1)
    expected = [padded[2 * i : 2 * i + 4] @ weights / (inside[2 * i : 2 * i + 4] @ weights) for i in range(4)]
    np.testing.assert_allclose(image[0, 1], expected, atol=1)


def test_shrinking_takes_the_mean_of_squares():
    pixels = RANDOM.integers(0, 256, (12, 18, 3), dtype=np.uint8)
    image = framed(saved(pixels), "a", Framing((3, 3, 3), crop=9, shrink=3))
    means = pixels[1:10, 4:13].reshape(3, 3, 3, 3, 3).mean(axis=(1, 3))
    # Pillow rounds 5/9 down.
    np.testing.assert_allclose(image.transpose(1, 2, 0), means, atol=5 / 9 + 1e-9)


def test_a_mask_is_white_where_at_least_half_of_a_pixel_is_not_white():
    pixels = np.full((4, 8, 3), 255, np.uint8)
    pixels[0, 0], pixels[1, 1, 2] = 0, 254  # half of the first pixel, one of them hardly darker
    pixels[0, 2] = 0  # a quarter of the second
    pixels[2:, 4:6] = 100  # all of the third, below
    image = framed(saved(pixels), "a", Framing((1, 2, 4), mask=True))
    np.testing.assert_array_equal(image[0], [[255, 0, 0, 0], [0, 0, 255, 0]])


def test_a_mask_judges_what_lies_on_the_background():
    pixels = np.zeros((4, 4, 4), np.uint8)
    pixels[:2, :, 3] = 255
    image = framed(saved(pixels), "a", Framing((3, 4, 4), mask=True, background="white"))
    np.testing.assert_array_equal(
        image, np.broadcast_to(np.array([255, 255, 0, 0], np.uint8)[None, :, None], (3, 4, 4))
    )


def test_a_picture_of_another_size_is_refused():
    with pytest.raises(DataError, match="6 x 4"):
        framed(saved(GRAY), "a.png", Framing((1, 4, 4), picture_size=(4, 6)))


def test_a_picture_too_small_to_be_cut_is_refused():
    with pytest.raises(DataError, match="6 x 4"):
        framed(saved(GRAY), "a.png", Framing((1, 5, 5), crop=5))


def test_another_format_than_asked_for_is_refused():
    with pytest.raises(DataError, match=r"a\.jpg"):
        framed(saved(GRAY), "a.jpg", Framing((1, 6, 4), formats=("JPEG",)))


@pytest.mark.parametrize(
    "content", [b"", b"no picture", b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\nshowpage\n"]
)
def test_what_is_no_picture_is_refused_and_a_program_is_none(content):
    with pytest.raises(DataError, match=r"a\.png"):
        decode(content, "a.png")


@pytest.mark.parametrize("form", ["JPEG", "PNG"])
def test_a_picture_that_is_cut_short_is_refused(form):
    content = saved(RANDOM.integers(0, 256, (64, 64, 3), dtype=np.uint8), form)
    for end in (len(content) // 4, len(content) // 2, len(content) - 200):
        with pytest.raises(DataError, match=r"a\.jpg"):
            decode(content[:end], "a.jpg")


def test_a_picture_far_too_large_is_refused_before_it_is_decoded():
    for side in (9_000, 12_000, 60_000):
        with pytest.raises(DataError, match=r"a\.png"):
            decode(begun(side, side), "a.png")


@pytest.mark.parametrize("size", [(1, 2**26), (2**26, 1), (65_536, 2)])
def test_a_picture_of_millions_of_rows_is_refused_before_it_is_decoded(monkeypatch, size):
    monkeypatch.setattr(PngImageFile, "load", lambda _: pytest.fail("was decoded"))
    monkeypatch.setattr(PngImageFile, "load_prepare", lambda _: pytest.fail("was decoded"))
    with pytest.raises(DataError, match=rf"{size[1]} x {size[0]} pixels.*at most 65,535"):
        decode(begun(*size), "a.png")


def begun(width, height):
    """A PNG that ends where its pixels should begin."""
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    content = b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + b"IHDR" + header
    return content + struct.pack(">I", zlib.crc32(b"IHDR" + header)) + struct.pack(">I4sI", 0, b"IDAT", 0x35AF061E)


def test_a_warning_of_pillows_is_an_error_and_other_filters_stay():
    exif = b"Exif\0\0" + b"II*\0\x08\0\0\0" + b"\xff\xff" + b"\x12\x01\x03\0\x01\0\0\0"
    content = saved(GRAY, "JPEG", exif=exif)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        before = list(warnings.filters)
        with pytest.raises(DataError, match=r"a\.jpg"):
            decode(content, "a.jpg")
        assert warnings.filters == before


@pytest.fixture
def zipped_faces(tmp_path):
    path = tmp_path / "faces.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(600):
            archive.writestr(f"{number:03}.png", saved(np.full((6, 6, 3), number % 251, np.uint8)))
    return Zip(path)


FRAMING = Framing((3, 2, 2), crop=4, picture_size=(6, 6), formats=("PNG",), follow_exif=False)


@pytest.mark.parametrize("num_threads", [1, 2])
def test_many_pictures_come_in_order_however_many_work(zipped_faces, num_threads):
    blocks = list(decode_many(zipped_faces, zipped_faces.members()[10:], FRAMING, num_threads))
    assert [len(block) for block in blocks] == [256, 256, 78]
    np.testing.assert_array_equal(np.concatenate(blocks)[:, 2, 1, 1], np.arange(10, 600) % 251)


@pytest.mark.parametrize("num_threads", [1, 2])
def test_the_name_of_a_picture_that_cannot_be_read_comes_back(zipped_faces, num_threads):
    with zipfile.ZipFile(zipped_faces.path, "a") as archive:
        archive.writestr("300_broken.png", saved(RANDOM.integers(0, 256, (6, 6, 3), dtype=np.uint8))[:80])
    with pytest.raises(DataError, match=r"300_broken\.png in .*faces\.zip"):
        list(decode_many(zipped_faces, zipped_faces.members(), FRAMING, num_threads))


def test_damaged_pictures_are_read_or_refused(tmp_path):
    smooth = Image.fromarray(np.linspace(0, 255, 48 * 48 * 3).reshape(48, 48, 3).astype(np.uint8))
    contents = [
        saved(smooth, "JPEG"),
        saved(smooth, "JPEG", progressive=True),
        saved(smooth, "PNG"),
        saved(smooth.convert("P"), "PNG", transparency=0),
        saved(smooth.convert("L"), "PNG"),
        saved(smooth, "GIF"),
        saved(smooth, "TIFF"),
        saved(smooth, "TIFF", compression="tiff_deflate"),
        saved(smooth, "BMP"),
        saved(smooth, "WEBP"),
        saved(smooth.convert("P"), "TGA"),
        saved(smooth, "ICO"),
    ]
    assert_damaged_are_read_or_refused(
        lambda path: decode(path.read_bytes(), str(path)), contents, tmp_path, "a.picture", 2**28
    )


GENERATOR = np.random.default_rng(0)


@pytest.mark.parametrize(("channels", "mode"), [(1, "L"), (3, "RGB")])
def test_images_are_what_pillow_makes_of_each(channels, mode):
    images = GENERATOR.integers(0, 256, (4, channels, 12, 12), dtype=np.uint8)
    small = resized(images, 8)
    for image, expected in zip(small, images, strict=True):
        picture = Image.frombytes(mode, (12, 12), expected.transpose(1, 2, 0).tobytes()).resize(
            (8, 8), Image.Resampling.LANCZOS
        )
        assert image.transpose(1, 2, 0).tobytes() == picture.tobytes()


def test_images_of_the_right_size_stay_as_they_are():
    images = GENERATOR.integers(0, 256, (2, 3, 8, 8), dtype=np.uint8)
    assert resized(images, 8) is images


def test_an_even_image_stays_even():
    assert (resized(np.full((1, 3, 96, 96), 200, dtype=np.uint8), 64) == 200).all()
