"""The aggregate posterior from a minibatch: what the weights are, what the estimates mean, and the mistakes that others
made.
"""

import itertools
import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.func import grad, vmap

from tests.information.aggregates import ESTIMATORS, gaussian_batch, log_density, weights_of
from unbraid.errors import SpecError
from unbraid.information.aggregate import decompose, log_aggregate, log_weights, product_densities

NORMALIZED = ("naive", "mss", "stratified_pairs")


# What the estimates mean


def test_eq13_with_the_whole_data_set_is_exact():
    _, pairwise, _, _ = gaussian_batch(6, 3)
    exact = pairwise.exp().mean(dim=1).log()
    torch.testing.assert_close(
        log_aggregate(pairwise, log_weights("stratified_pairs", 6, 6, dtype=torch.float64)), exact
    )


def test_mws_with_the_whole_data_set_is_exact_less_log_n():
    _, pairwise, _, _ = gaussian_batch(6, 3)
    exact = pairwise.exp().mean(dim=1).log()
    torch.testing.assert_close(
        log_aggregate(pairwise, log_weights("mws", 6, 6, dtype=torch.float64)), exact - math.log(6)
    )


@pytest.mark.parametrize("estimator", ["mss", "stratified_pairs"])
def test_estimate_is_unbiased_over_all_minibatches(estimator):
    """N = 5, B = 3: every ordered minibatch without replacement that holds the image that z came from, at each place.

    The first row alone would not do: the peers' misplaced weights are right there.
    """
    densities = torch.tensor([0.9, 0.3, 0.05, 0.6, 0.001], dtype=torch.float64)
    for own, (place, row) in itertools.product(range(5), enumerate(weights_of(estimator, 3, 5))):
        others = [n for n in range(5) if n != own]
        batches = [[*rest[:place], own, *rest[place:]] for rest in itertools.permutations(others, 2)]
        estimates = torch.stack([row @ densities[batch] for batch in batches])
        torch.testing.assert_close(estimates.mean(), densities.mean())


def test_the_weights_that_peers_misplace_are_biased():
    """A stride of B puts 1/N in the first column: what a copy of their code would do to the test above."""
    densities = torch.tensor([0.9, 0.3, 0.05, 0.6, 0.001], dtype=torch.float64)
    misplaced = torch.tensor([0.2, 0.3, 0.5], dtype=torch.float64)
    batches = [[first, 1, last] for first, last in itertools.permutations([0, 2, 3, 4], 2)]
    estimate = torch.stack([misplaced @ densities[batch] for batch in batches]).mean()
    assert abs(estimate - densities.mean()) > 0.005


def test_small_batches_bias_the_naive_and_the_stratified_estimates_in_opposite_directions():
    """Of the total correlation, against its closed form. Misplaced stratified weights give about what the naive ones
    give.
    """
    correlation, std, size, batch = 0.8, 0.3, 2000, 100
    covariance = (1 - correlation) * torch.eye(3, dtype=torch.float64) + correlation
    generator = torch.Generator().manual_seed(0)
    mean = torch.randn(size, 3, dtype=torch.float64, generator=generator) @ torch.linalg.cholesky(covariance).T
    z = mean + std * torch.randn(size, 3, dtype=torch.float64, generator=generator)
    c = correlation / (1 + std**2)
    exact = -0.5 * math.log((1 - c) ** 2 * (1 + 2 * c))

    def estimate(estimator):
        weights = log_weights(estimator, batch, size, dtype=torch.float64)
        found = [
            decompose(
                log_density(codes, means, std),
                log_density(codes[:, None], means, std),
                weights,
                log_density(codes, 0.0, 1.0),
            )
            for codes, means in zip(z.split(batch), mean.split(batch), strict=True)
        ]
        return float(torch.cat([parts.total_correlation for parts in found]).mean())

    assert estimate("naive") > exact + 0.1
    for estimator in ("mss", "stratified_pairs"):
        assert estimate(estimator) < exact - 0.1
    # MWS is the naive estimate plus (L - 1) log N: a constant, not a correlation.
    assert estimate("mws") == pytest.approx(estimate("naive") + 2 * math.log(size), rel=1e-10)


def test_log_of_mws_is_a_lower_bound_over_all_minibatches():
    densities = torch.tensor([0.9, 0.3, 0.05, 0.6, 0.001], dtype=torch.float64)
    row = weights_of("mws", 3, 5)[0]
    for own in range(5):
        logs = [(row @ densities[[own, *rest]]).log() for rest in itertools.product(range(5), repeat=2)]
        assert torch.stack(logs).mean() < densities.mean().log()


def test_weighted_eq13_counts_its_own_image_twice():
    """Batches from p are drawn with replacement, so the others may repeat the image itself: q + p_i (q_i - q) on
    average, and not q.
    """
    p = torch.tensor([0.5, 0.2, 0.3], dtype=torch.float64)
    densities = torch.tensor([0.9, 0.3, 0.05], dtype=torch.float64)
    q = p @ densities
    for own in range(3):
        expected = torch.zeros((), dtype=torch.float64)
        for rest in itertools.product(range(3), repeat=2):
            batch = [own, *rest]
            row = weights_of("stratified_pairs", 3, 3, p[batch])[0]
            expected += p[list(rest)].prod() * (row @ densities[batch])
        torch.testing.assert_close(expected, q + p[own] * (densities[own] - q))


@given(seed=st.integers(0, 1000), estimator=st.sampled_from(ESTIMATORS))
def test_parts_sum_to_the_log_ratio_whatever_the_estimator(seed, estimator):
    _, pairwise, log_posterior, log_prior = gaussian_batch(5, 4, seed)
    for groups in (None, [(0, 1), (2, 3)], [(3, 0, 1, 2)]):
        parts = decompose(
            log_posterior, pairwise, log_weights(estimator, 5, 50, dtype=torch.float64), log_prior, groups
        )
        total = (
            parts.mutual_information
            + parts.total_correlation
            + parts.total_correlation_within
            + parts.dimension_wise_kl
        )
        torch.testing.assert_close(total, log_posterior.sum(dim=1) - log_prior.sum(dim=1))


def test_groups_of_one_have_nothing_within_and_one_group_nothing_between():
    _, pairwise, log_posterior, log_prior = gaussian_batch(5, 3)
    weights = log_weights("stratified_pairs", 5, 50, dtype=torch.float64)
    ungrouped = decompose(log_posterior, pairwise, weights, log_prior)
    assert torch.equal(ungrouped.total_correlation_within, torch.zeros(5, dtype=torch.float64))
    one_group = decompose(log_posterior, pairwise, weights, log_prior, [(0, 1, 2)])
    torch.testing.assert_close(one_group.total_correlation, torch.zeros(5, dtype=torch.float64))
    torch.testing.assert_close(one_group.total_correlation_within, ungrouped.total_correlation)


def test_joint_densities_take_the_place_of_products():
    """Each enters where it should: shifting one by a constant shifts the parts that read it."""
    _, pairwise, log_posterior, log_prior = gaussian_batch(5, 4)
    weights, groups = log_weights("stratified_pairs", 5, 50, dtype=torch.float64), [(0, 1), (2, 3)]
    product = product_densities(log_posterior, pairwise, log_prior, groups)

    def parts(joint):
        found = decompose(log_posterior, pairwise, weights, log_prior, groups, joint)
        return torch.stack(
            [found.mutual_information, found.total_correlation, found.total_correlation_within, found.dimension_wise_kl]
        )

    expected = {
        "own": (1, 0, 0, 0),
        "pairwise": (-1, 1, 0, 0),
        "pairwise_groups": (0, -2, 2, 0),
        "prior": (0, -1, 0, 0),
        "prior_groups": (0, 2, -2, 0),
    }
    for name, shifts in expected.items():
        shifted = replace(product, **{name: getattr(product, name) + 1})
        torch.testing.assert_close(
            parts(shifted) - parts(product), torch.tensor(shifts, dtype=torch.float64)[:, None].expand(4, 5)
        )


@given(shift=st.floats(-300, 300), estimator=st.sampled_from(ESTIMATORS))
def test_scaling_every_density_scales_the_estimate(shift, estimator):
    _, pairwise, _, _ = gaussian_batch(4, 3)
    weights = log_weights(estimator, 4, 40, dtype=torch.float64)
    torch.testing.assert_close(log_aggregate(pairwise + shift, weights), log_aggregate(pairwise, weights) + shift)
    everything = [range(3)]
    torch.testing.assert_close(
        log_aggregate(pairwise + shift, weights, everything), log_aggregate(pairwise, weights, everything) + 3 * shift
    )


@pytest.mark.parametrize("estimator", NORMALIZED)
def test_equal_posteriors_have_no_information_and_no_correlation(estimator):
    # A weight added before the sum over latents, as in one peer, is raised to the power L: here TC would be far from 0.
    z = torch.randn(6, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    log_posterior = log_density(z, 0.0, 1.0)
    parts = decompose(
        log_posterior,
        log_posterior[:, None].expand(6, 6, 4),
        log_weights(estimator, 6, 600, dtype=torch.float64),
        log_posterior,
    )
    for part in (parts.mutual_information, parts.total_correlation, parts.dimension_wise_kl):
        torch.testing.assert_close(part, torch.zeros_like(part))


def test_a_full_factorial_grid_has_no_total_correlation():
    """Every combination of two sets of means, one std a latent: q(z) = q(z_1) q(z_2) at every point."""
    first, second = torch.tensor([-1.0, 0.0, 2.0]).double(), torch.tensor([0.3, 0.5, 0.6, 4.0]).double()
    mean = torch.cartesian_prod(first, second)
    z = mean + 0.4 * torch.randn(12, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    pairwise = torch.stack(
        [log_density(z[:, None, 0], mean[:, 0], 0.7), log_density(z[:, None, 1], mean[:, 1], 0.2)], dim=2
    )
    own = pairwise.diagonal(dim1=0, dim2=1).T
    parts = decompose(
        own, pairwise, log_weights("stratified_pairs", 12, 12, dtype=torch.float64), log_density(z, 0.0, 1.0)
    )
    torch.testing.assert_close(parts.total_correlation, torch.zeros(12, dtype=torch.float64))
    # Then I(x; z) is the sum of what the latents say of the image, sample by sample.
    of_latents = own - log_aggregate(pairwise, log_weights("stratified_pairs", 12, 12, dtype=torch.float64))
    torch.testing.assert_close(parts.mutual_information, of_latents.sum(dim=1))


def test_correlated_gaussian_codes_have_the_total_correlation_of_their_gaussian():
    # Means from N(0, T) with T = (1 - r) I + r 11' and posteriors of variance v make q(z) = N(0, T + v I): equal
    # correlations r / (1 + v), and TC = -log det(correlations) / 2, whose determinant is (1 - c)^2 (1 + 2 c) in three
    # dimensions.
    correlation, std, num_images = 0.8, 0.5, 3000
    covariance = (1 - correlation) * torch.eye(3, dtype=torch.float64) + correlation
    generator = torch.Generator().manual_seed(0)
    mean = torch.randn(num_images, 3, dtype=torch.float64, generator=generator) @ torch.linalg.cholesky(covariance).T
    z = mean + std * torch.randn(num_images, 3, dtype=torch.float64, generator=generator)
    parts = decompose(
        log_density(z, mean, std),
        log_density(z[:, None], mean, std),
        log_weights("stratified_pairs", num_images, num_images, dtype=torch.float64),
        log_density(z, 0.0, 1.0),
    )
    c = correlation / (1 + std**2)
    # 3000 samples of a quantity with a deviation of about 0.8 have a standard error of 0.015; the finite mixture adds
    # less.
    assert float(parts.total_correlation.mean()) == pytest.approx(-0.5 * math.log((1 - c) ** 2 * (1 + 2 * c)), abs=0.05)


def test_mws_total_correlation_carries_its_constant():
    z = torch.randn(6, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    log_posterior = log_density(z, 0.0, 1.0)
    parts = decompose(
        log_posterior,
        log_posterior[:, None].expand(6, 6, 4),
        log_weights("mws", 6, 600, dtype=torch.float64),
        log_posterior,
    )
    torch.testing.assert_close(parts.total_correlation, torch.full((6,), 3 * math.log(600), dtype=torch.float64))


def test_a_group_is_the_mixture_of_products():
    _, pairwise, _, _ = gaussian_batch(5, 4)
    weights = log_weights("stratified_pairs", 5, 50, dtype=torch.float64)
    found = log_aggregate(pairwise, weights, [(0, 2), (3,)])
    expected = (weights.exp() * (pairwise[:, :, 0] + pairwise[:, :, 2]).exp()).sum(dim=1).log()
    torch.testing.assert_close(found[:, 0], expected)
    torch.testing.assert_close(found[:, 1], log_aggregate(pairwise, weights)[:, 3])


# Numbers and transformations


def test_a_distant_narrow_posterior_does_not_underflow():
    # exp, sum, log gives -inf at 5 units from a mean with std e^-4.5.
    far = torch.full((2, 2, 3), log_density(5.0, 0.0, math.exp(-4.5)), dtype=torch.float32)
    joint = log_aggregate(far, log_weights("naive", 2, 2), [range(3)])
    assert bool(joint.isfinite().all())
    torch.testing.assert_close(joint, far.sum(dim=2)[:, :1])


def test_it_lives_under_vmap_and_grad():
    """The gradient of each member's loss is the same in a loop and under vmap, weights included."""
    generator = torch.Generator().manual_seed(0)
    means = torch.randn(3, 5, 2, dtype=torch.float64, generator=generator)
    p = torch.rand(3, 5, dtype=torch.float64, generator=generator) / 10

    def loss(mean, weights):
        z = mean + 0.1
        log_posterior = log_density(z, mean, 0.5)
        table = log_weights("stratified_pairs", 5, 50, weights)
        parts = decompose(log_posterior, log_density(z[:, None], mean, 0.5), table, log_density(z, 0.0, 1.0))
        return (parts.mutual_information + 6 * parts.total_correlation + parts.dimension_wise_kl).mean()

    together = vmap(grad(loss))(means, p)
    alone = torch.stack([grad(loss)(mean, weights) for mean, weights in zip(means, p, strict=True)])
    torch.testing.assert_close(together, alone)


def test_float32_agrees_with_float64():
    _, pairwise, log_posterior, log_prior = gaussian_batch(64, 10)
    double = decompose(
        log_posterior, pairwise, log_weights("stratified_pairs", 64, 10_000, dtype=torch.float64), log_prior
    )
    single = decompose(
        log_posterior.float(),
        pairwise.float(),
        log_weights("stratified_pairs", 64, 10_000, dtype=torch.float32),
        log_prior.float(),
    )
    # Sums of 10 log densities of size 10 carry errors of about 1e-5 in float32.
    torch.testing.assert_close(
        single.total_correlation.mean().double(), double.total_correlation.mean(), atol=1e-4, rtol=0
    )


@pytest.mark.parametrize("group", [(), (3,), (-1,)])
def test_a_group_of_no_or_unknown_latents_is_refused(group):
    _, pairwise, _, _ = gaussian_batch(4, 3)
    with pytest.raises(SpecError, match="0 to 2"):
        log_aggregate(pairwise, log_weights("naive", 4, 4, dtype=torch.float64), [group])
