"""Correlation matrices: known answers, invariances, and what they refuse."""

import dataclasses
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from unbraid.codes import Codes, Labels
from unbraid.errors import SpecError
from unbraid.information.posteriors import Draws
from unbraid.metrics.correlations import Correlations
from unbraid.metrics.reductions.statistics import Statistics


def random_codes(seed, num_images=60, num_latents=3):
    generator = torch.Generator().manual_seed(seed)
    mean = torch.randn(num_images, num_latents, dtype=torch.float64, generator=generator)
    mean[:, 1] += mean[:, 0]
    std = torch.exp(torch.randn(num_images, num_latents, dtype=torch.float64, generator=generator) - 1)
    return Codes(mean, std, factors=(Labels("a", (4 * mean[:, 0]).long()), Labels("b", mean[:, 2])))


# Known answers


def test_it_is_what_numpy_computes():
    codes = random_codes(0)
    score = Correlations()(codes)
    expected = np.corrcoef(codes.mean.numpy(), rowvar=False)
    np.testing.assert_allclose(score.tables["deterministic"], expected, atol=1e-12)
    assert score.value == pytest.approx(np.abs(expected[[0, 0, 1], [1, 2, 2]]).mean())
    assert score.parts["largest"].value == pytest.approx(np.abs(expected[[0, 0, 1], [1, 2, 2]]).max())
    assert score.per_latent[2] == pytest.approx(np.abs(expected[2, :2]).mean())
    with_a = np.corrcoef(codes.mean.numpy(), codes.factors[0].values.numpy(), rowvar=False)[:3, 3]
    np.testing.assert_allclose(score.tables["latent_factor"][:, 0], with_a, atol=1e-12)
    assert float(score.tables["latent_factor"][2, 1]) == pytest.approx(1)


def test_given_draws_are_used():
    codes = random_codes(1)
    z = codes.mean.flip(0) ** 2
    score = Correlations().of(Statistics(codes, draws=Draws.of(z, torch.arange(60))))
    np.testing.assert_allclose(score.tables["stochastic"], np.corrcoef(z.numpy(), rowvar=False), atol=1e-12)


def test_noise_washes_correlations_out():
    """Means (t, t) of variance 1 under independent noise of variance 1: the draws correlate by 1 / (1 + 1)."""
    t = torch.randn(20_000, 1, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    score = Correlations()(Codes(t.expand(-1, 2), torch.ones(20_000, 2, dtype=torch.float64)))
    assert score.value == pytest.approx(1)
    assert score.parts["stochastic"].value == pytest.approx(0.5, abs=0.03)


def test_without_noise_the_draws_are_the_means():
    codes = dataclasses.replace(random_codes(2), std=torch.zeros(60, 3, dtype=torch.float64))
    tables = Correlations()(codes).tables
    torch.testing.assert_close(tables["stochastic"], tables["deterministic"])


def test_correlated_posteriors_are_drawn_as_such():
    covariance = torch.tensor([[1.0, 0.8], [0.8, 1.0]], dtype=torch.float64).expand(5000, 2, 2)
    score = Correlations()(Codes(torch.zeros(5000, 2, dtype=torch.float64), covariance=covariance))
    assert score.parts["stochastic"].value == pytest.approx(0.8, abs=0.03)


def test_draws_alone_are_correlated_as_they_are():
    samples = torch.randn(4, 50, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    score = Correlations()(Codes.from_arrays(samples=samples))
    np.testing.assert_allclose(
        score.tables["stochastic"], np.corrcoef(samples.reshape(200, 2).numpy(), rowvar=False), atol=1e-12
    )


def test_means_alone_have_no_stochastic_table():
    score = Correlations()(dataclasses.replace(random_codes(3), std=None))
    assert set(score.tables) == {"deterministic", "latent_factor"}
    assert set(score.parts) == {"largest"}


def test_without_factors_there_is_no_table_of_them():
    assert "latent_factor" not in Correlations()(dataclasses.replace(random_codes(3), factors=())).tables


# Laws


@settings(max_examples=8)
@given(seed=st.integers(0, 100), scale=st.floats(0.01, 100), sign=st.sampled_from([-1, 1]))
def test_rescaling_and_flipping_a_latent_changes_no_score(seed, scale, sign):
    codes = random_codes(seed)
    factor = torch.tensor([sign * scale, 1.0, 1.0], dtype=torch.float64)
    moved = dataclasses.replace(codes, mean=codes.mean * factor + 3, std=codes.std * factor.abs())
    assert Correlations()(moved).value == pytest.approx(Correlations()(codes).value)


@settings(max_examples=8)
@given(seed=st.integers(0, 100), order=st.permutations(range(3)))
def test_the_order_of_latents_does_not_matter(seed, order):
    codes = random_codes(seed)
    shuffled = dataclasses.replace(codes, mean=codes.mean[:, order], std=codes.std[:, order])
    one, two = Correlations()(shuffled), Correlations()(codes)
    assert one.value == pytest.approx(two.value)
    torch.testing.assert_close(one.tables["deterministic"], two.tables["deterministic"][order][:, order])


@settings(max_examples=8)
@given(seed=st.integers(0, 100))
def test_the_value_lies_in_its_interval_and_bounds(seed):
    score = Correlations()(random_codes(seed, num_images=10))
    low, high = score.interval
    assert 0 <= low <= score.value <= high <= 1


def test_an_uncorrelated_grid_scores_zero_with_room_above():
    """Another sample of the grid would not be free of correlations: the interval must not be a point."""
    a, b = (part.flatten().double() for part in torch.meshgrid(torch.arange(5), torch.arange(4), indexing="ij"))
    score = Correlations()(Codes(torch.stack([a, b], dim=1)))
    assert score.value == pytest.approx(0)
    assert score.interval[1] > 0.1


def test_the_interval_covers_the_truth_in_most_samples():
    generator = torch.Generator().manual_seed(0)
    covered = 0
    for _ in range(40):
        x = torch.randn(200, 2, dtype=torch.float64, generator=generator)
        x[:, 1] = 0.6 * x[:, 0] + 0.8 * x[:, 1]
        low, high = Correlations()(Codes(x)).interval
        covered += low <= 0.6 <= high
    assert covered >= 34


def test_float32_scores_the_same():
    codes = random_codes(6)
    single = dataclasses.replace(codes, mean=codes.mean.float(), std=codes.std.float())
    assert Correlations()(single).value == pytest.approx(Correlations()(codes).value, abs=1e-6)


# Edges, and what it refuses


def test_a_latent_that_never_varies_counts_as_uncorrelated_and_is_named():
    codes = random_codes(7)
    still = dataclasses.replace(codes, mean=torch.cat([codes.mean, torch.full((60, 1), 0.3)], dim=1), std=None)
    score = Correlations()(still)
    assert score.tables["deterministic"][3].tolist() == [0, 0, 0, 1]
    assert score.value == pytest.approx(Correlations()(codes).value / 2)
    assert "latents [3]" in score.notes[0]


def test_a_single_latent_has_no_pair():
    score = Correlations()(Codes(torch.arange(5.0)[:, None]))
    assert math.isnan(score.value)
    assert score.interval is None
    assert score.tables["deterministic"].tolist() == [[1.0]]


def test_factors_without_order_are_named():
    codes = dataclasses.replace(random_codes(8), factors=(Labels("shape", torch.arange(60) % 3, ordered=False),))
    score = Correlations()(codes)
    assert score.tables["latent_factor"].isnan().all()
    assert "shape" in score.notes[0]


# Dead latents, and values that are mere names


def with_dead_latents(codes):
    """Two more latents, whose means are tiny functions of the first: dead, and correlated at 1."""
    tiny = 1e-4 * codes.mean[:, :1]
    return dataclasses.replace(
        codes,
        mean=torch.cat([tiny, codes.mean, -tiny], dim=1),
        std=torch.nn.functional.pad(codes.std, (1, 1), value=1.0),
    )


def test_dead_latents_correlate_strongly_and_can_be_left_out():
    live = random_codes(9)
    codes, own = with_dead_latents(live), Correlations()(live)
    assert Correlations()(codes).parts["largest"].value == pytest.approx(1)
    score = Correlations(min_std=0.05)(codes)
    assert score.value == pytest.approx(own.value)
    assert score.interval == pytest.approx(own.interval)
    assert score.parts["num_active"].value == 3
    np.testing.assert_allclose(score.tables["deterministic"][1:4, 1:4], own.tables["deterministic"], atol=1e-12)
    np.testing.assert_allclose(score.tables["latent_factor"][1:4], own.tables["latent_factor"], atol=1e-12)
    for name, table in score.tables.items():
        assert table[0].isnan().all(), name
        assert table[4].isnan().all(), name
    assert math.isnan(score.per_latent[0])
    assert score.per_latent[1:4] == pytest.approx(own.per_latent)
    assert "[0, 4]" in score.notes[-1]


def test_a_code_without_live_latents_has_no_correlations():
    codes = random_codes(10)
    score = Correlations(min_std=0.05)(dataclasses.replace(codes, mean=1e-3 * codes.mean))
    assert math.isnan(score.value)
    assert score.parts["num_active"].value == 0
    assert all(table.isnan().all() for table in score.tables.values())
    [note] = score.notes
    assert "[0, 1, 2]" in note
    assert "0.05" in note


def test_the_std_of_means_is_weighted():
    mean = torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], dtype=torch.float64)
    codes = Codes(mean, weights=torch.tensor([1.0, 1.0, 0.0]))
    assert Correlations(min_std=0.4)(codes).parts["num_active"].value == 1
    assert Correlations(min_std=0.4)(Codes(mean)).parts["num_active"].value == 2


def test_names_count_by_their_numbers_where_asked():
    codes = dataclasses.replace(random_codes(8), factors=(Labels("shape", torch.arange(60) % 3, ordered=False),))
    score = Correlations(unordered="numbered")(codes)
    expected = np.corrcoef(codes.mean.numpy(), np.arange(60) % 3, rowvar=False)[:3, 3]
    np.testing.assert_allclose(score.tables["latent_factor"][:, 0], expected, atol=1e-12)
    assert score.notes == ()


@pytest.mark.parametrize("min_std", [-0.1, math.nan, math.inf])
def test_a_std_that_cannot_be_is_refused(min_std):
    with pytest.raises(SpecError, match="expected 0 or more"):
        Correlations(min_std=min_std)
