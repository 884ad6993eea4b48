import dataclasses
import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from tests.datasets.user.array_files import IMAGES, saved
from unbraid._internal import files
from unbraid.datasets import Factor, FromArrays
from unbraid.errors import DataError, SpecError

# ---- images


def test_images_come_back_as_they_were_given():
    dataset = FromArrays.from_arrays(IMAGES)
    assert (dataset.num_images, dataset.image_shape, dataset.factors) == (4, (1, 5, 6), ())
    images = dataset.load()
    np.testing.assert_array_equal(images.pixels[:, 0], IMAGES)
    assert images.values.shape == (4, 0)
    assert images.weights is None


@pytest.mark.parametrize("channels", [1, 3])
def test_channels_may_come_first_or_last(channels):
    first = np.arange(4 * channels * 5 * 6, dtype=np.uint8).reshape(4, channels, 5, 6)
    for given_as in (first, np.moveaxis(first, 1, 3)):
        dataset = FromArrays.from_arrays(given_as)
        assert dataset.image_shape == (channels, 5, 6)
        np.testing.assert_array_equal(dataset.load().pixels, first)


@given(
    images=arrays(np.uint8, array_shapes(min_dims=3, max_dims=3, max_side=6)).filter(lambda images: images.max() != 1)
)
def test_one_channel_without_an_axis_is_never_ambiguous(images):
    np.testing.assert_array_equal(FromArrays.from_arrays(images).load().pixels[:, 0], images)


@given(byte=st.integers(0, 255).filter(lambda byte: byte != 1))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_bytes_divided_by_255_come_back_as_the_same_bytes(byte, dtype):
    images = np.full((1, 2, 2), byte, dtype=dtype) / dtype(255)
    assert FromArrays.from_arrays(images).load().pixels.unique().tolist() == [byte]


def test_booleans_are_black_and_white():
    assert FromArrays.from_arrays(np.array([[[False, True]]])).load().pixels.flatten().tolist() == [0, 255]


@pytest.mark.parametrize("dtype", [torch.uint8, torch.bool, torch.float16, torch.bfloat16, torch.float32])
def test_tensors_are_as_good_as_arrays(dtype):
    images = (
        torch.ones(2, 3, 5, 5).requires_grad_().to(dtype)
        if dtype.is_floating_point
        else torch.full((2, 3, 5, 5), 255).to(dtype)
    )
    assert FromArrays.from_arrays(images).load().pixels.unique().tolist() == [255]


def test_many_floats_are_converted_in_blocks_without_losing_an_image(monkeypatch):
    monkeypatch.setattr("unbraid.datasets.user.from_arrays._IMAGES_AT_ONCE", 3)
    images = np.linspace(0, 1, 10)[:, None, None]
    np.testing.assert_array_equal(
        FromArrays.from_arrays(images).load().pixels.flatten(), np.rint(images.flatten() * 255)
    )


@pytest.mark.parametrize(
    ("images", "match"),
    [
        (np.array([[[0.0, np.nan]]]), "1.*NaN"),
        (np.array([[[0.0, 254.0]]]), r"0 to 254; expected 0 to 1.*astype\(np.uint8\)"),
        (np.array([[[-1.0, 1.0]]]), "-1 to 1; expected 0 to 1"),
        (np.array([[[0.0, np.inf]]]), "0 to inf"),
        (np.array([[[0, 1]]], dtype=np.uint8), "by 255"),
        (np.array([[[0.0, 0.004]]]), "up to 1;"),
        (np.array([[[0, 255]]]), "int64; expected uint8"),
        (np.zeros((0, 5, 5), dtype=np.uint8), "at least one image"),
        (np.zeros((2, 0, 5), dtype=np.uint8), "one pixel"),
        (np.zeros((5, 5, 5, 5, 5), dtype=np.uint8), r"\(5, 5, 5, 5, 5\); expected \(image, height, width\)"),
        (np.zeros((2, 4, 5, 5), dtype=np.uint8), "with 1 or 3 channels"),
        (np.zeros((2, 5, 5, 3, 1), dtype=np.uint8), r"\(2, 5, 5, 3, 1\)"),
        (np.zeros((2, 3, 5, 3), dtype=np.uint8), "second and the last"),
        (np.array([None, 1], dtype=object), "objects of type"),
        (np.array([["a"]]), "expected uint8"),
        (np.ma.array([[[0.0, 1.0]]], mask=[[[0, 1]]]), "images"),
    ],
)
def test_images_that_make_no_sense_are_refused_at_once(images, match):
    with pytest.raises(DataError, match=match):
        FromArrays.from_arrays(images)


# ---- factors


def test_integers_become_their_ranks_column_by_column():
    dataset = FromArrays.from_arrays(
        IMAGES, np.array([[3, 0], [7, 1], [7, 2], [-1, 0]]), factor_names=["age", "hue"], unordered=("hue",)
    )
    assert dataset.factors == (Factor("age", 3), Factor("hue", 3, ordered=False))
    images = dataset.load()
    assert images.values.tolist() == [[1, 0], [2, 1], [2, 2], [0, 0]]
    assert images.values.dtype == torch.int64
    assert images.factor_table == dataset.factors


@given(column=arrays(np.int64, 4, elements=st.integers(-(2**62), 2**62)))
def test_ranks_keep_order_and_use_every_index(column):
    dataset = FromArrays.from_arrays(IMAGES, column)
    ranks = dataset.load().values[:, 0].tolist()
    assert sorted(set(ranks)) == list(range(dataset.factors[0].size))
    assert all(
        (a < b) == (i < j) for a, i in zip(column, ranks, strict=True) for b, j in zip(column, ranks, strict=True)
    )


def test_floats_are_continuous_factors():
    values = np.array([[0.5], [1.5], [-2.0], [0.0]])
    dataset = FromArrays.from_arrays(IMAGES, torch.from_numpy(values))
    assert dataset.factors == (Factor("factor_0", 0),)
    np.testing.assert_array_equal(dataset.load().values, values)


def test_masked_labels_are_missing_labels():
    mask = [[0, 1], [0, 0], [1, 0], [0, 0]]
    dataset = FromArrays.from_arrays(IMAGES, np.ma.array([[3, 0], [7, 1], [9, 2], [-1, 0]], mask=mask))
    assert dataset.factors == (Factor("factor_0", 3), Factor("factor_1", 3))
    images = dataset.load()
    assert images.values.tolist() == [[1, -1], [2, 1], [-1, 2], [0, 0]]
    assert [labels.is_known.tolist() for labels in images.factors] == (~np.array(mask, dtype=bool)).T.tolist()
    [labels] = FromArrays.from_arrays(IMAGES, np.ma.masked_invalid([0.5, np.nan, 1.5, -1.0])).load().factors
    assert (labels.is_continuous, labels.is_known.tolist()) == (True, [True, False, True, True])


def test_flags_of_known_labels_fit_the_labels(tmp_path):
    np.savez(tmp_path / "own.npz", images=IMAGES, factors=np.arange(4), factor_known=np.ones((4, 1), dtype=bool))
    with pytest.raises(DataError, match=r"shape \(4, 1\)"):
        FromArrays(str(tmp_path / "own.npz")).load()


def test_half_floats_are_widened():
    assert FromArrays.from_arrays(IMAGES, np.zeros((4, 1), dtype=np.float16)).load().values.dtype == torch.float32


def test_booleans_are_a_factor_of_two_values():
    assert FromArrays.from_arrays(IMAGES, np.array([True, False, True, True])).load().values[:, 0].tolist() == [
        1,
        0,
        1,
        1,
    ]


def test_weights_near_the_largest_float_do_not_overflow():
    weights = FromArrays.from_arrays(IMAGES, weights=np.full(4, 1e308)).load().weights
    torch.testing.assert_close(weights, torch.full((4,), 0.25))


def test_weights_are_scaled_to_probabilities():
    weights = FromArrays.from_arrays(IMAGES, weights=np.array([1, 0, 1, 2])).load().weights
    torch.testing.assert_close(weights, torch.tensor([0.25, 0.0, 0.25, 0.5]))


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"factors": np.zeros((3, 2), dtype=int)}, r"\(3,\) for 4 images"),
        ({"factors": np.zeros((4, 2, 1), dtype=int)}, r"\(4, 2, 1\)"),
        ({"factors": np.array([[0.0], [np.nan], [1.0], [np.inf]])}, "2 rows"),
        ({"factors": np.array([["a"], ["b"], ["c"]])}, "one label per image"),
        ({"factors": {"a": np.zeros(3, dtype=int)}}, r"'a'.*\(3,\).*4"),
        ({"factors": {"a": np.full((4, 2), 0.5)}}, "has probabilities"),
        ({"factors": {"a": [-1, -1, -1, -1]}, "missing": -1}, "'a'"),
        ({"factors": {"a": [0.5, math.nan, 1.0, 2.0]}}, "missing=math.nan"),
        ({"factors": {"a": np.arange(4)}, "factor_names": ["b"]}, "with named factors"),
        ({"factors": {"a": np.arange(4)}, "unordered": ["b"]}, "unknown factor 'b'"),
        ({"factors": {"a": np.ones(4)}, "unordered": ["a"]}, "a factor of floats"),
        ({"factors": np.array([None] * 4, dtype=object)}, "objects of type"),
        ({"factors": np.zeros((4, 2), dtype=int), "factor_names": ["one"]}, "each of the 2 factors"),
        ({"factors": np.zeros((4, 2), dtype=int), "factor_names": ["one", "one"]}, "a different name"),
        ({"factors": np.zeros((4, 1), dtype=int), "factor_names": [""]}, "name ''"),
        ({"factors": np.zeros((4, 2), dtype=int), "unordered": ["shape"]}, "unknown factor 'shape'.*factor_0"),
        ({"factor_names": ["one"]}, "without factors"),
        ({"missing": -1}, "missing"),
        ({"unordered": ["one"]}, "unordered"),
        ({"factors": np.int64(3), "unordered": ["factor_0"]}, "factors"),
        ({"weights": np.ones(3)}, "each of 4 images"),
        ({"weights": np.array(["a"] * 4)}, "each of 4 images"),
        ({"weights": np.array([1.0, -1.0, 1.0, 1.0])}, ">= 0"),
        ({"weights": np.zeros(4)}, "not all 0"),
        ({"weights": np.array([1.0, np.nan, 1.0, 1.0])}, "finite"),
        ({"factors": np.ma.masked_all((4, 1))}, "'factor_0'"),
        ({"weights": np.ma.array([1.0, 1.0, 1.0, 1.0], mask=[0, 0, 0, 1])}, "weights"),
    ],
)
def test_factors_and_weights_that_make_no_sense_are_refused_at_once(options, match):
    with pytest.raises(DataError, match=match):
        FromArrays.from_arrays(IMAGES, **options)


# ---- file and cache


def test_a_file_of_ones_own_is_read(tmp_path):
    dataset = saved(
        tmp_path / "own.npz",
        images=IMAGES,
        factors=[[0], [1], [2], [3]],
        factor_names=["depth"],
        weights=[1.0, 1.0, 1.0, 1.0],
    )
    assert dataset.factors == (Factor("depth", 4),)
    assert dataset.load().weights.tolist() == [0.25] * 4


def test_a_config_survives_json(cache):
    dataset = FromArrays.from_arrays(IMAGES, np.arange(4))
    again = FromArrays(**json.loads(json.dumps(dataclasses.asdict(dataset))))
    assert again == dataset
    torch.testing.assert_close(again.load().pixels, dataset.load().pixels)


def test_the_file_is_named_by_its_checksum_and_kept_once(cache):
    first, second = FromArrays.from_arrays(IMAGES), FromArrays.from_arrays(IMAGES.copy())
    assert first == second
    assert Path(first.path) == cache / "arrays" / f"{first.sha256}.npz"
    assert files.sha256(Path(first.path)) == first.sha256
    assert FromArrays.from_arrays(IMAGES + 1) != first
    assert len(list((cache / "arrays").iterdir())) == 2


def test_a_kept_file_is_not_written_again(monkeypatch):
    FromArrays.from_arrays(IMAGES)
    monkeypatch.setattr(files, "atomic_writer", lambda path: pytest.fail("written again"))
    FromArrays.from_arrays(IMAGES)


def test_a_damaged_kept_file_is_written_again():
    dataset = FromArrays.from_arrays(IMAGES)
    Path(dataset.path).write_bytes(b"damaged")
    assert FromArrays.from_arrays(IMAGES) == dataset
    np.testing.assert_array_equal(dataset.load().pixels[:, 0], IMAGES)


def test_a_changed_file_is_refused():
    dataset = FromArrays.from_arrays(IMAGES)
    np.savez(dataset.path, images=IMAGES[::-1])
    with pytest.raises(DataError, match=f"expects {dataset.sha256}"):
        dataset.load()


def test_a_config_names_what_the_file_held_when_it_was_made(tmp_path):
    before = saved(tmp_path / "own.npz", images=IMAGES)
    assert before == saved(tmp_path / "own.npz", images=IMAGES)
    assert before.sha256 == files.sha256(tmp_path / "own.npz")
    after = saved(tmp_path / "own.npz", images=IMAGES[::-1])
    assert after != before
    np.testing.assert_array_equal(after.load().pixels[:, 0], IMAGES[::-1])
    with pytest.raises(DataError, match=f"expects {before.sha256}"):
        before.load()


def test_a_config_finds_its_file_from_every_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    whole = saved(tmp_path / "own.npz", images=IMAGES)
    assert FromArrays("own.npz") == FromArrays("~/own.npz") == whole
    relative = FromArrays("own.npz")
    monkeypatch.chdir("/")
    assert len(relative.load()) == len(IMAGES)


def test_a_config_may_be_made_before_its_file(tmp_path):
    assert FromArrays(str(tmp_path / "later.npz")).sha256 == ""
    assert FromArrays(str(tmp_path)).sha256 == ""  # a folder


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(DataError, match=r"no file .*gone\.npz"):
        FromArrays(str(tmp_path / "gone.npz"), "0" * 64).load()


def test_a_file_without_images_says_what_it_holds(tmp_path):
    with pytest.raises(DataError, match="array 'images'"):
        saved(tmp_path / "own.npz", pictures=IMAGES).load()


def test_an_npy_is_not_an_npz(tmp_path):
    np.save(tmp_path / "own.npy", IMAGES)
    with pytest.raises(DataError, match=r"readable \.npz"):
        _ = FromArrays(str(tmp_path / "own.npy")).num_images


def test_objects_in_a_file_are_never_unpickled(tmp_path):
    class Trap:
        def __reduce__(self):
            return (eval, ("1 / 0",))

    with pytest.raises(DataError, match="pickle"):
        saved(tmp_path / "own.npz", images=IMAGES, factors=np.array([Trap()], dtype=object)).load()


def test_a_cache_that_cannot_be_written_says_how_to_choose_another(cache):
    cache.write_text("in the way")
    with pytest.raises(DataError, match="UNBRAID_CACHE"):
        FromArrays.from_arrays(IMAGES)


@pytest.mark.parametrize(
    ("fields", "match"), [({"path": ""}, "path is ''"), ({"path": "a.npz", "sha256": "ABC"}, "64 lower-case")]
)
def test_a_config_that_cannot_be_right_is_refused_when_it_is_made(fields, match):
    with pytest.raises(SpecError, match=match):
        FromArrays(**fields)
