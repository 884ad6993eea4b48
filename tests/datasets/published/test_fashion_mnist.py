import gzip
import struct

import pytest

from unbraid.datasets import MNIST, Factor, FashionMNIST


def put(folder, label):
    folder.mkdir(parents=True)
    images = struct.pack(">IIII", 0x803, 10_000, 28, 28) + bytes(10_000 * 28 * 28)
    (folder / "t10k-images-idx3-ubyte.gz").write_bytes(gzip.compress(images, 1))
    (folder / "t10k-labels-idx1-ubyte").write_bytes(struct.pack(">II", 0x801, 10_000) + bytes([label]) * 10_000)


@pytest.mark.parametrize("subfolder", ["", "fashion-mnist", "FashionMNIST/raw"])
def test_files_are_found_in_the_folder_and_its_usual_subfolders(tmp_path, subfolder, any_checksum):
    any_checksum(FashionMNIST)
    put(tmp_path / "data" / subfolder, label=3)
    images = FashionMNIST(root=str(tmp_path / "data"), split="test").load()
    assert images.pixels.shape == (10_000, 1, 28, 28)
    assert images.values.unique().tolist() == [3]


def test_digits_in_the_same_folder_are_not_taken_for_clothes(tmp_path, any_checksum):
    any_checksum(MNIST, FashionMNIST)
    put(tmp_path / "mnist", label=1)
    put(tmp_path / "fashion-mnist", label=2)
    assert FashionMNIST(root=str(tmp_path), split="test").load().values.unique().tolist() == [2]
    assert MNIST(root=str(tmp_path), split="test").load().values.unique().tolist() == [1]


def test_the_config_describes_the_images_before_they_are_read():
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
