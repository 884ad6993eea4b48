"""The HFVAE: correlation between groups of latents and within them, each with a weight of its own."""

import math
from dataclasses import replace

import pytest
import scipy.stats
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logsumexp

from tests.objectives.steps import (
    a_mixed_step,
    a_step,
    distortion_by_hand,
    five_weights,
    sampled_rate_by_hand,
    table_by_hand,
)
from tests.training.squares import Squares
from unbraid.config import parse, text_of
from unbraid.errors import SpecError
from unbraid.models import Autoencoder
from unbraid.models.distributions import DiagonalGaussian, FullGaussian, GaussianLatents
from unbraid.objectives import HFVAE, BetaTCVAE, DecomposedELBO
from unbraid.objectives.terms.nested_groups import group_levels
from unbraid.training.runs.spec import RunSpec

SINGLETONS = ((0,), (1,), (2,))
NAMES = ("mutual_information", "total_correlation", "total_correlation_within", "dimension_wise_kl")


def log_densities_by_hand(step):
    """log q(z_e | n) of every code, posterior and latent, and log p(z_e): Gaussian latents with scipy, then one
    discrete latent by its category.
    """
    gaussian, concrete = step.posterior.parts
    size, batch = gaussian.loc.shape[1], len(step.z)
    z, loc, std = step.z.tolist(), gaussian.loc.tolist(), gaussian.std.tolist()
    categories = [max(range(len(row) - size), key=lambda c: row[size + c]) for row in z]
    logits = concrete.logits.tolist()
    q = [
        [
            [scipy.stats.norm.logpdf(z[i][e], loc[n][e], std[n][e]) for e in range(size)]
            + [logits[n][categories[i]] - logsumexp(logits[n])]
            for n in range(batch)
        ]
        for i in range(batch)
    ]
    p = [[*scipy.stats.norm.logpdf(z[i][:size]), -math.log(len(logits[0]))] for i in range(batch)]
    return q, p


def parts_by_hand(step, groups):
    """The four parts with eq. 13, means over the batch (spec 2.6), for a prior without correlations."""
    q, p = log_densities_by_hand(step)
    batch, table = len(step.z), table_by_hand("stratified_pairs", len(step.z), step.dataset_size)
    everything = range(len(p[0]))

    def marginal(i, latents):
        return logsumexp([math.log(table[i][n]) + sum(q[i][n][e] for e in latents) for n in range(batch)])

    found = dict.fromkeys(NAMES, 0.0)
    for i in range(batch):
        whole, by_group, by_latent = (
            marginal(i, everything),
            sum(marginal(i, g) for g in groups),
            sum(marginal(i, [e]) for e in everything),
        )
        parts = (sum(q[i][i]) - whole, whole - by_group, by_group - by_latent, by_latent - sum(p[i]))
        found = {name: found[name] + part / batch for name, part in zip(NAMES, parts, strict=True)}
    return found


# Known answers


@pytest.mark.parametrize("groups", [((0, 1), (2, 3), (4,)), ((0, 1, 2, 3), (4,)), ((0, 4), (1,), (2, 3))])
def test_it_is_equation_9_worked_out_one_density_at_a_time(groups):
    step = a_mixed_step()
    expected = parts_by_hand(step, groups)
    loss = HFVAE(alpha=0.5, beta=4.0, gamma=3.0, groups=groups)(step)
    for name, value in expected.items():
        assert loss.parts[name].item() == pytest.approx(value, rel=1e-9, abs=1e-12)
    weighted = sum(weight * value for weight, value in zip((0.5, 4.0, 3.0, 1.0), expected.values(), strict=True))
    assert loss.total.item() == pytest.approx(distortion_by_hand(step) + weighted, rel=1e-10)


NESTED = ((0, 1, 2), (0, 1), (3, 4))
"""The first two latents in a group, which lies in one with the third; the last two in another."""


def within_by_hand(step, tree):
    """The correlation within the groups of a tree, level by level: nested lists, whose entries are latents or lists."""
    q, p = log_densities_by_hand(step)
    batch, table = len(step.z), table_by_hand("stratified_pairs", len(step.z), step.dataset_size)

    def leaves(node):
        return [node] if isinstance(node, int) else [leaf for each in node for leaf in leaves(each)]

    def log_ratio(i, node):
        latents = leaves(node)
        terms = [math.log(table[i][n]) + sum(q[i][n][e] for e in latents) for n in range(batch)]
        return logsumexp(terms) - sum(p[i][e] for e in latents)

    def correlation(node):
        return sum(log_ratio(i, node) - sum(log_ratio(i, each) for each in node) for i in range(batch)) / batch

    levels, nodes = [], [node for node in tree if not isinstance(node, int)]
    while nodes:
        levels.append(sum(correlation(node) for node in nodes))
        nodes = [each for node in nodes for each in node if not isinstance(each, int)]
    return levels


@pytest.mark.parametrize(
    ("groups", "tree"),
    [
        (NESTED, [[[0, 1], 2], [3, 4]]),
        (((0, 1, 2, 3, 4), (0, 1, 2), (0, 1), (3, 4)), [[[[0, 1], 2], [3, 4]]]),
        (((1, 4), (0, 2, 3), (2, 3), (1,)), [[1, 4], [0, [2, 3]]]),
    ],
)
def test_groups_within_groups_have_a_weight_at_every_level(groups, tree):
    step = a_mixed_step()
    of_levels = within_by_hand(step, tree)
    nested_weights = (0.7, 5.0)[: len(of_levels) - 1]
    outermost = HFVAE(alpha=0.5, beta=4.0, gamma=0.0, groups=group_levels(groups)[0])(step)
    expected = outermost.total.item() + sum(
        weight * value for weight, value in zip((3.0, *nested_weights), of_levels, strict=True)
    )
    loss = HFVAE(alpha=0.5, beta=4.0, gamma=3.0, groups=groups, nested_weights=nested_weights)(step)
    assert loss.total.item() == pytest.approx(expected, rel=1e-10)
    assert loss.parts["total_correlation_within"].item() == pytest.approx(sum(of_levels), rel=1e-9)


def test_the_last_of_the_deeper_weights_is_for_all_levels_below():
    step, groups = a_mixed_step(), ((0, 1, 2, 3, 4), (0, 1, 2), (0, 1), (3, 4))
    one, same = (
        HFVAE(groups=groups, nested_weights=nested_weights)(step).total for nested_weights in ((0.7,), (0.7, 0.7))
    )
    torch.testing.assert_close(one, same)


@pytest.mark.parametrize("nested_weights", [(), (3.0,)])
def test_groups_within_groups_with_the_weight_of_those_around_them_change_nothing(nested_weights):
    step = a_mixed_step()
    plain = HFVAE(groups=((0, 1, 2), (3, 4)))(step).total
    torch.testing.assert_close(HFVAE(groups=NESTED, nested_weights=nested_weights)(step).total, plain)


def test_under_mws_the_shown_loss_of_nested_groups_is_without_constants():
    step, settings = a_mixed_step(), {"groups": NESTED, "nested_weights": (0.7,)}
    shown, naive = (HFVAE(**settings, estimator=each)(step).shown for each in ("mws", "naive"))
    torch.testing.assert_close(shown, naive)


@pytest.mark.parametrize(
    ("groups", "weights"),
    [(((0, 1), (2,)), (1.0,)), ("each", (1.0,)), (NESTED, (1.0, 1.0)), (NESTED, (math.nan,))],
)
def test_weights_of_levels_that_the_groups_do_not_have_are_refused(groups, weights):
    with pytest.raises(SpecError, match="nested_weights"):
        HFVAE(groups=groups, nested_weights=weights)


def test_nested_groups_are_typed_and_kept_as_they_are_given():
    objective = HFVAE(groups=NESTED, nested_weights=(0.7,))
    assert parse(text_of(objective), HFVAE, "objective") == objective
    assert text_of(objective) == "hfvae:groups=(0,1,2;0,1;3,4):nested_weights=0.7"
    spec = RunSpec(Squares(), model=Autoencoder(latents=GaussianLatents(5)), objective=objective, batch_size=8)
    assert spec.objective == objective


# Laws


@given(seed=st.integers(0, 1000), groups=st.sampled_from([SINGLETONS, ((0, 1), (2,)), ((0, 1, 2),)]))
def test_with_all_weights_1_it_is_the_vae_with_a_sampled_rate(seed, groups):
    step = a_step(seed)
    found = HFVAE(alpha=1.0, beta=1.0, gamma=1.0, groups=groups)(step).total
    assert found.item() == pytest.approx(distortion_by_hand(step) + sampled_rate_by_hand(step), rel=1e-11)


@given(seed=st.integers(0, 1000), gamma=st.floats(0, 10))
def test_groups_of_one_latent_are_the_beta_tcvae_with_equation_13(seed, gamma):
    """And gamma has no effect."""
    step = a_step(seed)
    expected = BetaTCVAE(alpha=0.5, beta=4.0, gamma=1.0, estimator="stratified_pairs")(step).total
    for groups in (SINGLETONS, "each"):
        torch.testing.assert_close(
            HFVAE(alpha=0.5, beta=4.0, gamma=gamma, groups=groups)(step).total, expected, rtol=1e-12, atol=1e-12
        )


@given(seed=st.integers(0, 1000), beta=st.floats(0, 50))
def test_with_one_group_beta_has_no_effect_and_gamma_weighs_the_total_correlation(seed, beta):
    step = a_step(seed)
    expected = BetaTCVAE(beta=3.0, estimator="stratified_pairs")(step).total
    torch.testing.assert_close(
        HFVAE(alpha=1.0, beta=beta, gamma=3.0, groups=((0, 1, 2),))(step).total, expected, rtol=1e-12, atol=1e-12
    )


def test_a_group_of_a_single_discrete_latent_has_nothing_within():
    step = a_mixed_step()
    apart, within = (HFVAE(groups=groups)(step).parts for groups in (((0,), (1,), (2,), (3,), (4,)), "each"))
    assert apart["total_correlation_within"].item() == 0
    torch.testing.assert_close(apart["total_correlation"], within["total_correlation"])


def test_the_order_of_groups_and_of_their_latents_does_not_matter():
    step = a_mixed_step()
    one, other = (HFVAE(groups=groups)(step).total for groups in (((0, 1), (2, 3), (4,)), ((4,), (3, 2), (1, 0))))
    torch.testing.assert_close(one, other)


def test_independent_groups_of_latents_have_no_correlation_between_them():
    """Posteriors on a grid of (first two latents) x (third): a full factorial design of groups, correlated within the
    first.
    """
    pairs, singles = (
        torch.tensor([[-1.0, -1.2], [0.0, 0.3], [2.0, 1.7]]).double(),
        torch.tensor([0.4, -2.0, 3.0, 0.1]).double(),
    )
    loc = torch.cat([pairs.repeat_interleave(4, dim=0), singles.repeat(3)[:, None]], dim=1)
    posterior = DiagonalGaussian(loc, torch.full_like(loc, -1.5))
    z = posterior.rsample(torch.randn(12, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0)))
    step = replace(a_step(batch=12, dataset_size=12), posterior=posterior, z=z)
    parts = HFVAE(groups=((0, 1), (2,)))(step).parts
    assert parts["total_correlation"].item() == pytest.approx(0, abs=1e-12)
    assert parts["total_correlation_within"].item() > 0.3


def test_a_learned_correlated_prior_can_run_away_where_gamma_exceeds_one():
    """Moved along its correlation, far from the codes, it lowers the loss without bound: a limit of the objective that
    its page tells.
    """
    factor = torch.linalg.cholesky(
        torch.tensor([[1.0, 0.9, 0.0], [0.9, 1.0, 0.0], [0.0, 0.0, 1.0]], dtype=torch.float64)
    )

    def total(distance, gamma):
        prior = FullGaussian(torch.tensor([distance, distance, 0.0], dtype=torch.float64), factor)
        return HFVAE(gamma=gamma, groups=((0, 1), (2,)))(replace(a_step(), prior=prior)).total

    assert total(1000.0, 3.0) < total(100.0, 3.0) < total(10.0, 3.0) < 0
    assert total(1000.0, 1.0) > total(100.0, 1.0) > total(10.0, 1.0) > 0


# Settings


def test_its_defaults_are_the_authors_for_dsprites():
    assert HFVAE() == HFVAE(alpha=1.0, beta=4.0, gamma=3.0, groups="model", estimator="stratified_pairs")


def test_its_general_form_keeps_groups_and_estimator():
    found = HFVAE(alpha=0.5, beta=5.0, gamma=2.0, groups=((0,), (1, 2)), estimator="naive").general_form()
    assert found == DecomposedELBO(**five_weights(0.0, 0.5, 5.0, 2.0, 1.0), groups=((0,), (1, 2)), estimator="naive")


@pytest.mark.parametrize("value", [-1.0, math.nan, math.inf])
@pytest.mark.parametrize("name", ["alpha", "beta", "gamma"])
def test_a_weight_that_is_negative_or_not_finite_is_refused_by_name(name, value):
    with pytest.raises(SpecError, match=f"HFVAE: {name} is {value}"):
        HFVAE(**{name: value})


def test_groups_that_miss_a_latent_are_refused_in_its_name():
    with pytest.raises(SpecError, match=r"missing \[2\]"):
        RunSpec(
            Squares(), model=Autoencoder(latents=GaussianLatents(3)), objective=HFVAE(groups=((0, 1),)), batch_size=8
        )
