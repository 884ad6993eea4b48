"""The robust gap: known answers, laws, and its kinship with MIG and JEMMIG."""

import dataclasses
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.metrics.test_mig import grid, latents, random_codes, rows
from unbraid.codes import Codes, Labels
from unbraid.errors import CodesError
from unbraid.information import quantised
from unbraid.information.quantised import Bins
from unbraid.metrics.jemmig import JEMMIG
from unbraid.metrics.mig import MIG
from unbraid.metrics.rmig import RMIG

ESTIMATORS = ("exact", "quantised", "means_histogram", "sampled")


# Known answers


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_one_latent_for_each_factor_scores_one_and_its_entropy(estimator):
    score = RMIG(estimator)(grid())
    assert score.value == pytest.approx(1, abs=1e-3)
    torch.testing.assert_close(score.tables["gap"], torch.tensor([4.0, 5.0]).log().double(), atol=1e-3, rtol=0)
    assert score.parts["unnormalised"].value == pytest.approx((math.log(4) + math.log(5)) / 2, abs=1e-3)
    assert score.per_factor == pytest.approx({"v": 1, "w": 1}, abs=1e-3)


def test_it_reads_100_bins_unless_told_otherwise():
    assert RMIG()(grid()).settings == {
        "estimator": "quantised",
        "num_bins": 100,
        "low": -4.0,
        "high": 4.0,
        "masses": "erf_edge",
    }


@pytest.mark.parametrize("estimator", ["exact", "quantised", "means_histogram"])
def test_with_the_same_estimator_it_is_mig(estimator):
    codes = random_codes(0)
    assert RMIG(estimator)(codes).value == pytest.approx(MIG(estimator)(codes).value, abs=1e-12)


def test_out_of_range_means_are_kept_by_edges_and_truncated_by_rectangles():
    """Means beyond 4 with a std of 0.3: their tails join the edge bins; the authors' rectangles see a slope and no
    more.
    """
    codes = grid(std=0.3)
    far = dataclasses.replace(codes, mean=codes.mean * 3)
    exact, edge, rectangle = (
        RMIG(**s)(far).per_factor["v"] for s in ({"estimator": "exact"}, {}, {"masses": "rectangle"})
    )
    assert edge == pytest.approx(exact, abs=1e-3)
    assert rectangle < edge + 1e-9


def test_deterministic_codes_on_the_edges_of_bins_score_one_in_float32(monkeypatch):
    """A hundred values, each at the lower edge of a bin of its own: many images are quantised in float32, which must
    not move them.
    """
    monkeypatch.setattr(quantised, "MAX_FLOAT64_MASSES", 0)
    mean = Bins(100).edges()[:-1, None]
    score = RMIG()(Codes(mean, torch.zeros_like(mean), factors=(Labels("v", torch.arange(100)),)))
    assert score.value == pytest.approx(1, abs=1e-6)  # sums of float32 masses


def test_a_single_latent_has_a_runner_up_of_zero():
    assert RMIG()(latents(grid(), [0])).per_factor == pytest.approx({"v": 1, "w": 0}, abs=1e-3)


# Laws


@settings(max_examples=6)
@given(
    seed=st.integers(0, 100),
    estimator=st.sampled_from(["exact", "quantised", "means_histogram"]),
    order=st.permutations(range(3)),
)
def test_score_ignores_the_order_of_latents_and_images(seed, estimator, order):
    codes = random_codes(seed)
    index = torch.randperm(30, generator=torch.Generator().manual_seed(seed)).repeat(2)
    assert RMIG(estimator)(rows(latents(codes, order), index)).value == pytest.approx(
        RMIG(estimator)(codes).value, abs=1e-9
    )


@settings(max_examples=6)
@given(seed=st.integers(0, 100), names=st.lists(st.integers(-100, 100), min_size=4, max_size=4, unique=True))
def test_score_ignores_signs_and_what_values_are_called(seed, names):
    codes = random_codes(seed)
    factors = tuple(dataclasses.replace(f, values=torch.tensor(names)[f.values]) for f in codes.factors)
    other = dataclasses.replace(codes, mean=-codes.mean, factors=factors)
    assert RMIG()(other).value == pytest.approx(RMIG()(codes).value, abs=1e-9)


@settings(max_examples=6)
@given(seed=st.integers(0, 100), estimator=st.sampled_from(ESTIMATORS))
def test_jemmig_and_rmig_add_up_to_the_joint_entropy(seed, estimator):
    """JEMMIG + RMIG = H(z, y), factor by factor, whatever the estimator."""
    codes = random_codes(seed)
    rmig, jemmig = RMIG(estimator)(codes), JEMMIG(estimator)(codes)
    top = rmig.tables["mutual_information"].argmax(dim=0)
    joint = rmig.tables["joint_entropy"].gather(0, top[None])[0]
    torch.testing.assert_close(rmig.tables["gap"] + jemmig.tables["jemmig"], joint)


def test_a_latent_without_information_changes_nothing_and_a_copy_takes_all():
    codes = grid()
    assert RMIG()(grid(num_noise=1)).value == pytest.approx(RMIG()(codes).value, abs=1e-12)
    assert RMIG()(latents(codes, [0, 1, 0, 1])).value == pytest.approx(0, abs=1e-12)


def test_a_factor_is_scored_where_it_is_known():
    codes = random_codes(4)
    known = torch.arange(30) % 2 == 0
    partly = dataclasses.replace(codes, factors=(dataclasses.replace(codes.factors[0], known=known), codes.factors[1]))
    found = RMIG()(partly).per_factor
    assert found["a"] == pytest.approx(RMIG()(rows(codes, known.nonzero()[:, 0])).per_factor["a"])
    assert found["b"] == pytest.approx(RMIG()(codes).per_factor["b"])


def test_a_constant_factor_is_undefined_and_not_averaged():
    codes = grid()
    with pytest.warns(UserWarning, match="still never vary"):
        score = RMIG()(dataclasses.replace(codes, factors=(*codes.factors, Labels("still", torch.full((20,), 7)))))
    assert math.isnan(score.per_factor["still"])
    assert score.parts["unnormalised"].value == pytest.approx(RMIG()(codes).parts["unnormalised"].value)
    assert score.interval is not None


def test_continuous_factors_are_refused_by_name():
    with pytest.raises(CodesError, match="angle"):
        RMIG()(dataclasses.replace(grid(), factors=(Labels("angle", torch.linspace(0, 1, 20)),)))
