import io
import itertools
import tarfile

import numpy as np
import pytest
import torch
from PIL import Image

from tests.datasets.formats.test_mat import MASK, header, packed, variable
from tests.told import told_to
from unbraid.datasets import Cars3D, Factor
from unbraid.datasets.published import cars3d
from unbraid.errors import DataError

ARCHIVE = "nips2015-analogy-data.tar.gz"
NAMES = ["car_004_mesh", "car_001_mesh", "car_199_mesh"]
"""In the order of the list, which is not that of the alphabet."""


def car(number):
    """The two arrays of a car: every axis has its say in every pixel, so that no two can be confused."""
    height, width, channel, azimuth, elevation = np.ogrid[:128, :128, :3, :24, :4]
    im = (
        height
        + 2 * width
        + 80 * channel
        + 5 * azimuth
        + 37 * elevation
        + 11 * number
        + height * width // (40 + azimuth + number)
    )
    return im.astype(np.uint8), np.zeros((128, 128, 24, 4), dtype=np.uint8)


def mat_file(im, mask, pack=packed):
    return header() + pack(variable("im", im)) + pack(variable("mask", mask, flags=MASK))


IM, NO_MASK = np.zeros((128, 128, 3, 24, 4), dtype=np.uint8), np.zeros((2, 2), dtype=np.uint8)


@pytest.fixture(scope="module")
def cars():
    return [car(number)[0] for number in range(3)]


@pytest.fixture(scope="module")
def official():
    """The names and contents of the files in the archive, with two others that are none of ours."""
    files = {f"data/cars/{name}.mat": mat_file(*car(number)) for number, name in enumerate(NAMES)}
    files["data/cars/list.txt"] = "".join(f"{name}\n" for name in NAMES).encode()
    files["data/shapes48.mat"] = header()
    files["data/sprites/sprites_1.mat"] = header()
    return dict(sorted(files.items()))


def tar(files):
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz", compresslevel=1) as archive:
        for name, content in files.items():
            about = tarfile.TarInfo(name)
            about.size = len(content)
            archive.addfile(about, io.BytesIO(content))
    return stream.getvalue()


def put(files, folder):
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


@pytest.fixture
def put_archive(tmp_path, any_checksum):
    any_checksum(Cars3D)

    def put_files(files):
        put({ARCHIVE: tar(files)}, tmp_path)
        return Cars3D(root=str(tmp_path), resolution=128)

    return put_files


@pytest.mark.slow
@pytest.mark.parametrize("form", ["archive", "folder"])
def test_cars_come_in_the_order_of_the_list_elevation_by_elevation(tmp_path, official, cars, put_archive, form):
    if form == "archive":
        dataset = put_archive(official)
    else:
        put(official, tmp_path)
        dataset = Cars3D(root=str(tmp_path), resolution=128)
    images = dataset.load()
    assert images.values.dtype == torch.int64
    assert images.values.tolist() == [list(values) for values in itertools.product(range(4), range(24), range(3))]
    for pixels, (elevation, azimuth, identity) in zip(images.pixels.numpy(), images.values.tolist(), strict=True):
        np.testing.assert_array_equal(pixels.transpose(1, 2, 0), cars[identity][:, :, :, azimuth, elevation])


def test_smaller_images_are_what_pillow_makes_with_its_lanczos_filter(tmp_path, official, cars):
    put({name: official[name] for name in ("data/cars/car_001_mesh.mat",)}, tmp_path)
    images = Cars3D(root=str(tmp_path)).load()
    assert images.pixels.shape == (96, 3, 64, 64)
    for pixels, (elevation, azimuth, _) in zip(images.pixels.numpy(), images.values.tolist(), strict=True):
        picture = Image.fromarray(np.ascontiguousarray(cars[1][:, :, :, azimuth, elevation]))
        np.testing.assert_array_equal(
            pixels.transpose(1, 2, 0), np.asarray(picture.resize((64, 64), Image.Resampling.LANCZOS))
        )


@pytest.fixture
def tiny_cars(monkeypatch):
    """Renders of 2 by 2 pixels pass for those of 128 by 128, where many files are read."""
    monkeypatch.setattr(cars3d, "_SHAPE", (2, 2, 3, 24, 4))


def tiny_car(brightness):
    return mat_file(np.full((2, 2, 3, 24, 4), brightness, dtype=np.uint8), NO_MASK)


@pytest.mark.usefixtures("tiny_cars")
@pytest.mark.parametrize(
    ("listed", "expected"),
    [
        (None, [1, 4, 199]),
        (b"car_199_mesh\ncar_001_mesh\ncar_004_mesh\n", [199, 1, 4]),
        (b"car_199_mesh\r\n\r\ncar_004_mesh\r\ncar_001_mesh", [199, 4, 1]),
        (b"car_500_mesh\ncar_199_mesh\ncar_199_mesh\n", [199, 1, 4]),
        (b"\xff\xfe\0", [1, 4, 199]),
    ],
)
def test_the_list_numbers_the_cars_that_are_there_and_the_others_follow_by_name(
    tmp_path, put_archive, listed, expected
):
    files = {f"data/cars/car_{number:03}_mesh.mat": tiny_car(number) for number in (4, 1, 199)}
    files |= {} if listed is None else {"data/cars/list.txt": listed}
    put(files, tmp_path / "unpacked")
    for dataset in (put_archive(files), Cars3D(root=str(tmp_path / "unpacked"))):
        assert dataset.load().pixels[:3, 0, 0, 0].tolist() == expected


@pytest.mark.parametrize("place", ["", "cars", "data/cars", "cars3d", "cars3d/cars", "cars3d/data/cars"])
def test_cars_are_found_in_every_usual_folder(tmp_path, place):
    put({"car_001_mesh.mat": b"", "other.mat": b""}, tmp_path / place)
    assert Cars3D(root=str(tmp_path)).find() == (tmp_path / place,)


def test_the_archive_is_preferred_because_it_can_be_verified(tmp_path):
    put({"car_001_mesh.mat": b"", ARCHIVE: b""}, tmp_path)
    assert Cars3D(root=str(tmp_path)).find() == (tmp_path / ARCHIVE,)


def test_a_folder_of_other_cars_is_not_taken_for_these(tmp_path):
    put({"cars/cars_annos.mat": b"", "cars/list.txt": b""}, tmp_path)
    assert Cars3D(root=str(tmp_path)).find() is None


def test_a_set_with_fewer_cars_says_so_once_it_is_converted(tmp_path, official):
    put(official, tmp_path)
    dataset = Cars3D(root=str(tmp_path))
    assert dataset.num_images == 17_568
    assert dataset.factors == (Factor("elevation", 4), Factor("azimuth", 24), Factor("identity", 183, ordered=False))
    images = dataset.open()
    assert dataset.num_images == len(images) == 288
    assert (
        dataset.factors
        == images.factor_table
        == (Factor("elevation", 4), Factor("azimuth", 24), Factor("identity", 3, ordered=False))
    )


def test_the_config_describes_the_images_before_they_are_read():
    assert Cars3D().image_shape == (3, 64, 64)
    assert Cars3D(resolution=128).image_shape == (3, 128, 128)


def test_a_conversion_goes_on_from_any_image(official, put_archive):
    dataset = put_archive(official)
    plan = dataset.plan(dataset.find())
    everything = np.concatenate(list(plan.blocks(0)))
    for start in (1, 287):
        np.testing.assert_array_equal(np.concatenate(list(plan.blocks(start))), everything[start:])


def test_whoever_watches_sees_the_cars_go_by(official, put_archive):
    seen = []
    with told_to(seen):
        put_archive(official).open()
    assert [how_far for how_far in seen if how_far[0] == "reading Cars3D"] == [
        ("reading Cars3D", done, 3, "cars") for done in (1, 2, 3)
    ]


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (b"", "level 5"),
        (mat_file(IM, NO_MASK)[:2000], "has .* bytes; expected"),
        (header() + packed(variable("image", IM)), "'im'.*'image'"),
        (mat_file(IM.transpose(0, 1, 2, 4, 3), NO_MASK), r"shape \(128, 128, 3, 4, 24\)"),
    ],
    ids=["empty", "cut", "key", "axes"],
)
def test_a_car_in_a_folder_that_is_not_what_it_should_be_is_refused_with_its_name(tmp_path, official, content, match):
    put(official | {"data/cars/car_004_mesh.mat": content}, tmp_path)
    dataset = Cars3D(root=str(tmp_path))
    with pytest.raises(DataError, match=rf"{tmp_path}/data/cars/car_004_mesh\.mat.*{match}"):
        dataset.load()
    assert not dataset.is_converted


def test_a_car_that_would_fill_the_memory_is_refused_before_it_is_read(tmp_path):
    put({"car_001_mesh.mat": b""}, tmp_path)
    with (tmp_path / "car_001_mesh.mat").open("r+b") as stream:
        stream.truncate(2**40)
    with pytest.raises(DataError, match=r"car_001_mesh\.mat has 1,099,511,627,776"):
        Cars3D(root=str(tmp_path)).load()
