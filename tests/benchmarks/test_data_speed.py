import numpy as np
import pytest

from benchmarks import data_speed
from benchmarks.data_speed import IMAGE_SHAPE, Patches


@pytest.fixture
def patches(tmp_path):
    return Patches(str(tmp_path / "store"), 1000)


def test_patches_are_made_once_and_then_mapped(patches):
    first = patches.open()
    assert first.pixels.shape == (1000, *IMAGE_SHAPE)
    record = (patches.store.folder / "record.json").stat().st_mtime_ns
    np.testing.assert_array_equal(patches.open().pixels, first.pixels)
    assert (patches.store.folder / "record.json").stat().st_mtime_ns == record


def test_every_way_of_feeding_has_a_line_and_its_share(patches, monkeypatch, capsys):
    monkeypatch.setattr(data_speed, "STEPS_A_TURN", 1)
    monkeypatch.setattr(data_speed, "NUM_TURNS", 1)
    monkeypatch.setattr(data_speed, "BATCH_SIZE", 2)
    data_speed._print_feeding(patches, "cpu", num_members=1)
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    assert [line.split(" | ")[0] for line in lines[2:]] == [
        "| nothing fed",
        "| from memory",
        "| from disk, pages dropped",
        "| from disk",
    ]
    assert lines[2].endswith("| +0.0% |")
