"""Families side by side."""

import pytest
import torch

from tests.models.distributions.families import END, MIXED, drawn, some_prior
from unbraid.errors import SpecError
from unbraid.models.distributions import (
    BernoulliLatents,
    ConcreteLatents,
    CorrelatedGaussianLatents,
    DeterministicLatents,
    GaussianLatents,
    GroupedLatents,
    LaplaceLatents,
    UniformPrior,
)

STYLE_AND_DIGIT = GroupedLatents((GaussianLatents(2), ConcreteLatents(3)))


@pytest.mark.parametrize("inner", [BernoulliLatents(2), GroupedLatents((BernoulliLatents(2),))], ids=["part", "nested"])
def test_parts_whose_discrete_latents_count_differently_are_refused(inner):
    with pytest.raises(SpecError, match="density and pmf"):
        GroupedLatents((GaussianLatents(2), ConcreteLatents(3, measure="density"), inner))


def test_the_default_is_style_and_a_digit():
    latents = GroupedLatents()
    assert (latents.num_latents, latents.num_parameters, latents.num_columns, latents.num_noise) == (11, 30, 20, 20)
    assert latents.groups == (tuple(range(10)), (10,))


def test_everything_is_that_of_the_parts_one_after_the_other():
    parameters = torch.arange(14.0, dtype=torch.float64).reshape(2, 7) / 7
    noise = torch.linspace(-1, 1, 10, dtype=torch.float64).reshape(2, 5)
    together = STYLE_AND_DIGIT.posterior(parameters, END)
    style, digit = (
        GaussianLatents(2).posterior(parameters[:, :4], END),
        ConcreteLatents(3).posterior(parameters[:, 4:], END),
    )
    z = together.rsample(noise)
    torch.testing.assert_close(z, torch.cat([style.rsample(noise[:, :2]), digit.rsample(noise[:, 2:])], dim=1))
    torch.testing.assert_close(
        together.log_prob(z), torch.cat([style.log_prob(z[:, :2]), digit.log_prob(z[:, 2:])], dim=1)
    )
    torch.testing.assert_close(together.mean, style.mean)
    torch.testing.assert_close(together.std, style.std)
    torch.testing.assert_close(together.probabilities, digit.probabilities)
    kl = STYLE_AND_DIGIT.make_prior().double()().kl_from(together, z)
    assert kl.shape == (2, 3)
    torch.testing.assert_close(kl[:, :2], style.kl_to_standard_normal())


@pytest.mark.parametrize("latents", [(0, 1), (0, 2), (1, 3, 4, 6), (5,), tuple(range(7))])
def test_a_joint_density_is_the_product_over_parts(latents):
    """Of the first part's two latents together, where both are asked for, and of each of the others."""
    posterior, z = drawn(MIXED)
    for joint in (posterior, some_prior(MIXED)):
        first = [latent for latent in latents if latent < 2]
        expected = joint.log_prob(z)[:, [latent for latent in latents if latent >= 2]].sum(dim=1)
        expected = expected + (joint.parts[0].joint_log_prob(z[:, :2], first) if first else 0)
        torch.testing.assert_close(joint.joint_log_prob(z, latents), expected)
    torch.testing.assert_close(
        posterior.pairwise_joint_log_prob(z, latents).diagonal(), posterior.joint_log_prob(z, latents)
    )


def test_a_part_without_closed_form_does_not_cost_the_others_theirs():
    latents = GroupedLatents((GaussianLatents(2), ConcreteLatents(3, measure="density")))
    posterior, z = drawn(latents)
    prior = some_prior(latents)
    assert prior.closed_form_kl_from(posterior) is None
    torch.testing.assert_close(prior.kl_from(posterior, z)[:, :2], posterior.parts[0].kl_to_standard_normal())


def test_covariances_stand_in_blocks():
    posterior, _ = drawn(GroupedLatents((GaussianLatents(2), CorrelatedGaussianLatents(3), ConcreteLatents(2))))
    expected = torch.stack(
        [
            torch.block_diag(torch.diag(a.square()), b)
            for a, b in zip(posterior.parts[0].std, posterior.parts[1].covariance, strict=True)
        ]
    )
    torch.testing.assert_close(posterior.covariance, expected)


def test_one_part_that_is_not_gaussian_leaves_only_draws():
    posterior, _ = drawn(GroupedLatents((CorrelatedGaussianLatents(2), LaplaceLatents(2))))
    assert posterior.gaussian_std is posterior.covariance is None


def test_groups_may_be_grouped():
    nested = GroupedLatents((GroupedLatents((GaussianLatents(2), LaplaceLatents(1))), BernoulliLatents(2)))
    assert nested.groups == ((0, 1), (2,), (3,), (4,))
    posterior, z = drawn(nested)
    torch.testing.assert_close(posterior.joint_log_prob(z, range(5)), posterior.log_prob(z).sum(dim=1))


def test_a_part_without_density_leaves_none():
    assert not GroupedLatents((DeterministicLatents(2), ConcreteLatents(2))).has_density
    assert STYLE_AND_DIGIT.has_density


def test_a_part_with_a_bounded_prior_bounds_all():
    assert GroupedLatents((GaussianLatents(2, UniformPrior()), ConcreteLatents(2))).prior_is_bounded
    assert not STYLE_AND_DIGIT.prior_is_bounded


def test_discrete_parts_before_continuous_ones_are_refused():
    with pytest.raises(SpecError, match="ConcreteLatents, GaussianLatents"):
        GroupedLatents((ConcreteLatents(3), GaussianLatents(2)))
    with pytest.raises(SpecError, match="GroupedLatents, GaussianLatents"):
        GroupedLatents((STYLE_AND_DIGIT, GaussianLatents(2)))


def test_no_parts_are_refused():
    with pytest.raises(SpecError, match="parts"):
        GroupedLatents(())
