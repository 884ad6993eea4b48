"""The family that VAE, β-VAE and β-TCVAE belong to, and what it logs."""

import math
from dataclasses import replace
from typing import get_args

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.func import grad, vmap

from tests.objectives.steps import (
    a_mixed_step,
    a_step,
    distortion_by_hand,
    five_weights,
    parts_by_hand,
    rate_by_hand,
    sampled_rate_by_hand,
)
from tests.training.squares import Squares
from unbraid.errors import SpecError
from unbraid.information.aggregate import Estimator, log_weights
from unbraid.models import Autoencoder
from unbraid.models.distributions import (
    CorrelatedGaussian,
    DeterministicLatents,
    DiagonalGaussian,
    FullGaussian,
    GaussianLatents,
)
from unbraid.objectives import HFVAE, VAE, BetaSVAE, BetaTCVAE, BetaVAE, Composite, DecomposedELBO, decomposed_elbo
from unbraid.objectives.decomposed_elbo import (
    decomposition,
    fused_decompositions,
    pairwise_decompositions,
    uses_fused_sums,
)
from unbraid.training.runs.spec import RunSpec

ESTIMATORS = get_args(Estimator)


PARTS = ("distortion", "rate", "mutual_information", "total_correlation", "dimension_wise_kl")


# Known answers


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_each_weight_multiplies_its_own_term(estimator):
    step = a_step()
    mutual_information, total_correlation, dimension_wise_kl = parts_by_hand(step, estimator)
    # Where every latent is a group of its own, nothing is within groups.
    terms = (rate_by_hand(step), mutual_information, total_correlation, 0.0, dimension_wise_kl)
    for place in range(5):
        weights = [0.0] * 5
        weights[place] = 3.0
        found = DecomposedELBO(**five_weights(*weights), estimator=estimator)(step).total
        assert found.item() == pytest.approx(distortion_by_hand(step) + 3 * terms[place], rel=1e-10)


def test_the_log_holds_the_unweighted_parts_in_this_order():
    step = a_step()
    parts = DecomposedELBO(
        rate=0.3, mutual_information=5.0, total_correlation=7.0, dimension_wise_kl=9.0, estimator="mws"
    )(step).parts
    assert tuple(parts) == PARTS
    expected = (distortion_by_hand(step), rate_by_hand(step), *parts_by_hand(step, "stratified_pairs"))
    for name, value in zip(PARTS, expected, strict=True):
        assert parts[name].item() == pytest.approx(value, rel=1e-10)


WEIGHTS = five_weights(0.3, 5.0, 7.0, 2.0, 9.0)


@pytest.mark.parametrize("kind", [DecomposedELBO, Composite])
@pytest.mark.parametrize("groups", ["each", "model", ((0, 2), (1, 3, 4))])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_shown_loss_is_without_the_constants_of_mws(kind, groups, weighted):
    """Without them mws is the naive estimator. Neither value nor gradient of what is minimized changes."""
    step = a_mixed_step()
    if weighted:
        step = replace(step, weights=torch.tensor([0.1, 0.02, 0.3, 0.05, 0.2]).double())
    loss, naive = (kind(**WEIGHTS, groups=groups, estimator=each)(step) for each in ("mws", "naive"))
    assert loss.shown.item() == pytest.approx(naive.total.item(), rel=1e-12)
    assert abs(loss.total.item() - loss.shown.item()) > 10
    for estimator in ("naive", "mss", "stratified_pairs")[:: 2 if weighted else 1]:
        other = kind(**WEIGHTS, groups=groups, estimator=estimator)(step)
        assert torch.equal(other.shown, other.total)


def test_the_shown_loss_of_a_collapsed_model_is_its_distortion():
    step = a_step(dataset_size=737_280)
    posterior = DiagonalGaussian(torch.zeros_like(step.z), torch.zeros_like(step.z))
    loss = BetaTCVAE(beta=6.0)(replace(step, posterior=posterior))
    assert loss.parts["rate"].item() == pytest.approx(0, abs=1e-12)
    # What is left is the noise of one draw each in log q(z) - log p(z), which is 0 here.
    assert loss.shown.item() == pytest.approx(loss.parts["distortion"].item(), abs=1e-9)
    assert loss.total.item() > loss.shown.item() + 100


def test_the_logged_total_correlation_is_exact_where_the_batch_is_the_dataset():
    # With mws it would be more by (L - 1) log N.
    step = a_step(batch=6, dataset_size=6)
    densities = step.posterior.pairwise_log_prob(step.z)
    exact = (densities.sum(2).exp().mean(1).log() - densities.exp().mean(1).log().sum(1)).mean()
    torch.testing.assert_close(DecomposedELBO(estimator="mws")(step).parts["total_correlation"], exact)


def test_equal_posteriors_log_no_information_and_no_correlation():
    step = a_step()
    posterior = type(step.posterior)(torch.zeros_like(step.z), torch.zeros_like(step.z))
    for estimator in ESTIMATORS:
        parts = DecomposedELBO(estimator=estimator)(replace(step, posterior=posterior)).parts
        for name in PARTS[1:]:
            assert parts[name].item() == pytest.approx(0, abs=1e-12)


# Laws


@given(seed=st.integers(0, 1000), estimator=st.sampled_from(ESTIMATORS))
def test_the_logged_parts_sum_to_the_sampled_rate(seed, estimator):
    step = a_step(seed)
    parts = DecomposedELBO(estimator=estimator)(step).parts
    total = sum(parts[name].item() for name in PARTS[2:])
    assert total == pytest.approx(sampled_rate_by_hand(step), rel=1e-11, abs=1e-11)


def test_the_sampled_rate_is_the_rate_on_average():
    """(1, 0, 0, 0, 0) and (0, 1, 1, 1, 1) have the same expectation."""
    step = a_step(batch=1000, latents=1, dataset_size=1000)
    analytic, sampled = DecomposedELBO(**five_weights(1.0, 0.0, 0.0, 0.0, 0.0))(step), DecomposedELBO()(step)
    # log q(z|x) - log p(z) of one image has a standard deviation of about 1.5: the mean of 1000 of 0.05.
    torch.testing.assert_close(sampled.total, analytic.total, atol=0.2, rtol=0)


@pytest.mark.parametrize(
    ("special", "weights"),
    [
        (VAE(), (1.0, 0.0, 0.0, 0.0, 0.0)),
        (BetaVAE(4.0), (4.0, 0.0, 0.0, 0.0, 0.0)),
        (BetaSVAE(4.0), (4.0, 0.0, 0.0, 0.0, 0.0)),
        (BetaTCVAE(alpha=0.5, beta=6.0, gamma=2.0), (0.0, 0.5, 6.0, 0.0, 2.0)),
        (BetaTCVAE(alpha=0.5, beta=6.0, gamma=2.0, analytic_kl=True), (1.0, -0.5, 5.0, 0.0, 1.0)),
    ],
    ids=repr,
)
def test_its_special_cases(special, weights):
    assert special.general_form() == DecomposedELBO(**five_weights(*weights))


def test_it_is_its_own_general_form():
    objective = DecomposedELBO()
    assert objective.general_form() is objective


def test_a_case_keeps_its_estimator():
    assert BetaTCVAE(estimator="mss").general_form().estimator == "mss"


def test_weighted_images_change_the_log_too():
    weights = torch.tensor([0.3, 0.02, 0.1, 0.05, 0.2], dtype=torch.float64)
    step = a_step(weights=weights)
    parts = DecomposedELBO()(step).parts
    for name, value in zip(PARTS[2:], parts_by_hand(step, "stratified_pairs"), strict=True):
        assert parts[name].item() == pytest.approx(value, rel=1e-10)


def test_uniform_weights_change_nothing():
    uniform = torch.full((5,), 1 / 50, dtype=torch.float64)
    torch.testing.assert_close(DecomposedELBO()(a_step(weights=uniform)).total, DecomposedELBO()(a_step()).total)


# Errors


@pytest.mark.parametrize(
    ("groups", "says"),
    [
        (((0, 1),), "missing [2]"),
        (((0, 1), (1, 2)), "repeated [1]"),
        (((0, 1), (2, 3)), "unknown [3]"),
        (((0, 1, 2), ()), "((0, 1, 2), ())"),
        ((), "missing [0, 1, 2]"),
    ],
)
@pytest.mark.parametrize("cls", [DecomposedELBO, HFVAE, Composite])
def test_groups_that_do_not_hold_each_latent_once_are_refused_when_the_spec_is_built(cls, groups, says):
    with pytest.raises(SpecError, match=cls.__name__) as refused:
        RunSpec(Squares(), model=Autoencoder(latents=GaussianLatents(3)), objective=cls(groups=groups), batch_size=8)
    assert says in str(refused.value)


def test_groups_of_the_model_need_a_step_that_has_them():
    with pytest.raises(SpecError, match="groups"):
        DecomposedELBO(groups="model")(a_step())


def test_latents_without_a_density_are_refused_when_the_spec_is_built():
    with pytest.raises(SpecError, match="DeterministicLatents.*DecomposedELBO"):
        RunSpec(Squares(), model=Autoencoder(latents=DeterministicLatents(3)), objective=DecomposedELBO(), batch_size=8)


def test_a_weight_may_be_negative():
    assert DecomposedELBO(mutual_information=-1.0).mutual_information == -1.0


@pytest.mark.parametrize(
    "name", ["rate", "mutual_information", "total_correlation", "total_correlation_within", "dimension_wise_kl"]
)
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_weight_that_is_not_finite_is_refused_by_name(name, value):
    with pytest.raises(SpecError, match=f"DecomposedELBO: {name} is {value}"):
        DecomposedELBO(**{name: value})


# Two ways to the same parts: with all densities in a table, and summed as they are computed


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_both_ways_give_the_same_parts_and_gradients_to_every_member(estimator, weighted):
    if weighted and estimator == "mss":
        pytest.skip("mss is not defined for weighted images")
    generator = torch.Generator().manual_seed(0)
    noise = torch.randn(3, 20, 4, dtype=torch.float64, generator=generator)
    weights = torch.rand(3, 20, dtype=torch.float64, generator=generator) / 20
    like = a_step(batch=20, latents=4)

    def loss_of(way):
        def loss(loc, log_var, noise, weights):
            posterior = DiagonalGaussian(loc, log_var)
            step = replace(like, posterior=posterior, z=posterior.rsample(noise), weights=weights if weighted else None)
            table = log_weights(estimator, 20, step.dataset_size, step.weights, dtype=torch.float64)
            (parts,) = way(step, [table])
            # In the mean over the batch, so that no code's part is hidden by another's.
            return (
                (
                    parts.mutual_information.square()
                    + 2 * parts.total_correlation.square()
                    + 3 * parts.dimension_wise_kl.square()
                ).mean(),
                (
                    parts.mutual_information,
                    parts.total_correlation,
                    parts.total_correlation_within,
                    parts.dimension_wise_kl,
                ),
            )

        return loss

    loc, log_var = (like.posterior.loc + noise.flip(0)), (like.posterior.log_var + 0.1 * noise)
    fused, pairwise = (
        vmap(grad(loss_of(way), argnums=(0, 1), has_aux=True))(loc, log_var, noise, weights)
        for way in (fused_decompositions, lambda step, tables: pairwise_decompositions(step, tables, None))
    )
    torch.testing.assert_close(fused, pairwise)


def test_densities_are_summed_as_they_are_computed_on_a_gpu_where_latents_are_independent_gaussians():
    step = a_step(dtype=torch.float32)
    assert not uses_fused_sums(step)

    def on_a_gpu(step):
        with FakeTensorMode(allow_non_fake_inputs=True):
            return replace(step, z=torch.empty(step.z.shape, dtype=step.z.dtype, device="cuda"))

    assert uses_fused_sums(on_a_gpu(step))
    correlated = CorrelatedGaussian(step.posterior.loc, step.posterior.log_var, 0.5, exact=True)
    learned = FullGaussian(torch.zeros(3), torch.eye(3))
    mixed = a_mixed_step()
    others = (
        a_step(),
        replace(step, posterior=correlated),
        replace(step, prior=learned),
        replace(mixed, z=mixed.z.float()),
    )
    assert not any(uses_fused_sums(on_a_gpu(other)) for other in others)


def test_latents_that_are_each_a_group_go_the_short_way_and_groups_the_long_one(monkeypatch):
    step = a_step()
    each, grouped = decomposition(step, "stratified_pairs"), decomposition(step, "stratified_pairs", ((0, 1), (2,)))
    monkeypatch.setattr(decomposed_elbo, "uses_fused_sums", lambda step: True)
    with monkeypatch.context() as patch:
        patch.setattr(decomposed_elbo, "pairwise_decompositions", None)
        torch.testing.assert_close(vars(decomposition(step, "stratified_pairs")), vars(each))
    monkeypatch.setattr(decomposed_elbo, "fused_decompositions", None)
    torch.testing.assert_close(vars(decomposition(step, "stratified_pairs", ((0, 1), (2,)))), vars(grouped))
