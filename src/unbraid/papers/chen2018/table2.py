"""Table 2: the data sets and the factors that are scored."""

import math
from collections.abc import Mapping

import numpy as np
from scipy import stats

from unbraid.data import BaselFaces, DSprites, ShadedFaces
from unbraid.data.dataset import FactorDataset
from unbraid.data.grid import grid_rows
from unbraid.papers.calculation import Calculation
from unbraid.papers.item import Item, Printed
from unbraid.studies.claims import Within

_FACES = {"azimuth": 21, "elevation": 11, "lighting": 11}
_DRAWN = "shaded faces, our stand-in"
_SIZES = {
    "dSprites": {"scale": 6, "orientation": 40, "position_x": 32, "position_y": 32},
    "3D faces": _FACES,
    _DRAWN: _FACES,
}
_IMAGES = {"dSprites": 737_280, "3D faces": 127_050, _DRAWN: 127_050}


def _dataset(label: str) -> FactorDataset:
    """Returns a data set. That of the paper's faces says what its file holds; the file is not opened."""
    return {"dSprites": DSprites(), "3D faces": BaselFaces(), _DRAWN: ShadedFaces()}[label]


def _compute(label: str, seed: int) -> Mapping[str, float]:
    """Returns the number of images, and the number of values and the entropy of each factor."""
    dataset = _dataset(label)
    sizes = {factor.name: factor.size for factor in dataset.factors if factor.name in _SIZES[label]}
    columns = dict(zip((factor.name for factor in dataset.factors), grid_rows(dataset.factors).T, strict=True))
    return {
        "images": dataset.num_images,
        **{f"values:{name}": size for name, size in sizes.items()},
        **{f"entropy:{name}": float(stats.entropy(np.bincount(columns[name]))) for name in sizes},
    }


def _work() -> Calculation:
    sizes = [
        Within(
            f"{name} of {label} has {size} values.",
            *(f"values:{name}", (label,), size, size),
            is_control=label == _DRAWN,
        )
        for label, factors in _SIZES.items()
        for name, size in factors.items()
    ]
    entropies = [
        Within(
            f"{name} of {label} has an entropy of log {size}: its values are equally frequent.",
            *(f"entropy:{name}", (label,), math.log(size) - 1e-4, math.log(size) + 1e-4),
            is_control=label == _DRAWN,
        )
        for label, factors in _SIZES.items()
        for name, size in factors.items()
    ]
    images = [
        Within(f"{label} has {count:,} images.", "images", (label,), count, count, is_control=label == _DRAWN)
        for label, count in _IMAGES.items()
    ]
    return Calculation(
        name="chen2018-table2",
        cases=dict.fromkeys(_SIZES, (0,)),
        metrics={"images": None, "values": None, "entropy": None},
        compute=_compute,
        claims=(*sizes, *entropies, *images),
    )


TABLE2 = Item(
    id="chen2018/table2",
    title="The data sets and the factors that are scored",
    claim="dSprites varies scale, rotation and position; the faces vary azimuth, elevation and lighting.",
    work={"smoke": _work, "paper": _work},
    data="dSprites; 3D faces, of which no file is read",
    seconds={"paper": 1},
    printed=tuple(
        Printed(label, f"values:{name}", size)
        for label, factors in _SIZES.items()
        if label != _DRAWN
        for name, size in factors.items()
    ),
    trains=False,
    notes=(
        "dSprites is drawn here, and counted. Of the faces of the paper, renders of the Basel Face Model that only "
        "their owner can give, factors and number of images are those of the file as it is published: the file is "
        "checked against them when it is opened, which is not done here. The faces that stand in for them in other "
        "items are drawn in the same grid; that they are is a control."
    ),
)
