"""Tables as colors, and histograms."""

import numpy as np
import pytest
import torch
from scipy import stats

pytest.importorskip("matplotlib")

from tests.figures.made_runs import made_runs
from unbraid.codes import Codes, Labels
from unbraid.errors import UnbraidError
from unbraid.figures import (
    data_of,
    heat_map,
    joint_tables,
    latent_factor_map,
    latent_latent_map,
    mean_histograms,
    metric_correlation,
)

MEAN = torch.tensor(np.random.default_rng(0).normal(size=(50, 3)))
SCALE = (4 * torch.sigmoid(MEAN[:, 0])).long()
KNOWN = torch.arange(50) % 5 > 0
CODES = Codes(
    mean=MEAN,
    factors=(
        Labels("scale", SCALE),
        Labels("angle", MEAN[:, 1] ** 3, known=KNOWN),
        Labels("shape", SCALE, ordered=False),
        Labels("constant", torch.zeros(50)),
    ),
)


def colors_of(axes):
    return np.asarray(axes.images[0].get_array())


def test_a_heat_map_shows_and_keeps_its_numbers():
    axes = heat_map([[0.0, 0.5], [np.nan, 1.0]], ["a", "b"], ["c", "d"], label="share")
    assert colors_of(axes)[0].tolist() == [0.0, 0.5]
    assert data_of(axes)["value"][:2] == [0.0, 0.5]
    assert data_of(axes)["row"] == ["a", "a", "b", "b"]
    assert [text.get_text() for text in axes.texts] == ["0.00", "0.50", "1.00"]
    with pytest.raises(UnbraidError, match="row and column"):
        heat_map([[1.0]], ["a", "b"], ["c"])


def test_latents_by_factors_is_their_rank_correlation():
    axes = latent_factor_map(CODES)
    assert [text.get_text() for text in axes.get_xticklabels()] == ["scale", "angle"]
    assert [text.get_text() for text in axes.get_yticklabels()] == ["z0", "z1", "z2"]
    expected = abs(stats.spearmanr(MEAN[:, 2], SCALE).statistic)
    assert colors_of(axes)[2, 0] == pytest.approx(expected)
    known = stats.spearmanr(MEAN[KNOWN, 2], MEAN[KNOWN, 1]).statistic
    assert colors_of(axes)[2, 1] == pytest.approx(abs(known))
    assert colors_of(axes)[1, 1] == pytest.approx(1)


def test_a_table_of_your_own_is_drawn_as_it_is():
    table = [[1.0, 0.25], [0.5, 2.0]]
    assert colors_of(latent_factor_map(table, ["scale", "shape"])).tolist() == table
    assert colors_of(latent_latent_map(table)).tolist() == table


def test_codes_without_a_factor_that_has_an_order_are_refused():
    with pytest.raises(UnbraidError, match="factor that varies"):
        latent_factor_map(Codes(mean=MEAN))


def test_latents_by_latents_is_their_rank_correlation():
    assert colors_of(latent_latent_map(CODES)) == pytest.approx(abs(stats.spearmanr(MEAN).statistic))


def test_histograms_count_every_image():
    axes = mean_histograms(CODES, num_bins=8, span=1.0)
    data = data_of(axes)
    for latent in range(3):
        counts = [row["images"] for row in data if row["latent"] == f"z{latent}"]
        assert sum(counts) == 50
        expected, _ = np.histogram(MEAN[:, latent].clip(-1, 1), 8, (-1, 1))
        assert counts == expected.tolist()
    assert len(axes.patches) == 3


def test_agreement_of_metrics_is_positive_where_lower_is_better():
    axes = metric_correlation(made_runs(), ["mig", "jemmig", "rate"], lower_is_better={"jemmig"})
    assert colors_of(axes)[0, 1] == pytest.approx(1)
    assert [text.get_text() for text in axes.get_xticklabels()] == ["mig", "jemmig ↓", "rate"]
    with pytest.raises(UnbraidError, match="no column 'sap'"):
        metric_correlation(made_runs(), ["mig", "sap"])


def test_designs_lie_side_by_side_on_one_scale():
    designs = {"uniform": np.full((2, 3), 1 / 6), "diagonal": np.eye(2, 3) / 2}
    panels = joint_tables(designs, ("scale", "position"))
    assert [axes.get_title() for axes in panels] == list(designs)
    for axes, table in zip(panels, designs.values(), strict=True):
        assert colors_of(axes).tolist() == table.tolist()
        assert axes.images[0].get_clim() == (0, 0.5)
    data = data_of(panels[0])
    assert sum(data["probability"]) == pytest.approx(2)
    with pytest.raises(UnbraidError, match="'one'"):
        joint_tables({"one": np.ones(3)}, ("scale", "position"))
