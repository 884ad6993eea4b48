"""Appendix B: correlations of the labels themselves."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from unbraid import figures
from unbraid.data import CelebA, DSprites
from unbraid.data.dataset import Factor
from unbraid.data.grid import grid_rows
from unbraid.papers.calculation import Calculation
from unbraid.papers.item import Choice, Item
from unbraid.sampling import RandomSplit
from unbraid.studies.claims import Near, Within
from unbraid.studies.study_scores import StudyScores

_ALL, _TENTH, _FACES = "2D Shapes, all images", "2D Shapes, a tenth", "CelebA, all faces"
_BETWEEN = " and "
# Four standard errors of a correlation of that many independent pairs, 1 / sqrt(73,728) each.
_MOST_BY_CHANCE = 0.015


def _correlations(names: list[str], values: Int[Tensor, "image factor"]) -> Mapping[str, float]:
    """Returns the correlation of each two labels, and the largest of them in size."""
    matrix = np.corrcoef(values.double().numpy(), rowvar=False)
    pairs = {
        f"{one}{_BETWEEN}{other}": float(matrix[i, j])
        for i, one in enumerate(names)
        for j, other in enumerate(names)
        if i < j
    }
    return {
        "largest": max(map(abs, pairs.values())),
        **{f"correlation:{pair}": value for pair, value in pairs.items()},
    }


def _of_shapes(label: str, seed: int) -> Mapping[str, float]:
    factors = DSprites().factors
    values = torch.from_numpy(grid_rows(factors))
    if label == _TENTH:
        values = values[RandomSplit(0.9, seed, "test").rows(factors, values)]
    return _correlations(_names(factors), values)


def _of_faces(label: str, seed: int) -> Mapping[str, float]:
    images = CelebA().open()
    return _correlations(_names(CelebA().factors), images.values)


def _names(factors: tuple[Factor, ...]) -> list[str]:
    return [factor.name for factor in factors]


def _work(num_splits: int) -> Callable[[], Calculation]:
    claims = (
        Within("No two labels of 2D Shapes are correlated.", "largest", (_ALL,), high=1e-12),
        Near("Nor are they in a tenth of the images: at most 0.01 by chance.", "largest", _TENTH, 0.005, 0.005),
        Within(
            "In no tenth is a correlation beyond four standard errors.",
            *("largest", (_TENTH,), 0.0, _MOST_BY_CHANCE),
            is_control=True,
        ),
    )
    return lambda: Calculation(
        name="kumar2017-appendixb",
        cases={_ALL: (0,), _TENTH: tuple(range(num_splits))},
        metrics={"largest": None, "correlation": None},
        compute=_of_shapes,
        claims=claims,
    )


def _work_on_faces() -> Calculation:
    claim = Within("Attributes of faces go together, as factors of drawn shapes do not.", "largest", (_FACES,), 0.3)
    return Calculation(
        name="kumar2017-appendixb-celeba",
        cases={_FACES: (0,)},
        metrics={"largest": None, "correlation": None},
        compute=_of_faces,
        claims=(claim,),
        reads=(CelebA(),),
    )


def _draw(label: str) -> Callable[[StudyScores], Any]:
    """Returns what draws the matrix of one case."""

    def drawn(scores: StudyScores) -> Any:
        found = {n.of: n.value for n in scores.numbers if n.setting == label and n.metric == "correlation"}
        names = list(dict.fromkeys(name for pair in found for name in pair.split(_BETWEEN)))
        matrix = np.eye(len(names))
        for pair, value in found.items():
            i, j = (names.index(name) for name in pair.split(_BETWEEN))
            matrix[i, j] = matrix[j, i] = value
        return figures.heat_map(matrix, names, names, ends=(-1.0, 1.0), label="correlation")

    return drawn


APPENDIX_B = Item(
    id="kumar2017/appendixB",
    title="Correlations of the labels of 2D Shapes",
    claim="The labels themselves may be correlated, which correlations of latents with them must be read against.",
    work={"smoke": _work(2), "paper": _work(20)},
    data="dSprites, exact",
    seconds={"paper": 20},
    choices=(
        Choice("shape", "not stated", "counts by its number (0, 1, 2), as it must have in the paper"),
        Choice("images", "not stated", "all of them, and 20 random tenths, the size of a test part"),
    ),
    draw=_draw(_ALL),
    trains=False,
    notes=(
        "Of the appendix only the heading can be read. On the whole grid every pair of values occurs equally often, "
        "so all correlations are 0; in a tenth of the images they are what chance makes of 73,728 pairs. Orientation "
        "is an angle and shape a name: a linear correlation with them has no meaning for any model."
    ),
)

APPENDIX_B_CELEBA = Item(
    id="kumar2017/appendixB-celeba",
    title="Correlations of the attributes of CelebA",
    claim=APPENDIX_B.claim,
    work={"smoke": _work_on_faces, "paper": _work_on_faces},
    data="CelebA",
    seconds={"paper": 300},
    choices=(Choice("faces", "not stated", "all 202,599"),),
    draw=_draw(_FACES),
    trains=False,
    needs="the faces and the list of attributes of CelebA",
    notes="Of the appendix only the heading can be read, so there is no number to compare with.",
)
