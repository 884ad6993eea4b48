"""Folders of pictures, for the tests of reading them."""

import os

import numpy as np
from PIL import Image

GENERATOR = np.random.default_rng(3)


GRAY = GENERATOR.integers(0, 256, (6, 5, 7), dtype=np.uint8)


COLOR = GENERATOR.integers(0, 256, (6, 5, 7, 3), dtype=np.uint8)


def put(folder, images, suffix=".png", names=None):
    folder.mkdir(parents=True, exist_ok=True)
    for number, image in enumerate(images):
        path = folder / (f"{number:03}{suffix}" if names is None else names[number])
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(path)
        os.utime(path, (1e9, 1e9))
    return folder


def read(path):
    with Image.open(path) as picture:
        return picture.copy()


def with_labels(folder, *columns, header):
    rows = [
        ",".join(map(str, row))
        for row in zip(sorted(path.name for path in folder.glob("*.png")), *columns, strict=True)
    ]
    path = folder.parent / "labels.csv"
    path.write_text("\n".join([header, *rows]) + "\n")
    return str(path)
