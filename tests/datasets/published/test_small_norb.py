import gzip
from dataclasses import replace

import numpy as np
import pytest
import torch
from PIL import Image

from tests.datasets.published.test_norb import norb_bytes
from unbraid.datasets import Factor, SmallNORB
from unbraid.errors import DataError

TRAIN, TEST = "smallnorb-5x46789x9x18x6x2x96x96-training", "smallnorb-5x01235x9x18x6x2x96x96-testing"
COLUMNS = ["category", "instance", "elevation", "azimuth", "lighting"]


def split_files(prefix, num_pairs, seed, *, gzipped=True):
    """The three files of a split, in the official format: pairs of images, categories, and the other labels, the
    azimuth in steps of two.
    """
    generator = np.random.default_rng(seed)
    info = np.column_stack([generator.integers(0, size, num_pairs) for size in (10, 9, 18, 6)]) * [1, 1, 2, 1]
    arrays = {
        "dat": generator.integers(0, 256, (num_pairs, 2, 96, 96), dtype=np.uint8),
        "cat": (np.arange(num_pairs) % 5).astype(np.int32),
        "info": info.astype(np.int32),
    }
    return arrays, {
        f"{prefix}-{kind}.mat{'.gz' * gzipped}": gzip.compress(norb_bytes(array), 1) if gzipped else norb_bytes(array)
        for kind, array in arrays.items()
    }


def put(files, folder):
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)


@pytest.fixture
def both_splits(tmp_path, any_checksum):
    """The arrays of the two splits, whose files lie in `tmp_path / "data"`: one gzipped, one not."""
    any_checksum(SmallNORB)
    train, files = split_files(TRAIN, 7, seed=0)
    test, plain_files = split_files(TEST, 5, seed=1, gzipped=False)
    put(files | plain_files, tmp_path / "data")
    return train, test


@pytest.fixture
def dataset(tmp_path):
    return SmallNORB(root=str(tmp_path / "data"), resolution=96)


@pytest.mark.parametrize(("split", "parts"), [("train", [0]), ("test", [1]), ("all", [0, 1])])
@pytest.mark.parametrize(("camera", "column"), [("left", 0), ("right", 1)])
def test_images_and_labels_come_in_the_order_of_the_files(both_splits, dataset, split, parts, camera, column):
    images = replace(dataset, split=split, camera=camera).load()
    chosen = [both_splits[part] for part in parts]
    np.testing.assert_array_equal(images.pixels.numpy(), np.concatenate([part["dat"][:, [column]] for part in chosen]))
    assert [factor.name for factor in images.factor_table] == COLUMNS
    expected = np.concatenate([np.column_stack([part["cat"], part["info"] // [1, 1, 2, 1]]) for part in chosen])
    np.testing.assert_array_equal(images.values.numpy(), expected)
    assert images.values.dtype == torch.int64


def test_bytes_above_127_stay_bright(both_splits, dataset):
    assert int(dataset.load().pixels.max()) == both_splits[0]["dat"][:, 0].max() > 127


def test_with_both_cameras_the_right_image_follows_the_left_and_the_camera_is_a_factor(both_splits, dataset):
    dataset = replace(dataset, split="train", camera="both")
    images = dataset.load()
    np.testing.assert_array_equal(images.pixels.numpy(), both_splits[0]["dat"].reshape(14, 1, 96, 96))
    assert images.factor_table == dataset.factors
    assert images.values[:, 5].tolist() == [0, 1] * 7
    np.testing.assert_array_equal(images.values[::2, :5].numpy(), images.values[1::2, :5].numpy())
    np.testing.assert_array_equal(images.values[::2, 0].numpy(), both_splits[0]["cat"])


def test_smaller_images_are_what_pillow_makes_with_its_lanczos_filter(both_splits, dataset):
    images = replace(dataset, split="test", resolution=64).load()
    assert images.pixels.shape == (5, 1, 64, 64)
    for pixels, pair in zip(images.pixels.numpy(), both_splits[1]["dat"], strict=True):
        np.testing.assert_array_equal(
            pixels[0], np.asarray(Image.fromarray(pair[0]).resize((64, 64), Image.Resampling.LANCZOS))
        )


@pytest.mark.usefixtures("both_splits")
@pytest.mark.parametrize("camera", ["left", "both"])
def test_a_conversion_goes_on_from_any_image(dataset, camera):
    dataset = replace(dataset, camera=camera)
    plan = dataset.plan(dataset.find())
    everything = np.concatenate(list(plan.blocks(0)))
    for start in range(len(everything)):
        np.testing.assert_array_equal(np.concatenate(list(plan.blocks(start))), everything[start:])


@pytest.mark.parametrize("subfolder", ["", "small-norb", "small_norb", "smallnorb"])
def test_files_are_found_in_the_folder_and_its_usual_subfolders(tmp_path, subfolder, any_checksum):
    any_checksum(SmallNORB)
    put(split_files(TEST, 2, seed=0)[1], tmp_path / subfolder)
    assert len(SmallNORB(root=str(tmp_path), split="test").load()) == 2


@pytest.mark.usefixtures("both_splits")
def test_all_files_are_needed_and_the_gzipped_one_is_preferred(tmp_path):
    folder = tmp_path / "data"
    put(split_files(TEST, 5, seed=1)[1], folder)
    assert [path.suffix for path in SmallNORB().sources(folder)] == [".gz"] * 6
    (folder / f"{TRAIN}-info.mat.gz").unlink()
    assert SmallNORB().sources(folder) is None
    assert SmallNORB(split="train").sources(folder) is None
    assert len(SmallNORB(split="test").sources(folder)) == 3


@pytest.mark.usefixtures("both_splits")
def test_the_number_of_images_is_that_of_the_files_once_they_are_converted(dataset):
    assert (dataset.num_images, replace(dataset, split="test").num_images) == (48_600, 24_300)
    assert replace(dataset, camera="both").num_images == 97_200
    dataset.open()
    assert dataset.num_images == 12


def test_the_config_describes_the_images_before_they_are_read():
    assert SmallNORB().image_shape == (1, 64, 64)
    assert SmallNORB(resolution=96).image_shape == (1, 96, 96)
    assert SmallNORB().factors == (
        Factor("category", 5, ordered=False),
        Factor("instance", 10, ordered=False),
        Factor("elevation", 9),
        Factor("azimuth", 18),
        Factor("lighting", 6, ordered=False),
    )


@pytest.mark.parametrize(
    ("kind", "change", "match"),
    [
        ("dat", lambda dat: dat[:, :1], r"1 to 24300 rows of \(2, 96, 96\)"),
        ("cat", lambda cat: cat[:-1], "cat.mat has 4 .* 5 .*info.mat"),
        ("info", lambda info: info[:-1], "cat.mat has 5 .* 4 .*info.mat"),
        ("info", lambda info: info[:, :3], r"1 to 24300 rows of \(4,\)"),
        ("cat", lambda cat: cat + 4, "0.*1.*4"),
        ("cat", lambda cat: cat - 1, "category"),
        ("info", lambda info: info * 0 + [10, 0, 0, 0], "0.*1.*9"),
        ("info", lambda info: info * 0 + [0, 0, 3, 0], r"0.*2.*\.\..*34"),
        ("info", lambda info: info * 0 + [0, 0, 36, 0], "azimuth"),
    ],
)
def test_a_file_that_does_not_fit_is_refused_with_its_name(tmp_path, both_splits, dataset, kind, change, match):
    _, test = both_splits
    array = change(test[kind])
    put({f"{TEST}-{kind}.mat": norb_bytes(array.astype(np.int32) if kind == "info" else array)}, tmp_path / "data")
    with pytest.raises(DataError, match=f"{TEST}.*{match}"):
        dataset.load()
    assert not dataset.is_converted


@pytest.mark.usefixtures("both_splits")
def test_a_file_that_is_cut_short_never_becomes_a_dataset(tmp_path, dataset):
    path = tmp_path / "data" / f"{TEST}-dat.mat"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(DataError, match=f"{path} "):
        dataset.load()
    assert not dataset.is_converted
