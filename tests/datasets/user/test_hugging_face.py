import dataclasses
import json
import shutil
import sys
from pathlib import Path

import datasets
import numpy as np
import pytest
import torch
from PIL import Image

from tests.told import told_to
from unbraid.datasets import Factor, FromHuggingFace, image_store
from unbraid.datasets.user import hugging_face, own_pictures
from unbraid.errors import CodesError, DataError, SpecError

GENERATOR = np.random.default_rng(5)
GRAY = GENERATOR.integers(0, 256, (6, 5, 7), dtype=np.uint8)
COLOR = GENERATOR.integers(0, 256, (6, 5, 7, 3), dtype=np.uint8)
CLASSES = datasets.ClassLabel(names=["cat", "dog", "emu"])


def dataset_of(images=GRAY, features=None, **columns):
    content = {"image": [Image.fromarray(image) for image in images], **columns}
    return datasets.Dataset.from_dict(content, datasets.Features({"image": datasets.Image(), **(features or {})}))


def labeled():
    return dataset_of(features={"label": CLASSES}, label=[0, 2, 2, 0, 0, 2])


# ---- images and factors


def test_class_labels_keep_their_numbers_and_are_not_ranked():
    config = FromHuggingFace.from_dataset(labeled())
    assert (config.num_images, config.image_shape) == (6, (1, 5, 7))
    # The dog has a number, though none occurs.
    assert config.factors == (Factor("label", 3, ordered=False),)
    assert config.words == {"label": ("cat", "dog", "emu")}
    images = config.load()
    np.testing.assert_array_equal(images.pixels[:, 0], GRAY)
    assert images.values.tolist() == [[0], [2], [2], [0], [0], [2]]
    assert images.values.dtype == torch.int64
    assert images.factor_table == config.factors


def test_numbers_and_words_become_factors():
    features = {
        "size": datasets.Value("int32"),
        "depth": datasets.Value("float32"),
        "hue": datasets.Value("string"),
        "lit": datasets.Value("bool"),
    }
    dataset = dataset_of(
        features=features,
        size=[3, 7, 7, -1, 3, 3],
        depth=[0.5, 1, 2, 3, 4, 5],
        hue=["red", "blue"] * 3,
        lit=[True] * 5 + [False],
    )
    config = FromHuggingFace.from_dataset(dataset, factors=("size", "hue", "lit"))
    assert config.factors == (Factor("size", 3), Factor("hue", 2, ordered=False), Factor("lit", 2))
    assert config.load().values[:3].tolist() == [[1, 1, 1], [2, 0, 1], [2, 1, 1]]
    assert config.words == {"hue": ("blue", "red")}
    mixed = FromHuggingFace.from_dataset(dataset, factors=("size", "depth"))
    assert mixed.factors == (Factor("size", 3), Factor("depth", 0))
    assert mixed.load().values[:2].tolist() == [[1.0, 0.5], [2.0, 1.0]]


@pytest.mark.parametrize(
    ("kind", "given", "expected"),
    [
        (CLASSES, [0, 1, -1, 0, None, 2], [0, 1, -1, 0, -1, 2]),
        (datasets.Value("int64"), [5, None, 7, 5, None, 9], [0, -1, 1, 0, -1, 2]),
        (datasets.Value("string"), ["b", None, "a", "b", "a", "b"], [1, -1, 0, 1, 0, 1]),
        (datasets.Value("bool"), [True, None, False, True, True, True], [1, -1, 0, 1, 1, 1]),
    ],
    ids=["classes", "integers", "words", "booleans"],
)
def test_labels_may_be_missing(kind, given, expected):
    assert (
        FromHuggingFace.from_dataset(dataset_of(features={"label": kind}, label=given)).load().values[:, 0].tolist()
        == expected
    )


def test_a_measurement_may_be_missing():
    given = [0.5, None, float("nan"), 1.0, 2.0, 3.0]
    config = FromHuggingFace.from_dataset(dataset_of(features={"label": datasets.Value("float64")}, label=given))
    assert config.load().factors[0].is_known.tolist() == [True, False, False, True, True, True]


def test_a_single_factor_may_be_named_alone():
    assert FromHuggingFace.from_dataset(labeled(), factors="label") == FromHuggingFace.from_dataset(
        labeled(), factors=("label",)
    )


def test_without_factors_the_images_are_unlabeled():
    config = FromHuggingFace.from_dataset(labeled(), factors=())
    assert config.factors == ()
    assert config.load().values.shape == (6, 0)


def test_color_is_found_or_asked_for():
    np.testing.assert_array_equal(
        FromHuggingFace.from_dataset(dataset_of(COLOR), factors=()).load().pixels, np.moveaxis(COLOR, 3, 1)
    )
    assert FromHuggingFace.from_dataset(dataset_of(COLOR), factors=(), channels=1).image_shape == (1, 5, 7)
    assert FromHuggingFace.from_dataset(dataset_of([*GRAY[:3], *COLOR[:3]]), factors=()).image_shape == (3, 5, 7)


def test_sizes_that_differ_need_a_resolution():
    dataset = dataset_of([*GRAY, np.zeros((9, 9), np.uint8)])
    with pytest.raises(
        DataError,
        match="5 x 7",
    ):
        FromHuggingFace.from_dataset(dataset, factors=())
    images = FromHuggingFace.from_dataset(dataset, factors=(), resolution=5).load()
    np.testing.assert_array_equal(images.pixels[:6, 0], GRAY[:, :, 1:6])


def test_rows_come_in_the_order_that_the_data_set_has_them():
    shuffled = labeled().select([4, 1, 3])
    images = FromHuggingFace.from_dataset(shuffled).load()
    np.testing.assert_array_equal(images.pixels[:, 0], GRAY[[4, 1, 3]])
    assert images.values[:, 0].tolist() == [0, 2, 0]


def test_the_format_that_a_data_set_has_does_not_matter():
    plain = FromHuggingFace.from_dataset(labeled())
    assert FromHuggingFace.from_dataset(labeled().with_format("numpy")) == plain
    assert FromHuggingFace.from_dataset(labeled().with_transform(lambda batch: pytest.fail("transformed"))) == plain
    assert FromHuggingFace.from_dataset(labeled().cast_column("image", datasets.Image(decode=False))) == plain


def test_pictures_may_be_files(tmp_path):
    for number, image in enumerate(GRAY):
        Image.fromarray(image).save(tmp_path / f"{number}.png")
    dataset = datasets.Dataset.from_dict({"picture": [str(tmp_path / f"{k}.png") for k in range(6)]}).cast_column(
        "picture", datasets.Image()
    )
    before = FromHuggingFace.from_dataset(dataset, "picture", ())
    np.testing.assert_array_equal(before.load().pixels[:, 0], GRAY)
    # The dataset is the same object, and its pictures are others.
    Image.fromarray(255 - GRAY[2]).save(tmp_path / "2.png")
    after = FromHuggingFace.from_dataset(dataset, "picture", ())
    assert after != before
    np.testing.assert_array_equal(after.load().pixels[2, 0], 255 - GRAY[2])


def test_many_pictures_are_converted_in_blocks_without_losing_one(monkeypatch):
    monkeypatch.setattr(hugging_face, "_IMAGES_PER_BLOCK", 4)
    seen = []
    with told_to(seen):
        images = FromHuggingFace.from_dataset(labeled()).load()
    np.testing.assert_array_equal(images.pixels[:, 0], GRAY)
    assert images.values[:, 0].tolist() == [0, 2, 2, 0, 0, 2]
    assert [done for what, done, total, _ in seen if what.startswith("surveying")] == [1, 2, 3, 4, 5, 6]
    assert seen[-1] == ("converting a dataset of Hugging Face", 6, 6, "images")


# ---- config and cache


def test_a_config_survives_json(cache):
    config = FromHuggingFace.from_dataset(labeled())
    again = FromHuggingFace(**json.loads(json.dumps(dataclasses.asdict(config))))
    assert again == config == FromHuggingFace(config.path)
    assert config.path.startswith(str(cache))
    torch.testing.assert_close(again.load().pixels, config.load().pixels)


def test_a_config_is_read_without_the_library(monkeypatch):
    config = FromHuggingFace.from_dataset(labeled())
    for name in ("datasets", "pyarrow"):
        monkeypatch.setitem(sys.modules, name, None)
    assert len(FromHuggingFace(config.path, config.sha256).load()) == 6


def test_the_same_content_is_converted_once(monkeypatch):
    config = FromHuggingFace.from_dataset(labeled())
    monkeypatch.setattr(image_store.ImageStore, "make", lambda *_: pytest.fail("made again"))
    assert FromHuggingFace.from_dataset(labeled()) == config
    with pytest.raises(pytest.fail.Exception):
        FromHuggingFace.from_dataset(labeled(), factors=())


def test_a_store_that_is_gone_is_made_again_by_handing_in_the_dataset():
    config = FromHuggingFace.from_dataset(labeled())
    shutil.rmtree(config.path)
    for question in (config.load, lambda: config.factors, lambda: config.num_images, lambda: config.image_shape):
        with pytest.raises(DataError, match=r"converted images.*FromHuggingFace\.from_dataset"):
            question()
    assert FromHuggingFace.from_dataset(labeled()) == config
    assert len(config.load()) == 6


def test_a_store_that_holds_something_else_is_refused():
    config, other = FromHuggingFace.from_dataset(labeled()), FromHuggingFace.from_dataset(dataset_of(COLOR), factors=())
    shutil.rmtree(config.path)
    shutil.copytree(other.path, config.path)
    with pytest.raises(DataError, match=f"expects {config.sha256}"):
        config.load()


def test_a_damaged_store_is_refused_and_mended_by_handing_in_the_dataset():
    config = FromHuggingFace.from_dataset(labeled())
    with (Path(config.path) / "images.npy").open("r+b") as stream:
        stream.seek(200)
        stream.write(b"\0\1\2")
    with pytest.raises(DataError, match=r"used: .*SHA-256.*FromHuggingFace\.from_dataset"):
        config.load()
    assert FromHuggingFace.from_dataset(labeled()) == config
    np.testing.assert_array_equal(config.load().pixels[:, 0], GRAY)


def test_a_config_may_be_made_before_its_store(tmp_path):
    assert FromHuggingFace(str(tmp_path / "later")).sha256 == ""


# ---- refusals


@pytest.mark.parametrize(
    ("dataset", "options", "match"),
    [
        (
            lambda: datasets.DatasetDict(train=labeled()),
            {},
            r"datasets\.Dataset.*DatasetDict.*dataset\['train'\]",
        ),
        (lambda: labeled().to_iterable_dataset(), {}, "without streaming"),
        (lambda: [1, 2], {}, "got a list"),
        (labeled, {"image": "picture"}, "'picture'"),
        (labeled, {"factors": ("shape",)}, "'shape'"),
        (labeled, {"factors": ("label", "label")}, "'label' .* duplicate"),
        (labeled, {"image": "label", "factors": ()}, r"ClassLabel.*expected images"),
        (lambda: labeled().select([]), {}, "0 rows"),
        (
            lambda: dataset_of(features={"label": CLASSES}, label=[-1, None] * 3),
            {},
            "'label'",
        ),
        (
            lambda: dataset_of(features={"label": datasets.Value("float64")}, label=[0.5, float("inf")] * 3),
            {},
            "NaN.*3.*'label'",
        ),
        (
            lambda: dataset_of(features={"label": datasets.List(datasets.Value("int64"))}, label=[[1, 2]] * 6),
            {},
            "List",
        ),
        (
            lambda: dataset_of(features={"label": datasets.Value("timestamp[s]")}, label=[0] * 6),
            {},
            "Value",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_at_once(dataset, options, match):
    with pytest.raises(DataError, match=match):
        FromHuggingFace.from_dataset(dataset(), **options)


def raw(*pictures):
    features = datasets.Features({"image": datasets.Image(decode=False)})
    return datasets.Dataset.from_dict({"image": list(pictures)}, features)


@pytest.mark.parametrize(
    ("picture", "match"),
    [
        (None, "image 1 is missing"),
        ({"bytes": b"not a picture", "path": None}, "image 1 "),
        ({"bytes": None, "path": "/nowhere/a.png"}, r"/nowhere/a\.png"),
        ({"bytes": None, "path": "/dev/zero"}, "/dev/zero"),
        ({"bytes": None, "path": "https://example.org/a.png"}, "local file"),
    ],
)
def test_a_picture_that_cannot_be_read_is_refused_by_its_row(picture, match, tmp_path):
    Image.fromarray(GRAY[0]).save(tmp_path / "good.png")
    good = {"bytes": (tmp_path / "good.png").read_bytes(), "path": None}
    with pytest.raises(DataError, match=rf"1 of 3 pictures in the dataset cannot be read: image 1\..*{match}"):
        FromHuggingFace.from_dataset(raw(good, picture, good), factors=())


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "a.png"
    Image.fromarray(GRAY[0]).save(path)
    survey = own_pictures.survey

    def changed(*given):
        found = survey(*given)
        Image.fromarray(GRAY[1]).save(path)
        return found

    monkeypatch.setattr(own_pictures, "survey", changed)
    with pytest.raises(DataError, match="image 0"):
        FromHuggingFace.from_dataset(raw({"bytes": None, "path": str(path)}), factors=())


def test_without_the_library_it_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(CodesError, match=r"pip install 'unbraid\[huggingface\]'"):
        FromHuggingFace.from_dataset(None)


@pytest.mark.parametrize(
    ("fields", "match"), [({"path": ""}, "path is ''"), ({"path": "a", "sha256": "ABC"}, "64 lower-case")]
)
def test_a_config_that_cannot_be_right_is_refused_when_it_is_made(fields, match):
    with pytest.raises(SpecError, match=match):
        FromHuggingFace(**fields)
