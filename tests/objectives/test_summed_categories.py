"""The measure "summed": sampled terms are means over categories, so their gradients are those of the expectation.

Four images are the whole dataset, so q(z) is known, and every term has an expectation that can be worked out: over the
Gaussian latents by quadrature, over the categories one by one.
"""

import itertools
import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch
from torch.distributions import Normal
from torch.func import jacrev, vmap

from tests.objectives.steps import a_step
from unbraid.errors import SpecError
from unbraid.models.distributions import (
    BernoulliLatents,
    ConcreteLatents,
    CorrelatedGaussianLatents,
    GaussianLatents,
    GroupedLatents,
    LearnedCategories,
    LearnedGaussianPrior,
)
from unbraid.objectives import HFVAE, VAE, AnchorVAE, BetaTCVAE
from unbraid.objectives.decomposed_elbo import decomposition

NUM_IMAGES, NUM_DRAWS = 4, 1500
STEP = a_step(batch=NUM_IMAGES, latents=2, dataset_size=NUM_IMAGES)
TERMS = ("mutual_information", "total_correlation", "total_correlation_within", "dimension_wise_kl")
PRIOR = (0.5, 0.3, 0.2)
GROUPS = {"concrete": ((0, 1), (2,)), "bernoulli": ((0, 1), (2,), (3,)), "both": ((0, 1), (2,), (3,))}
SIZES = {"concrete": (3,), "bernoulli": (2, 2), "both": (3, 2)}


def latents(kind, measure):
    concrete = ConcreteLatents(3, measure=measure, prior=LearnedCategories(PRIOR))
    parts = {
        "concrete": (concrete,),
        "bernoulli": (BernoulliLatents(2, measure=measure, prior_probability=0.3),),
        "both": (concrete, BernoulliLatents(1, measure=measure, prior_probability=0.3)),
    }
    return GroupedLatents((GaussianLatents(2), *parts[kind]))


def parameters(family):
    """Stds are alike, so that log q is smooth and the quadrature is exact."""
    generator = torch.Generator().manual_seed(3)
    given = torch.randn(NUM_IMAGES, family.num_parameters, dtype=torch.float64, generator=generator)
    given[:, 2:4] *= 0.2
    return given


def noise_of(family, num_draws=NUM_DRAWS):
    shape = (num_draws, NUM_IMAGES, family.num_noise)
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(4))


@cache
def prior_of(family):
    return family.make_prior().double()(STEP.progress)


def step_of(family, given, noise, prior=None):
    posterior = family.posterior(given, STEP.progress)
    prior = prior or prior_of(family)
    z = posterior.rsample(noise)
    return replace(STEP, posterior=posterior, z=z, prior=prior, groups=family.groups, widths=family.widths)


def gradients(family, term, noise):
    """Of a term, a row for each draw."""
    prior_of(family)  # not within a transform, where no parameter can be made
    found = vmap(jacrev(lambda given, drawn: term(step_of(family, given, drawn))), in_dims=(None, 0))
    return found(parameters(family), noise)


# The expectation, worked out


def log_tables(kind, given):
    """log q(c | x) of each discrete latent and log p(c), from the encoder's numbers."""
    logits = given[:, 4:]
    if kind == "concrete":
        return [logits.log_softmax(dim=1)], [torch.tensor(PRIOR, dtype=torch.float64).log()]
    binary = torch.tensor([0.7, 0.3], dtype=torch.float64).log()
    if kind == "bernoulli":
        each = [torch.stack([(-column).sigmoid().log(), column.sigmoid().log()], dim=1) for column in logits.T]
        return each, [binary, binary]
    column = logits[:, 3]
    return (
        [logits[:, :3].log_softmax(dim=1), torch.stack([(-column).sigmoid().log(), column.sigmoid().log()], dim=1)],
        [torch.tensor(PRIOR, dtype=torch.float64).log(), binary],
    )


def expectations(kind, given, groups, anchors=(1, 2)):
    """Every term, in the mean over images, a grid of quadrature for two Gaussian latents, and all combinations."""
    points, weights = map(torch.tensor, np.polynomial.hermite_e.hermegauss(24))
    grid = torch.cartesian_prod(points, points)
    mass = (torch.cartesian_prod(weights, weights).prod(dim=1) / (2 * math.pi))[None]
    loc, std = given[:, :2], (0.5 * given[:, 2:4]).exp()
    z = loc[:, None] + std[:, None] * grid  # image, point, latent
    continuous = Normal(loc, std).log_prob(z[:, :, None])  # image, point, posterior, latent
    of_prior = Normal(0.0, 1.0).log_prob(z)
    tables, priors = log_tables(kind, given)
    found = dict.fromkeys((*TERMS, "anchor_information"), 0.0)
    for combination in itertools.product(*map(range, SIZES[kind])):
        discrete = torch.stack([table[:, c] for table, c in zip(tables, combination, strict=True)], dim=1)
        log_q = torch.cat([continuous, discrete.expand(*continuous.shape[:2], -1, -1)], dim=3)
        log_p = [*of_prior.unbind(dim=2), *(table[c] for table, c in zip(priors, combination, strict=True))]
        own = torch.stack([log_q[i, :, i] for i in range(NUM_IMAGES)])

        def aggregate(chosen, log_q=log_q):
            return log_q[..., list(chosen)].sum(dim=3).logsumexp(dim=2) - math.log(NUM_IMAGES)

        everything = range(log_q.shape[3])
        whole, by_group = aggregate(everything), sum(aggregate(group) for group in groups)
        by_latent = sum(aggregate((latent,)) for latent in everything)
        values = (own.sum(dim=2) - whole, whole - by_group, by_group - by_latent, by_latent - sum(log_p))
        of_anchors = own[..., list(anchors)].sum(dim=2) - aggregate(anchors)
        probability = discrete.sum(dim=1).exp()[:, None] * mass
        for name, value in zip(found, (*values, of_anchors), strict=True):
            found[name] = found[name] + (probability * value).sum() / NUM_IMAGES
    return found


def only(objective, name):
    """The loss of this term alone, without a gradient of its own from the distortion."""
    weights = dict.fromkeys(("rate", *TERMS), 0.0) | {name: 1.0}
    return replace(objective.general_form(), **weights)


@cache
def case(objective, kind, name):
    """A term as a function of a step, and the gradient of its expectation."""
    family = latents(kind, "summed")
    given = parameters(family).requires_grad_()
    groups = GROUPS[kind] if objective == "HFVAE" else tuple((latent,) for latent in range(family.num_latents))
    (exact,) = torch.autograd.grad(expectations(kind, given, groups)[name], given, allow_unused=True)
    exact = torch.zeros_like(given) if exact is None else exact
    if objective == "anchor VAE":
        return lambda step: AnchorVAE(anchors=(1, 2))(step).parts["anchor_information"], exact
    loss = only(HFVAE() if objective == "HFVAE" else BetaTCVAE(), name)
    return lambda step: loss(step).total, exact


CASES = [
    *(("HFVAE", name) for name in TERMS),
    *(("beta-TCVAE", name) for name in TERMS if name != "total_correlation_within"),
    ("anchor VAE", "anchor_information"),
]


def standard_errors_off(objective, kind, name, measure):
    """How far the mean gradient over draws is from the expectation's, the farthest entry, in standard errors."""
    family = latents(kind, measure)
    term, exact = case(objective, kind, name)
    found = gradients(family, term, noise_of(family))
    error = found.std(dim=0) / math.sqrt(NUM_DRAWS)
    return ((found.mean(dim=0) - exact).abs() / (error + 1e-9)).max().item()


@pytest.mark.parametrize("kind", ["concrete", "bernoulli", "both"])
@pytest.mark.parametrize(("objective", "name"), CASES)
def test_the_mean_gradient_of_a_sampled_term_is_that_of_its_expectation(objective, name, kind):
    assert standard_errors_off(objective, kind, name, "summed") < 4


@pytest.mark.parametrize("kind", ["concrete", "bernoulli", "both"])
@pytest.mark.parametrize(("objective", "name"), [each for each in CASES if each[1] != "total_correlation_within"])
def test_with_the_category_drawn_it_is_not(objective, name, kind):
    """Within a group of Gaussian latents there is no category, and nothing to be wrong."""
    assert standard_errors_off(objective, kind, name, "pmf") > 4


@pytest.mark.parametrize("kind", ["concrete", "bernoulli", "both"])
def test_the_mean_of_each_term_is_its_expectation(kind):
    family = latents(kind, "summed")
    given, prior = parameters(family), prior_of(family)
    expected = expectations(kind, given, GROUPS[kind])

    def terms_of(noise):
        parts = HFVAE()(step_of(family, given, noise, prior)).parts
        return torch.stack([parts[name] for name in TERMS])

    terms = vmap(terms_of)(noise_of(family))
    error = terms.std(dim=0) / math.sqrt(NUM_DRAWS)
    for name, mean, spread in zip(TERMS, terms.mean(dim=0), error, strict=True):
        assert abs(mean - expected[name]) < 4 * spread + 1e-9


@pytest.mark.parametrize("kind", ["concrete", "bernoulli", "both"])
def test_hfvae_with_weights_1_is_the_vae_in_its_gradient(kind):
    """To the logits at every draw, because nothing of the categories is left to chance; to the rest on average."""
    family = latents(kind, "summed")
    noise = noise_of(family)
    ours = gradients(family, lambda step: HFVAE(alpha=1.0, beta=1.0, gamma=1.0)(step).total, noise)
    vae = gradients(family, lambda step: VAE()(step).total, noise[:1])[0]
    torch.testing.assert_close(ours[:, :, 4:], vae[:, 4:].expand_as(ours[:, :, 4:]))
    error = ours.std(dim=0) / math.sqrt(NUM_DRAWS)
    assert bool(((ours.mean(dim=0) - vae).abs() < 4 * error + 1e-9).all())


def test_correlated_latents_and_priors_keep_their_joint_density_beside_summed_ones():
    """A discrete latent that tells nothing, summed over, leaves all terms of the others as they are."""
    gaussian = CorrelatedGaussianLatents(2, exact_kl=True, prior=LearnedGaussianPrior())
    family = GroupedLatents((gaussian, ConcreteLatents(3, measure="summed")))
    generator = torch.Generator().manual_seed(0)
    given = torch.randn(NUM_IMAGES, 4, dtype=torch.float64, generator=generator)
    noise = torch.randn(NUM_IMAGES, 3 + 3, dtype=torch.float64, generator=generator)
    both = step_of(family, torch.cat([given, torch.zeros(NUM_IMAGES, 3, dtype=torch.float64)], dim=1), noise)
    alone = step_of(gaussian, given, noise[:, :3])
    for groups, same in ((((0, 1), (2,)), ((0, 1),)), (((0,), (1,), (2,)), ((0,), (1,))), ("each", "each")):
        found, expected = (
            decomposition(both, "stratified_pairs", groups),
            decomposition(alone, "stratified_pairs", same),
        )
        for name in TERMS:
            torch.testing.assert_close(getattr(found, name), getattr(expected, name))


def test_certain_categories_and_distant_codes_have_finite_terms_and_gradients():
    family = GroupedLatents((GaussianLatents(2), ConcreteLatents(3, measure="summed")))
    given = torch.tensor([[1e3, 0, -9, -9, 500, 0, -500], [-1e3, 5, 2, 2, -500, 500, 0], [0, 0, 0, 0, 0, 0, 0]]).float()
    given = torch.cat([given, given[:1] / 7]).requires_grad_()
    noise = noise_of(family, 1)[0].float()
    step = step_of(family, given, noise)
    step = replace(step, log_likelihood=torch.zeros(NUM_IMAGES), prior=family.make_prior()())
    loss = HFVAE()(step)
    (gradient,) = torch.autograd.grad(loss.total, given)
    assert all(bool(part.isfinite()) for part in loss.parts.values())
    assert bool(gradient.isfinite().all())


@pytest.mark.parametrize(
    "build",
    [
        lambda: BernoulliLatents(11, measure="summed"),
        lambda: GroupedLatents((ConcreteLatents(40, measure="summed"), ConcreteLatents(40, measure="summed"))),
    ],
)
def test_more_combinations_than_a_step_can_sum_over_are_refused(build):
    with pytest.raises(SpecError, match='most 1,024.*measure="pmf"'):
        build()
