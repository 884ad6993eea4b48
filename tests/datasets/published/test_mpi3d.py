import zipfile

import numpy as np
import pytest
import torch

from unbraid.datasets import MPI3D, Factor
from unbraid.datasets.published import mpi3d
from unbraid.errors import DataError

SIZES = (3, 2, 2, 3, 1, 4, 2)
NUM_IMAGES = 288
IMAGES = np.random.default_rng(0).integers(0, 256, (NUM_IMAGES, 64, 64, 3), dtype=np.uint8)
WRITERS = {"stored": np.savez, "deflated": np.savez_compressed}


def write(folder, version="real", *, way="stored"):
    folder.mkdir(parents=True, exist_ok=True)
    WRITERS[way](folder / f"mpi3d_{version}.npz", images=IMAGES)
    return folder / f"mpi3d_{version}.npz"


@pytest.fixture
def small_grid(monkeypatch):
    """The official format, on a grid that a test can write."""
    factors = tuple(
        Factor(factor.name, size, factor.ordered) for factor, size in zip(MPI3D.factors, SIZES, strict=True)
    )
    monkeypatch.setattr(MPI3D, "factors", factors)


@pytest.mark.usefixtures("small_grid")
@pytest.mark.parametrize(
    ("version", "way", "subfolder"),
    [("toy", "stored", ""), ("realistic", "deflated", "mpi3d"), ("real", "stored", "mpi3d")],
)
def test_each_version_is_read_from_its_own_file(tmp_path, version, way, subfolder, any_checksum):
    any_checksum(MPI3D)
    write(tmp_path / subfolder, version, way=way)
    dataset = MPI3D(root=str(tmp_path), version=version)
    images = dataset.load()
    np.testing.assert_array_equal(images.pixels.numpy(), IMAGES.transpose(0, 3, 1, 2))
    np.testing.assert_array_equal(images.values.numpy(), np.stack([axis.ravel() for axis in np.indices(SIZES)], axis=1))
    assert images.values.dtype == torch.int64
    assert dataset.num_images == NUM_IMAGES


@pytest.mark.usefixtures("small_grid")
def test_versions_are_not_taken_for_one_another(tmp_path):
    write(tmp_path, "toy")
    with pytest.raises(DataError, match=r"expected: mpi3d_real\.npz\)"):
        MPI3D(root=str(tmp_path)).load()
    assert MPI3D(version="toy").store != MPI3D(version="real").store


@pytest.mark.usefixtures("small_grid")
@pytest.mark.parametrize("way", WRITERS)
def test_conversion_goes_on_from_any_image(tmp_path, way, monkeypatch):
    monkeypatch.setattr(mpi3d, "_IMAGES_PER_BLOCK", 50)
    plan = MPI3D(root=str(tmp_path)).plan((write(tmp_path, way=way),))
    for start in (0, 49, 50, 51, 287, 288):
        blocks = [np.empty((0, 3, 64, 64), dtype=np.uint8), *plan.blocks(start)]
        assert max(map(len, blocks)) <= 50
        np.testing.assert_array_equal(np.concatenate(blocks), IMAGES[start:].transpose(0, 3, 1, 2))


@pytest.mark.usefixtures("small_grid")
def test_going_on_does_not_read_what_is_done(tmp_path, monkeypatch):
    plan = MPI3D(root=str(tmp_path)).plan((write(tmp_path),))
    unpacked = []
    original = zipfile.ZipExtFile.read
    monkeypatch.setattr(zipfile.ZipExtFile, "read", lambda self, n=-1: unpacked.append(n) or original(self, n))
    assert sum(map(len, plan.blocks(280))) == 8
    assert sum(unpacked) < 1000


def test_the_config_describes_the_images_before_they_are_read():
    dataset = MPI3D()
    assert dataset.published_num_images == 1_036_800
    assert dataset.image_shape == (3, 64, 64)
    assert [(factor.name, factor.size, factor.ordered) for factor in dataset.factors] == [
        ("object_color", 6, False),
        ("object_shape", 6, False),
        ("object_size", 2, True),
        ("camera_height", 3, True),
        ("background_color", 3, False),
        ("horizontal_axis", 40, True),
        ("vertical_axis", 40, True),
    ]


def test_of_three_files_one_is_needed(tmp_path):
    assert len(MPI3D.publication.files) == 3
    assert [file.name for file in MPI3D(version="toy").needed_files] == ["mpi3d_toy.npz"]
    with pytest.raises(DataError, match=r"mpi3d.*CC BY 4\.0"):
        MPI3D(root=str(tmp_path), version="toy").load()
