import dataclasses

import numpy as np
import pytest
import torch

from tests.told import told_to
from unbraid._internal import files
from unbraid.datasets import DSprites, Factor
from unbraid.datasets.fetching import verification
from unbraid.datasets.pixels import Bitmaps
from unbraid.datasets.synthetic import dsprites
from unbraid.datasets.synthetic.dsprites import OFFICIAL_FILE
from unbraid.errors import DataError

SMALL = DSprites(resolution=16, num_scales=2, num_orientations=3, num_positions=4)


class Trap:
    def __reduce__(self):
        return (eval, ("1 / 0",))


@pytest.fixture
def arrays():
    """What the official file holds, on a small grid; its pickled `metadata` is a trap."""
    images = SMALL.load()
    classes = np.concatenate([np.zeros((len(images), 1), dtype=np.int64), images.values.numpy()], axis=1)
    return {
        "metadata": np.array(Trap(), dtype=object),
        "imgs": images.pixels[:][:, 0].numpy() // 255,
        "latents_classes": classes,
        "latents_values": classes.astype(float),
    }


@pytest.fixture
def official(tmp_path, arrays):
    path = tmp_path / "official" / OFFICIAL_FILE
    path.parent.mkdir()
    np.savez_compressed(path, **arrays)
    return path


@pytest.fixture
def any_grid(monkeypatch):
    monkeypatch.setattr(dsprites, "_check_default_grid", lambda config: None)


@pytest.fixture
def any_file(monkeypatch, any_grid):
    """Files of the tests' own pass for the published one."""
    publication = dsprites.PUBLICATION
    unchecked = tuple(dataclasses.replace(file, checksum=None) for file in publication.files)
    monkeypatch.setattr(dsprites, "PUBLICATION", dataclasses.replace(publication, files=unchecked))


@pytest.mark.usefixtures("any_file")
@pytest.mark.parametrize("place", ["", OFFICIAL_FILE, ".."])
def test_the_official_file_is_read_and_its_pickle_left_alone(official, place):
    if place == "..":
        official.parent.rename(official.parent.with_name("dsprites"))
        official = official.parent.with_name("dsprites") / OFFICIAL_FILE
    images = dataclasses.replace(SMALL, root=str(official.parent / place)).load()
    torch.testing.assert_close(images.pixels[:], SMALL.load().pixels[:])
    torch.testing.assert_close(images.values, SMALL.load().values)
    assert images.factor_table[0] == Factor("shape", 3, ordered=False)


@pytest.mark.usefixtures("any_file")
def test_it_is_converted_once_and_then_opened_as_bits(official, monkeypatch):
    dataset = dataclasses.replace(SMALL, root=str(official))
    told = []
    with told_to(told):
        first = dataset.open()
    assert isinstance(first.pixels, Bitmaps)
    assert told[-1][1:] == (SMALL.num_images, SMALL.num_images, "images")
    monkeypatch.setattr(dsprites, "packed", lambda *_: pytest.fail("converted again"))
    torch.testing.assert_close(dataset.load().pixels[:], first.pixels[:])


@pytest.mark.usefixtures("any_file")
def test_a_file_that_changes_is_converted_again(official, arrays):
    dataset = dataclasses.replace(SMALL, root=str(official))
    dataset.load()
    np.savez_compressed(official, **(arrays | {"imgs": 1 - arrays["imgs"]}))
    # To a new file that has no published checksum either; so the record of the first is what it is compared with.
    with pytest.raises(DataError, match="SHA-256"):
        dataset.load()


@pytest.mark.usefixtures("any_grid")
def test_a_file_that_is_not_the_published_one_is_refused(official):
    with pytest.raises(
        DataError, match=f"{OFFICIAL_FILE} has the md5 {'.' * 32}; expected 7da33b31b13a06f4b04a70402ce90c2e"
    ):
        dataclasses.replace(SMALL, root=str(official)).load()


def test_a_missing_official_file_says_which_was_looked_for(tmp_path):
    with pytest.raises(DataError, match=OFFICIAL_FILE):
        DSprites(root=str(tmp_path)).load()


@pytest.mark.usefixtures("any_file")
def test_a_file_that_changes_between_its_checksum_and_its_end_is_refused(official, monkeypatch):
    monkeypatch.setattr(verification, "check_file", lambda path, _: path.touch())
    with pytest.raises(DataError, match=f"{OFFICIAL_FILE} was changed while it was read"):
        dataclasses.replace(SMALL, root=str(official)).load()


def test_bits_of_the_official_file_are_kept_under_its_checksum(official, any_file, cache):
    dataclasses.replace(SMALL, root=str(official)).open()
    assert [path.name for path in cache.glob("dsprites/official*")] == [f"official-{files.sha256(official)[:16]}_v1"]
