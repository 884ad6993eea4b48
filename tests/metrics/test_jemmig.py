"""Joint entropy minus the gap: known answers, bounds, and the relation between estimators."""

import dataclasses
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.metrics.test_mig import grid, latents, random_codes
from unbraid.codes import Codes, Labels
from unbraid.information.latent_information import entropy
from unbraid.information.quantized import Bins, quantize
from unbraid.information.value_table import ValueTable
from unbraid.metrics.estimators import Exact, MeansHistogram, Quantized, Sampled
from unbraid.metrics.jemmig import JEMMIG

# Known answers


def test_a_deterministic_bijection_scores_zero():
    score = JEMMIG()(grid(std=0.0, num_noise=0))
    assert score.value == pytest.approx(0, abs=1e-12)
    assert score.parts["unnormalized"].value == pytest.approx(0, abs=1e-12)
    assert score.interval == pytest.approx((0, 0), abs=1e-6)


def test_silent_latents_score_one_at_most():
    """Posteriors spread evenly over all bins say nothing: H(z, y) = log B + H(y), the largest there is."""
    codes = grid()
    flat = dataclasses.replace(codes, mean=torch.zeros_like(codes.mean), std=torch.full_like(codes.std, 1e6))
    score = JEMMIG(Quantized(masses="erf_renorm", num_bins=10))(flat)
    assert score.value == pytest.approx(1, abs=1e-9)
    torch.testing.assert_close(score.tables["jemmig"], torch.tensor([4.0, 5.0]).log().double() + math.log(10))


def test_it_matches_an_independent_computation_from_joint_tables():
    codes = random_codes(3)
    masses = quantize(codes.mean, codes.std, Bins(20))
    score = JEMMIG(Quantized(num_bins=20))(codes)
    for k, labels in enumerate(f.values for f in codes.factors):
        onehot = torch.nn.functional.one_hot(labels).double()
        joint = torch.einsum("nls,nv->lsv", masses, onehot) / 30
        h_zy, h_y = entropy(joint.flatten(1)), entropy(onehot.mean(dim=0))
        information = entropy(joint.sum(dim=2)) + h_y - h_zy
        order = information.argsort(descending=True)
        expected = h_zy[order[0]] - information[order[0]] + information[order[1]]
        torch.testing.assert_close(score.tables["jemmig"][k], expected)
        assert list(score.per_factor.values())[k] == pytest.approx(float(expected / (h_y + math.log(20))))


def test_without_bins_the_value_is_the_unnormalized_one():
    codes = grid(std=0.01)
    for estimator in (Exact(), Sampled()):
        score = JEMMIG(estimator)(codes)
        assert score.value == score.parts["unnormalized"].value
        # H(z, y) = H(y) + log(std sqrt(2 pi e)), and the gap is H(y).
        assert score.value == pytest.approx(0.5 * math.log(2 * math.pi * math.e * 1e-4), abs=0.05)
        assert score.interval[0] <= score.value <= score.interval[1]


def test_quantized_and_exact_differ_by_the_log_of_the_width():
    codes = grid(std=0.3)
    quantized, exact = JEMMIG(Quantized(num_bins=400))(codes).parts["unnormalized"].value, JEMMIG(Exact())(codes).value
    # The error of a width w is of the order w^2 / std^2 / 24: 2e-4.
    assert quantized == pytest.approx(exact - math.log(8 / 400), abs=1e-3)


def test_binned_means_are_normalized_by_their_own_bins():
    score = JEMMIG(MeansHistogram(num_bins=20))(grid())
    h = score.tables["factor_entropy"] + math.log(20)
    torch.testing.assert_close(torch.tensor(list(score.per_factor.values())).double(), score.tables["jemmig"] / h)


def test_more_categories_than_bins_may_exceed_one_and_keep_their_interval():
    """A discrete latent that is spread over 200 categories: H(z, y) = log 200 + H(y), more than the log 10 + H(y) of
    ten bins.
    """
    labels = torch.arange(400) % 2
    generator = torch.Generator().manual_seed(0)
    table = torch.softmax(torch.randn(400, 200, dtype=torch.float64, generator=generator) / 10, dim=1)
    score = JEMMIG(Quantized(num_bins=10))(Codes.from_arrays(probabilities=[table], factors={"y": labels}))
    assert score.value == pytest.approx((math.log(200) + math.log(2)) / (math.log(10) + math.log(2)), abs=0.01)
    assert score.interval[0] <= score.value <= score.interval[1]


def test_among_equal_latents_the_first_counts():
    """Two latents name the factor, the second with extra detail that no factor explains: they tie in information, and
    H(z, y) is the first's.
    """
    labels = torch.arange(8) % 2
    mean = torch.stack([labels.double(), labels + 0.25 * (torch.arange(8) // 2)], dim=1)
    codes = dataclasses.replace(grid(), mean=mean, std=torch.zeros_like(mean), factors=(Labels("y", labels),))
    assert JEMMIG()(codes).tables["jemmig"].tolist() == pytest.approx([math.log(2)])
    assert JEMMIG()(latents(codes, [1, 0])).tables["jemmig"].tolist() == pytest.approx([math.log(8)])


# Laws


@settings(max_examples=10)
@given(
    seed=st.integers(0, 200),
    num_bins=st.integers(2, 60),
    masses=st.sampled_from(["erf_edge", "erf_renorm", "rectangle"]),
)
def test_it_lies_between_zero_and_one(seed, num_bins, masses):
    score = JEMMIG(Quantized(num_bins=num_bins, masses=masses))(random_codes(seed))
    assert all(-1e-12 <= value <= 1 + 1e-12 for value in score.per_factor.values())


def test_extra_detail_costs():
    """What RMIG does not see: a latent that names the factor and much else has a large H(z, y)."""
    codes = grid(std=0.0)
    busy = dataclasses.replace(codes, mean=codes.mean + torch.arange(20).double()[:, None] / 50)
    assert JEMMIG()(busy).value > JEMMIG()(codes).value + 0.1


def test_lower_is_better():
    assert JEMMIG.higher_is_better is False
    assert JEMMIG()(grid(std=0.01)).value < JEMMIG()(grid(std=0.5)).value


def test_soft_labels_raise_the_joint_entropy():
    codes = grid(std=0.0)
    soft = 0.9 * torch.nn.functional.one_hot(codes.factors[0].values).double() + 0.1 / 4
    values = ValueTable.from_assignments((soft,), 20)
    score = JEMMIG()(dataclasses.replace(codes, factors=(Labels("v", soft),)))
    assert score.tables["factor_entropy"][0] == pytest.approx(float(entropy(values.split(values.value_masses)[0])))
    assert score.value > 0.1
