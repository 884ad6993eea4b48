"""The robust gap: known answers, laws, and its kinship with MIG and JEMMIG."""

import dataclasses
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.metrics.test_mig import grid, latents, random_codes
from unbraid.codes import Codes, Labels
from unbraid.information import quantized
from unbraid.information.quantized import Bins
from unbraid.metrics.estimators import Exact, MeansHistogram, Quantized, Sampled
from unbraid.metrics.jemmig import JEMMIG
from unbraid.metrics.mig import MIG
from unbraid.metrics.rmig import RMIG

ESTIMATORS = (Exact(), Quantized(), MeansHistogram(), Sampled())


# Known answers


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_one_latent_for_each_factor_scores_one_and_its_entropy(estimator):
    score = RMIG(estimator)(grid())
    assert score.value == pytest.approx(1, abs=1e-3)
    torch.testing.assert_close(score.tables["gap"], torch.tensor([4.0, 5.0]).log().double(), atol=1e-3, rtol=0)
    assert score.parts["unnormalized"].value == pytest.approx((math.log(4) + math.log(5)) / 2, abs=1e-3)
    assert score.per_factor == pytest.approx({"v": 1, "w": 1}, abs=1e-3)


def test_it_reads_100_bins_unless_told_otherwise():
    assert RMIG()(grid()).settings == {
        "estimator": "quantized",
        "num_bins": 100,
        "low": -4.0,
        "high": 4.0,
        "masses": "erf_edge",
    }


@pytest.mark.parametrize("estimator", [Exact(), Quantized(), MeansHistogram()])
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
        RMIG(s)(far).per_factor["v"] for s in (Exact(), Quantized(), Quantized(masses="rectangle"))
    )
    assert edge == pytest.approx(exact, abs=1e-3)
    assert rectangle < edge + 1e-9


def test_deterministic_codes_on_the_edges_of_bins_score_one_in_float32(monkeypatch):
    """A hundred values, each at the lower edge of a bin of its own: many images are quantized in float32, which must
    not move them.
    """
    monkeypatch.setattr(quantized, "MAX_FLOAT64_MASSES", 0)
    mean = Bins(100).edges()[:-1, None]
    score = RMIG()(Codes(mean, torch.zeros_like(mean), factors=(Labels("v", torch.arange(100)),)))
    assert score.value == pytest.approx(1, abs=1e-6)  # sums of float32 masses


# Laws


@settings(max_examples=6)
@given(seed=st.integers(0, 100), estimator=st.sampled_from(ESTIMATORS))
def test_jemmig_and_rmig_add_up_to_the_joint_entropy(seed, estimator):
    """JEMMIG + RMIG = H(z, y), factor by factor, whatever the estimator."""
    codes = random_codes(seed)
    rmig, jemmig = RMIG(estimator)(codes), JEMMIG(estimator)(codes)
    top = rmig.tables["mutual_information"].argmax(dim=0)
    joint = rmig.tables["joint_entropy"].gather(0, top[None])[0]
    torch.testing.assert_close(rmig.tables["gap"] + jemmig.tables["jemmig"], joint)


def test_a_copy_takes_all():
    assert RMIG()(latents(grid(), [0, 1, 0, 1])).value == pytest.approx(0, abs=1e-12)
