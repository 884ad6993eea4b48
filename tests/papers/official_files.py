"""Small files in the official formats of data that only a user can have."""

from pathlib import Path

import numpy as np

from tests.data.published.test_cars3d import car, mat_file
from tests.data.published.test_celeba import attribute_list, face, jpeg
from tests.data.published.test_chairs3d import MODELS, lay_out


def put_cars(folder: Path, count: int = 2) -> None:
    """Writes the folder of .mat files of Cars3D, of so many cars."""
    place = folder / "cars3d" / "data" / "cars"
    place.mkdir(parents=True)
    for number in range(count):
        (place / f"car_{number:03}_mesh.mat").write_bytes(mat_file(*car(number)))


def put_faces(folder: Path, count: int = 80) -> None:
    """Writes the folder of pictures of CelebA, its list of attributes and its partition, of so many faces."""
    place = folder / "celeba" / "img_align_celeba"
    place.mkdir(parents=True)
    names = [f"{number + 1:06}.jpg" for number in range(count)]
    for number, name in enumerate(names):
        (place / name).write_bytes(jpeg(face(number % 20)))
    values = np.random.default_rng(0).integers(0, 2, (count, 40))
    (folder / "celeba" / "list_attr_celeba.txt").write_text(attribute_list(names, values))
    parts = [min(2, 5 * number // (4 * count)) for number in range(count)]
    told = "".join(f"{name} {part}\n" for name, part in zip(names, parts, strict=True))
    (folder / "celeba" / "list_eval_partition.txt").write_text(told)


def put_chairs(folder: Path) -> None:
    """Writes the folder of renders of 3D Chairs, of five models, and the list that selects all of them."""
    lay_out(folder)
    (folder / "models_809.txt").write_text("\n".join(MODELS))
