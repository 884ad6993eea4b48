"""Appendix B of Kumar et al.: correlations of the labels of 2D Shapes and of CelebA."""

from typing import Any

import numpy as np
import torch

from reproductions.item import Experiment, Scale
from unbraid import DSprites, figures
from unbraid.datasets import CelebA
from unbraid.datasets.subsets import RandomSplit

_BETWEEN = " and "


def compute_correlations(label: str, seed: int) -> dict[str, float]:
    """Returns the correlation of each two labels, and the largest of them in size."""
    dataset: Any = CelebA() if label == _FACES else DSprites()
    names = [factor.name for factor in dataset.factors]
    values = dataset.open().values if label == _FACES else torch.cartesian_prod(*(torch.arange(f.size) for f in dataset.factors))
    if label == _TENTH:
        values = values[RandomSplit(0.9, seed, "test").rows(dataset.factors, values)]
    matrix = np.corrcoef(values.double().numpy(), rowvar=False)
    pairs = {f"{a}{_BETWEEN}{b}": float(matrix[i, j]) for i, a in enumerate(names) for j, b in enumerate(names) if i < j}
    return {"largest": max(map(abs, pairs.values())), **{f"correlation:{pair}": value for pair, value in pairs.items()}}


_WHOLE, _TENTH, _FACES = "2D Shapes, all images", "2D Shapes, a tenth", "CelebA, all faces"


def draw_correlations(scores: Any) -> Any:
    label = scores.settings[0]
    found = {number.of: number.value for number in scores.numbers if number.setting == label and number.of}
    names = list(dict.fromkeys(name for pair in found for name in pair.split(_BETWEEN)))
    matrix = np.eye(len(names))
    for pair, value in found.items():
        i, j = (names.index(name) for name in pair.split(_BETWEEN))
        matrix[i, j] = matrix[j, i] = value
    return figures.heat_map(matrix, names, names, ends=(-1.0, 1.0), label="correlation")


def correlations_experiment(data: str, scale: Scale) -> Experiment:
    cases = {_FACES: (0,)} if data == "celeba" else {_WHOLE: (0,), _TENTH: tuple(range(2 if scale == "smoke" else 20))}
    return Experiment(compute=compute_correlations, cases=cases, reads=(CelebA(),) if data == "celeba" else ())
