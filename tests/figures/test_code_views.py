"""Codes against factors, and lines of settings."""

import numpy as np
import pytest
import torch

from unbraid import Codes, figures
from unbraid._internal.table import Table
from unbraid.codes import CodesOptions
from unbraid.errors import UnbraidError
from unbraid.figures.lines import median_lines

pytest.importorskip("matplotlib")

FACTORS = np.array([[i, j, 0] for i in range(4) for j in range(3)])
CODES = Codes.from_arrays(
    FACTORS[:, :2].astype(float),
    np.ones((12, 2)),
    factors=FACTORS,
    options=CodesOptions(factor_names=["across", "down", "nothing"]),
)


def test_the_mean_of_a_latent_follows_its_factor_and_no_other():
    panels = figures.mean_code_curves(CODES)
    assert len(panels) == 4  # two latents, and the two factors that vary
    rows = [row for row in figures.data_of(panels[0]) if (row["latent"], row["factor"]) == (0, "across")]
    assert [(row["value"], row["mean"], row["std"]) for row in rows] == [(k, k, 0.0) for k in range(4)]
    others = [row for row in figures.data_of(panels[0]) if (row["latent"], row["factor"]) == (0, "down")]
    assert {row["mean"] for row in others} == {1.5}


def test_a_map_has_every_image_once_for_each_factor():
    panels = figures.code_map(CODES, (0, 1))
    assert [axes.get_title() for axes in panels] == ["across", "down"]
    assert len(figures.data_of(panels[0])) == 24


def test_codes_without_factors_are_refused():
    with pytest.raises(UnbraidError, match="factor that varies"):
        figures.code_map(Codes.from_arrays(np.eye(3), np.ones((3, 3))), (0, 1))


@pytest.mark.parametrize(
    ("draw", "named"),
    [
        (lambda: figures.code_map(CODES, (0, 1), num_images=0), "got 0"),
        (lambda: figures.code_map(CODES, (0, 99)), "99"),
        (lambda: figures.mean_code_curves(CODES, [99]), "99"),
        (lambda: figures.mean_histograms([0.0, 1.0]), r"\(2,\)"),
    ],
)
def test_impossible_arguments_are_refused(draw, named):
    with pytest.raises(UnbraidError, match=named):
        draw()


def test_histograms_of_a_tensor_with_a_gradient():
    means = torch.tensor([[0.0], [1.0]], requires_grad=True)
    assert sum(row["images"] for row in figures.data_of(figures.mean_histograms(means))) == 2


def test_a_setting_is_a_line_through_its_medians():
    rows = [
        {"setting": name, "family": "vae", "step": step, "rate": float(step + seed)}
        for name in ("a", "b")
        for step in (1, 2)
        for seed in (0, 1, 5)
    ]
    axes = median_lines(Table.from_records(rows), "step", "rate")
    assert [(row["setting"], row["step"], row["rate"]) for row in figures.data_of(axes)] == [
        *(("a", 1.0, 2.0), ("a", 2.0, 3.0), ("b", 1.0, 2.0), ("b", 2.0, 3.0))
    ]
    assert len({line.get_alpha() for line in axes.lines}) == 2
