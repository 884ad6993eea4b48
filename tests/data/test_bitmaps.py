import json
import logging
import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.data.mutants import flips
from unbraid import files
from unbraid.data import bitmaps
from unbraid.data.bitmaps import BitmapCache, Bitmaps
from unbraid.errors import DataError

IMAGES = np.arange(40, dtype=np.uint64).reshape(10, 4) * np.uint64(0x0123456789ABCDEF)


class Drawing:
    """Counts how often the images are drawn."""

    def __init__(self):
        self.times = 0

    def all(self):
        self.times += 1
        yield IMAGES[:3]
        yield IMAGES[3:]

    def one(self, image):
        return IMAGES[image]


@pytest.fixture
def drawing():
    return Drawing()


@pytest.fixture
def stored(tmp_path, drawing):
    return BitmapCache(tmp_path / "drawn" / "images.npy", 10, 4, drawing.all, drawing.one)


def test_images_are_drawn_once_and_then_opened(stored, drawing):
    np.testing.assert_array_equal(stored.open(), IMAGES)
    np.testing.assert_array_equal(stored.open(verify=True), IMAGES)
    assert drawing.times == 1


def test_what_is_opened_is_memory_mapped_and_what_is_written_to_it_stays_in_memory(stored):
    images = stored.open()
    assert isinstance(images, np.memmap)
    images[:] = 0
    np.testing.assert_array_equal(stored.open(), IMAGES)


def test_the_record_holds_size_and_checksum(stored):
    stored.open()
    record = json.loads(stored.path.with_suffix(".json").read_text())
    assert record == {"bytes": stored.path.stat().st_size, "sha256": files.sha256(stored.path)}


def truncate(path):
    path.write_bytes(path.read_bytes()[:-8])


def lengthen(path):
    path.write_bytes(path.read_bytes() + b"\0")


def flip_one_bit(path):
    content = bytearray(path.read_bytes())
    content[-5] ^= 1
    path.write_bytes(content)


def damage_the_header(path):
    path.write_bytes(b"\0" * 16 + path.read_bytes()[16:])


def unbalance_the_header(path):
    path.write_bytes(path.read_bytes().replace(b"}", b" ", 1))


def lose_the_record(path):
    path.with_suffix(".json").unlink()


def garble_the_record(path):
    path.with_suffix(".json").write_text('["not", "a", "record"]')


@pytest.mark.parametrize(
    "damage", [truncate, lengthen, flip_one_bit, damage_the_header, lose_the_record, garble_the_record]
)
def test_a_damaged_file_is_drawn_again_and_the_log_says_so(stored, drawing, damage, caplog):
    stored.open()
    damage(stored.path)
    np.testing.assert_array_equal(stored.open(), IMAGES)
    assert drawing.times == 2
    assert "again" in caplog.text
    stored.open()
    assert drawing.times == 2


@pytest.mark.parametrize("damage", [truncate, damage_the_header, unbalance_the_header, lose_the_record])
def test_a_large_file_is_checked_for_gross_damage_without_reading_it_all(stored, drawing, damage, monkeypatch):
    monkeypatch.setattr(bitmaps, "ALWAYS_VERIFIED_BYTES", 0)
    stored.open()
    damage(stored.path)
    np.testing.assert_array_equal(stored.open(), IMAGES)
    assert drawing.times == 2


def test_a_large_file_is_compared_with_a_few_fresh_drawings(stored, drawing, monkeypatch):
    monkeypatch.setattr(bitmaps, "ALWAYS_VERIFIED_BYTES", 0)
    stored.open()
    flip_one_bit(stored.path)
    np.testing.assert_array_equal(stored.open(), IMAGES)
    assert drawing.times == 2


def test_a_flipped_bit_in_a_large_file_is_found_on_demand(stored, drawing, monkeypatch):
    monkeypatch.setattr(bitmaps, "ALWAYS_VERIFIED_BYTES", 0)
    monkeypatch.setattr(bitmaps, "_NUM_SPOT_CHECKS", 1)
    stored.open()
    flip_one_bit(stored.path)
    assert not np.array_equal(stored.open(), IMAGES)
    np.testing.assert_array_equal(stored.open(verify=True), IMAGES)
    assert drawing.times == 2


def test_a_sound_file_of_another_shape_is_drawn_again(stored, drawing, caplog):
    stored.open()
    np.testing.assert_array_equal(replace(stored, num_images=5, draw_all=lambda: iter([IMAGES[:5]])).open(), IMAGES[:5])
    assert "shape" in caplog.text


def test_an_error_while_drawing_leaves_nothing_behind(stored):
    def fail():
        yield IMAGES[:3]
        raise RuntimeError("no more ink")

    with pytest.raises(RuntimeError, match="no more ink"):
        replace(stored, draw_all=fail).open()
    assert [path.suffix for path in stored.path.parent.iterdir()] == [".lock"]


def test_a_cache_that_cannot_be_written_says_how_to_choose_another(tmp_path, drawing):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(DataError, match="UNBRAID_CACHE"):
        BitmapCache(tmp_path / "file" / "images.npy", 10, 4, drawing.all, drawing.one).open()


def test_of_two_processes_one_draws_and_the_other_waits(cache):
    program = """
import logging, sys
logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(message)s")
from unbraid.data import DSprites
dataset = DSprites(resolution=16, num_orientations=4, num_positions=8)
print("ready", flush=True)
print("white:", sum(int(word).bit_count() for word in dataset.bits().ravel()), flush=True)
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "UNBRAID_CACHE": str(cache)}
    lock = cache / "dsprites" / "square-ellipse-heart_scales6_orientations4_positions8_16px_v1.lock"
    with files.locked(lock, wait=True, purpose="testing"):
        command = [sys.executable, "-c", program]
        processes = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(2)]
        assert [process.stdout.readline() for process in processes] == ["ready\n"] * 2
    outputs = [process.communicate(timeout=60)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    assert sum("Drawing" in output for output in outputs) == 1
    assert outputs[0].splitlines()[-1] == outputs[1].splitlines()[-1]


def test_drawing_is_told_to_the_log_only(stored, caplog, capsys):
    with caplog.at_level(logging.INFO):
        stored.open()
    assert "Drawing 10 images" in caplog.text
    assert capsys.readouterr() == ("", "")


WORDS = np.array([[0b1], [0b110], [1 << 63]], dtype=np.uint64)


def test_bit_c_becomes_255_in_column_c():
    pixels = Bitmaps.of(WORDS, 64)
    assert pixels.shape == pixels[:].shape == (3, 1, 1, 64)
    assert [row.nonzero()[:, 0].tolist() for row in pixels[:][:, 0, 0]] == [[0], [1, 2], [63]]
    assert pixels[:].unique().tolist() == [0, 255]


def test_columns_beyond_the_width_are_dropped():
    assert Bitmaps.of(np.array([[0b1011]], dtype=np.uint64), 3)[:].flatten().tolist() == [255, 255, 0]


def test_rows_are_taken_in_the_order_and_shape_they_are_asked_for():
    pixels = Bitmaps.of(WORDS, 64)
    rows = torch.tensor([[2, 0], [1, 1]])
    torch.testing.assert_close(pixels[rows], pixels[:][rows])


def test_bits_become_bytes_the_same_way_on_every_device():
    words = torch.from_numpy(np.random.default_rng(0).integers(0, 256, (5, 3, 8), dtype=np.uint8))
    torch.testing.assert_close(bitmaps.shifted_apart(words, 61), Bitmaps(words, 61)[:][:, 0])


def test_the_bytes_come_out_on_the_device_that_holds_the_bits():
    # "meta" is a device without memory, and at hand everywhere.
    pixels = Bitmaps.of(IMAGES, 64).to("meta")
    assert (pixels.device.type, pixels[:].device.type, pixels[:].shape) == ("meta", "meta", (10, 1, 4, 64))


def test_bits_are_not_copied():
    words = WORDS.copy()
    pixels = Bitmaps.of(words, 64)
    words[0] = 0
    assert not pixels[:][0].any()


def test_no_flipped_bit_of_the_record_changes_an_image(stored, monkeypatch):
    """The record holds a size and a checksum alone: where they do not fit the file, it is drawn again."""
    stored.open()
    path = stored.path.with_suffix(".json")
    for flipped in flips(path.read_bytes()):
        path.write_bytes(flipped)
        np.testing.assert_array_equal(stored.open(), IMAGES)
