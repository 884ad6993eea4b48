import io
import logging
import zipfile

import numpy as np
import pytest
import torch
from PIL import Image

from unbraid.datasets import CelebA, Factor, pictures
from unbraid.datasets.fetching.verification import check_file
from unbraid.datasets.published.celeba import ATTRIBUTES
from unbraid.errors import DataError, SpecError

NUM_FACES = 20


def face(number):
    """A smooth picture in the official form: JPEG, 178 wide and 218 high."""
    row, column = np.mgrid[:218, :178]
    pixels = np.stack([row + number, column, np.full_like(row, 12 * number)], axis=2) % 256
    return Image.fromarray(pixels.astype(np.uint8))


def jpeg(picture):
    stream = io.BytesIO()
    picture.save(stream, "JPEG", quality=95)
    return stream.getvalue()


NAMES = [f"{number + 1:06}.jpg" for number in range(NUM_FACES)]
FACES = {name: jpeg(face(number)) for number, name in enumerate(NAMES)}
VALUES = np.random.default_rng(0).integers(0, 2, (NUM_FACES, 40))
PARTS = [0] * 12 + [1] * 3 + [2] * 5


def attribute_list(names, values):
    lines = [
        f"{name} {' '.join(f'{2 * value - 1:2d}' for value in row)}" for name, row in zip(names, values, strict=True)
    ]
    return "\n".join([str(len(names)), " ".join(ATTRIBUTES) + " ", *lines, ""])


def expected(number, crop=128, side=64):
    """The picture as one would cut and shrink it by hand."""
    with Image.open(io.BytesIO(FACES[NAMES[number]])) as picture:
        left, top = (178 - crop) // 2, (218 - crop) // 2
        middle = picture.crop((left, top, left + crop, top + crop))
        if crop % side:
            return np.asarray(middle.resize((side, side), Image.Resampling.BILINEAR)).transpose(2, 0, 1)
        factor = crop // side
        means = np.asarray(middle).reshape(side, factor, side, factor, 3).mean(axis=(1, 3))
        return np.floor(means + 0.5).astype(np.uint8).transpose(2, 0, 1)


@pytest.fixture
def lists(tmp_path):
    folder = tmp_path / "celeba"
    folder.mkdir()
    (folder / "list_attr_celeba.txt").write_text(attribute_list(NAMES, VALUES))
    (folder / "list_eval_partition.txt").write_text(
        "".join(f"{name} {part}\n" for name, part in zip(NAMES, PARTS, strict=True))
    )
    return folder


def zip_faces(folder, faces=FACES):
    with zipfile.ZipFile(folder / "img_align_celeba.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.mkdir("img_align_celeba")
        for name, content in faces.items():
            archive.writestr(f"img_align_celeba/{name}", content)


def lay_out_faces(folder, faces=FACES):
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in faces.items():
        (folder / name).write_bytes(content)


@pytest.fixture
def dataset(lists, any_checksum, tmp_path):
    any_checksum(CelebA)
    zip_faces(lists)
    return CelebA(root=str(tmp_path))


def test_faces_and_attributes_come_from_the_zip(dataset):
    images = dataset.load()
    assert images.pixels.shape == (NUM_FACES, 3, 64, 64)
    for number in (0, 7, 19):
        np.testing.assert_array_equal(images.pixels[number], expected(number))
    np.testing.assert_array_equal(images.values, VALUES)
    assert images.values.dtype == torch.int64
    assert images.factor_table == dataset.factors == tuple(Factor(name, 2) for name in ATTRIBUTES)


@pytest.mark.parametrize("subfolder", ["img_align_celeba", "img_align_celeba/img_align_celeba", "Img/img_align_celeba"])
def test_faces_come_from_the_folder_just_as_well(lists, any_checksum, subfolder):
    any_checksum(CelebA)
    lay_out_faces(lists / subfolder)
    (lists / subfolder / "Thumbs.db").touch()
    images = CelebA(root=str(lists)).load()
    np.testing.assert_array_equal(images.pixels[:], np.stack([expected(number) for number in range(NUM_FACES)]))
    np.testing.assert_array_equal(images.values, VALUES)


def test_the_folders_of_the_owners_drive_are_known(lists, any_checksum, tmp_path):
    any_checksum(CelebA)
    for name, subfolder in (("list_attr_celeba.txt", "Anno"), ("list_eval_partition.txt", "Eval")):
        (lists / subfolder).mkdir()
        (lists / name).rename(lists / subfolder / name)
    (lists / "Img").mkdir()
    zip_faces(lists / "Img")
    assert len(CelebA(root=str(tmp_path), split="test").load()) == 5


def test_the_official_parts_are_those_of_the_partition(dataset):
    for split, rows in {"train": range(12), "validation": range(12, 15), "test": range(15, 20)}.items():
        part = CelebA(root=dataset.root, split=split)
        images = part.load()
        np.testing.assert_array_equal(images.values, VALUES[list(rows)])
        np.testing.assert_array_equal(images.pixels[0:1][0], expected(rows[0]))
        assert part.num_images == len(images) == len(rows)


def test_nine_tenths_and_the_rest_are_everything_once(dataset):
    train, test = (CelebA(root=dataset.root, split=split) for split in ("train90", "test10"))
    assert (train.num_images, test.num_images) == (182_339, 20_260)  # as published, before anything is converted
    images = [train.load(), test.load()]
    assert (train.num_images, test.num_images) == (len(images[0]), len(images[1])) == (18, 2)
    both = np.concatenate([part.values.numpy() for part in images])
    np.testing.assert_array_equal(np.sort(both, axis=0), np.sort(VALUES, axis=0))
    pixels = np.concatenate([part.pixels[torch.arange(len(part))].numpy() for part in images])
    assert {image.tobytes() for image in pixels} == {expected(number).tobytes() for number in range(NUM_FACES)}
    assert train.load().values.equal(images[0].values)


def test_all_parts_share_one_cache(dataset, cache, monkeypatch):
    dataset.load()
    monkeypatch.setattr("unbraid.datasets.published.celeba.decode_many", lambda *_: pytest.fail("converted again"))
    for split in ("train", "validation", "test", "train90", "test10"):
        CelebA(root=dataset.root, split=split).load()
    assert len(list((cache / "converted").iterdir())) == 1
    assert CelebA(root=dataset.root, crop=178).store != dataset.store


def test_once_converted_the_files_are_no_longer_needed(dataset, lists):
    dataset.load()
    for path in lists.iterdir():
        path.unlink()
    assert len(CelebA(root=dataset.root, split="train").load()) == 12


def test_crop_and_resolution_are_the_users(dataset):
    images = CelebA(root=dataset.root, crop=178, resolution=32).load()
    assert images.image_shape == (3, 32, 32)
    np.testing.assert_array_equal(images.pixels[3], expected(3, 178, 32))


def test_faces_without_attributes_and_attributes_without_a_face_are_left_out_and_told(dataset, lists, caplog):
    names = [*NAMES[3:], "200000.jpg"]
    (lists / "list_attr_celeba.txt").write_text(attribute_list(names, VALUES[: len(names)]))
    with caplog.at_level(logging.WARNING):
        images = dataset.load()
    assert len(images) == dataset.num_images == NUM_FACES - 3
    np.testing.assert_array_equal(images.pixels[0], expected(3))
    np.testing.assert_array_equal(images.values, VALUES[: NUM_FACES - 3])
    assert "3 faces" in caplog.text
    assert "1 attributes" in caplog.text


def test_attributes_are_matched_by_name_and_not_by_place(dataset, lists):
    (lists / "list_attr_celeba.txt").write_text(attribute_list(NAMES[::-1], VALUES[::-1]))
    np.testing.assert_array_equal(dataset.load().values, VALUES)


def test_without_a_partition_there_are_no_official_parts(dataset, lists):
    (lists / "list_eval_partition.txt").unlink()
    train = CelebA(root=dataset.root, split="train")
    with pytest.raises(DataError, match=r"'train' needs list_eval_partition\.txt.*'train90'"):
        train.load()
    assert len(dataset.load()) == NUM_FACES
    with pytest.raises(DataError, match=r"'train' needs list_eval_partition\.txt.*'train90'"):
        train.load()
    assert len(CelebA(root=dataset.root, split="test10").load()) == 2


@pytest.mark.usefixtures("no_data_folder")
def test_missing_files_are_named_with_the_way_to_them(tmp_path, lists):
    with pytest.raises(
        DataError, match=r"img_align_celeba\.zip, list_attr_celeba\.txt, list_eval_partition\.txt.*mmlab.*CelebA\(root="
    ):
        CelebA(root=str(tmp_path)).load()
    zip_faces(lists)
    (lists / "list_attr_celeba.txt").unlink()
    with pytest.raises(DataError, match=r"list_attr_celeba\.txt"):
        CelebA(root=str(tmp_path)).load()


def test_beside_a_folder_of_faces_the_lists_may_be_ones_own(lists, tmp_path, caplog):
    (lists / "list_attr_celeba.txt").write_text(attribute_list(NAMES[:15], VALUES[:15]))
    lay_out_faces(lists / "img_align_celeba")
    with caplog.at_level(logging.WARNING):
        images = CelebA(root=str(tmp_path), split="train").load()
    np.testing.assert_array_equal(images.values, VALUES[:12])
    assert "differs from the published list" in caplog.text
    assert "expected 26,721,026" in caplog.text
    # The zip can be verified, and so must they be.
    zip_faces(lists)
    (lists / "img_align_celeba.zip").rename(lists / "zip")
    with pytest.raises(DataError, match=r"list_attr_celeba\.txt"):
        CelebA(root=str(tmp_path)).verified(lists / "list_attr_celeba.txt", (lists / "zip",))


@pytest.mark.parametrize(
    ("name", "content", "match"),
    [
        ("000005.jpg", FACES["000005.jpg"][:900], r"000005\.jpg"),
        ("000005.jpg", b"", r"000005\.jpg.*JPEG"),
        (
            "000005.jpg",
            jpeg(Image.new("RGB", (64, 64))),
            r"000005\.jpg in .*zip is 64 x 64 pixels .* expected 218 x 178",
        ),
        ("again/000005.jpg", FACES["000005.jpg"], r"two faces 000005\.jpg"),
    ],
)
def test_a_face_that_cannot_be_used_is_named(dataset, lists, name, content, match):
    zip_faces(lists, {**FACES, name: content})
    with pytest.raises(DataError, match=match):
        dataset.load()


def test_faces_of_other_names_are_refused(dataset, lists):
    zip_faces(lists, {"a.jpg": FACES["000001.jpg"]})
    with pytest.raises(DataError, match=r"list_attr_celeba\.txt.*000001\.jpg"):
        dataset.load()


def test_an_interrupted_conversion_goes_on_where_it_stopped(dataset, lists, monkeypatch):
    for path in lists.iterdir():
        check_file(path, dataset.publication.file(path.name))
    monkeypatch.setattr(pictures, "_PICTURES_PER_BLOCK", 4)
    monkeypatch.setattr("unbraid.datasets.image_store._SECONDS_BETWEEN_SAVES", -1.0)
    read = []

    def interrupted(source, members, framing):
        for block in pictures.decode_many(source, members, framing):
            read.append(len(members))
            if len(read) == 3:
                raise KeyboardInterrupt
            yield block

    monkeypatch.setattr("unbraid.datasets.published.celeba.decode_many", interrupted)
    with pytest.raises(KeyboardInterrupt):
        dataset.load()
    images = dataset.load()
    assert read == [20, 20, 20, 12, 12, 12]
    np.testing.assert_array_equal(images.pixels[:], np.stack([expected(number) for number in range(NUM_FACES)]))


def test_the_config_describes_the_images_before_they_are_read():
    sizes = {split: CelebA(split=split).num_images for split in ("all", "train", "validation", "test")}
    assert sizes == {"all": 202_599, "train": 162_770, "validation": 19_867, "test": 19_962}
    assert sum(sizes.values()) == 2 * 202_599
    assert CelebA(resolution=32).image_shape == (3, 32, 32)
    assert len(CelebA().factors) == 40


def test_without_a_crop_the_whole_photograph_is_squeezed(dataset):
    images = CelebA(root=dataset.root, crop=None, resolution=32).load()
    with Image.open(io.BytesIO(FACES[NAMES[3]])) as picture:
        squeezed = np.asarray(picture.resize((32, 32), Image.Resampling.BILINEAR)).transpose(2, 0, 1)
    np.testing.assert_array_equal(images.pixels[3], squeezed)
    assert CelebA(root=dataset.root, crop=None).store != dataset.store


@pytest.mark.parametrize(
    "wrong", [{"crop": 200}, {"crop": 32}, {"resolution": 4}, {"resolution": 178}, {"crop": None, "resolution": 179}]
)
def test_impossible_sizes_are_refused(wrong):
    with pytest.raises(SpecError, match="<= crop <="):
        CelebA(**wrong)
