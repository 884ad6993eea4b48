import gzip
import struct

import numpy as np
import pytest
import torch

from unbraid.datasets import MNIST, Factor, FashionMNIST
from unbraid.errors import DataError


@pytest.fixture(scope="module")
def test_split_files():
    images = np.arange(10_000 * 28 * 28, dtype=np.uint64).astype(np.uint8).reshape(10_000, 28, 28)
    labels = (np.arange(10_000) % 10).astype(np.uint8)
    return {
        "t10k-images-idx3-ubyte.gz": gzip.compress(struct.pack(">IIII", 0x803, *images.shape) + images.tobytes(), 1),
        "t10k-labels-idx1-ubyte.gz": gzip.compress(struct.pack(">II", 0x801, *labels.shape) + labels.tobytes(), 1),
    }


def put(files, folder):
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)


@pytest.mark.parametrize("subfolder", ["", "mnist", "MNIST/raw"])
def test_files_are_found_in_the_folder_and_its_usual_subfolders(tmp_path, test_split_files, subfolder, any_checksum):
    any_checksum(MNIST)
    put(test_split_files, tmp_path / subfolder)
    dataset = MNIST(root=str(tmp_path), split="test")
    images = dataset.load()
    assert images.pixels.shape == (dataset.num_images, *dataset.image_shape)
    assert images.pixels[0, 0, 1, :3].tolist() == [28, 29, 30]
    assert images.values[:12, 0].tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1]
    assert images.values.dtype == torch.int64


def test_without_a_root_the_environment_names_the_folder(tmp_path, test_split_files, monkeypatch, any_checksum):
    any_checksum(MNIST)
    put(test_split_files, tmp_path)
    monkeypatch.setenv("UNBRAID_DATA", str(tmp_path))
    assert len(MNIST(split="test").load()) == 10_000


def test_the_config_describes_the_images_before_they_are_read():
    assert (MNIST().num_images, MNIST(split="test").num_images) == (60_000, 10_000)
    assert MNIST().image_shape == (1, 28, 28)
    assert MNIST().factors == (Factor("digit", 10, ordered=False),)


@pytest.mark.real_data
def test_the_real_digits_are_the_well_known_ones(real_data):
    images = MNIST(root=str(real_data)).load()
    assert images.pixels.shape == (60_000, 1, 28, 28)
    assert images.values[:10, 0].tolist() == [5, 0, 4, 1, 9, 2, 1, 3, 1, 4]
    assert images.values[:, 0].bincount().tolist() == [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
    # The mean that every tutorial normalizes with.
    assert images.pixels[:].double().mean().item() / 255 == pytest.approx(0.1307, abs=5e-5)
    assert MNIST(root=str(real_data), split="test").load().values[:5, 0].tolist() == [7, 2, 1, 0, 4]


@pytest.mark.real_data
def test_the_real_digits_have_shapes(real_data):
    """Ones are narrow, zeros are wide, and most digits lean to the right."""
    images = MNIST(root=str(real_data / "mnist"), split="test", shape_factors=True).load()
    assert [factor.name for factor in images.factor_table] == ["digit", "thickness", "width", "slant"]
    digit, thickness, width, slant = images.values.double().T
    assert width[digit == 1].median() < 5 < 12 < width[digit == 0].median()
    assert 1.5 < thickness.median() < 4
    assert slant.median() > 0.05


def test_images_and_labels_come_from_one_folder_or_not_at_all(tmp_path):
    for name in ("t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte"):
        (tmp_path / name).touch()
    found = MNIST(split="test").sources(tmp_path)
    assert [path.name for path in found] == ["t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte"]
    assert MNIST(split="train").sources(tmp_path) is None
    found[0].unlink()
    assert MNIST(split="test").sources(tmp_path) is None


def test_labels_beyond_the_classes_are_refused(tmp_path):
    for kind, shape in (("images-idx3", (10_000, 28, 28)), ("labels-idx1", (10_000,))):
        head = struct.pack(f">HBB{len(shape)}I", 0, 8, len(shape), *shape)
        (tmp_path / f"t10k-{kind}-ubyte").write_bytes(head + np.full(shape, 10, np.uint8).tobytes())
    with pytest.raises(DataError, match="10; expected 0"):
        MNIST(root=str(tmp_path), split="test").load()


def put_clothes(folder, label):
    folder.mkdir(parents=True)
    images = struct.pack(">IIII", 0x803, 10_000, 28, 28) + bytes(10_000 * 28 * 28)
    (folder / "t10k-images-idx3-ubyte.gz").write_bytes(gzip.compress(images, 1))
    (folder / "t10k-labels-idx1-ubyte").write_bytes(struct.pack(">II", 0x801, 10_000) + bytes([label]) * 10_000)


@pytest.mark.parametrize("subfolder", ["", "fashion-mnist", "FashionMNIST/raw"])
def test_clothes_are_found_in_the_folder_and_its_usual_subfolders(tmp_path, subfolder, any_checksum):
    any_checksum(FashionMNIST)
    put_clothes(tmp_path / "data" / subfolder, label=3)
    images = FashionMNIST(root=str(tmp_path / "data"), split="test").load()
    assert images.pixels.shape == (10_000, 1, 28, 28)
    assert images.values.unique().tolist() == [3]


def test_digits_in_the_same_folder_are_not_taken_for_clothes(tmp_path, any_checksum):
    any_checksum(MNIST, FashionMNIST)
    put_clothes(tmp_path / "mnist", label=1)
    put_clothes(tmp_path / "fashion-mnist", label=2)
    assert FashionMNIST(root=str(tmp_path), split="test").load().values.unique().tolist() == [2]
    assert MNIST(root=str(tmp_path), split="test").load().values.unique().tolist() == [1]


def test_the_config_describes_the_clothes_before_they_are_read():
    assert (FashionMNIST().num_images, FashionMNIST(split="test").num_images) == (60_000, 10_000)
    assert FashionMNIST().image_shape == (1, 28, 28)
    assert FashionMNIST().factors == (Factor("class", 10, ordered=False),)


@pytest.mark.real_data
def test_the_real_clothes_are_evenly_divided(real_data):
    images = FashionMNIST(root=str(real_data)).load()
    assert images.values[:5, 0].tolist() == [9, 0, 0, 3, 0]
    assert images.values[:, 0].bincount().tolist() == [6000] * 10
    assert images.pixels.double().mean().item() / 255 == pytest.approx(0.2860, abs=5e-5)
    assert FashionMNIST(root=str(real_data), split="test").load().values[:, 0].bincount().tolist() == [1000] * 10
