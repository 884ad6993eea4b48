"""ELBO with a separate weight for each term of its rate."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal

import torch
from jaxtyping import Float
from torch import Tensor

from unbraid._internal.amounts import listed, short
from unbraid._internal.arrays import columns
from unbraid.config.schedule import Weight
from unbraid.errors import SpecError
from unbraid.information.aggregate import (
    Decomposition,
    Estimator,
    JointDensities,
    decompose,
    decompose_aggregates,
    log_weights,
    product_densities,
)
from unbraid.information.gaussian_mixture import gaussian_log_aggregate
from unbraid.models.autoencoder import Autoencoder
from unbraid.models.distributions.posteriors.gaussian import DiagonalGaussian
from unbraid.objectives.objective import Loss, Objective, Step, check_rate, check_weights
from unbraid.objectives.terms.nested_groups import Level, group_levels, overlapping_latents
from unbraid.objectives.weight_advice import RateWeight, WeightAdvice, suggest, suggest_less

Groups = tuple[tuple[int, ...], ...] | Literal["each", "model"]
"""Groups of latent indices, which may be nested; or "each" for single latents, or "model" for the model's groups."""
_MAX_NAMED = 2_000


@dataclass(frozen=True, kw_only=True)
class DecomposedELBO(Objective):
    """ELBO with a weight for each term of the rate: distortion + rate KL + mutual_information MI + ...

    Each numeric field is the weight of a term. KL is KL(q(z|x) || p(z)), in closed form if available. The mutual
    information MI, the total correlations TC between groups of latents and TC' within groups, and the dimension-wise KL
    are parts of the KL, estimated from the batch (see `Decomposition`). The total correlation of the prior is
    subtracted from TC and TC'. The weights (1, 0, 0, 0, 0) and (0, 1, 1, 1, 1) have the same expectation, the VAE.
    Groups may be nested. TC' is then a sum over the levels below the outermost groups, and `nested_weights` are the
    weights of the second and lower levels. VAE, beta-VAE, beta-TCVAE, beta-SVAE, HFVAE and information dropout are
    special cases of this objective. Models of these objectives with equal groups and estimators can share a fleet.

    The loss uses `estimator` and the training density of the latents. The logged parts always use eq. 13 of Esmaeili et
    al., arXiv:1804.02086v1, and the density of the draws. "mws" shifts the total correlation by the constant
    (L - 1) log N. This constant has no gradient, and the logged loss excludes it (`constant_of`).
    """

    rate: Weight = 0.0
    """Weight of KL(q(z|x) || p(z))."""
    mutual_information: Weight = 1.0
    """Weight of the mutual information of image and code."""
    total_correlation: Weight = 1.0
    """Weight of the total correlation between groups."""
    total_correlation_within: Weight = 1.0
    """Weight of the total correlation within groups."""
    dimension_wise_kl: Weight = 1.0
    """Weight of the dimension-wise KL."""
    groups: Groups = "each"
    """Groups of latent indices, "each" for single latents, or "model" for the groups of the model's latents."""
    estimator: Estimator = "mws"
    """Estimator of q(z) from a batch."""
    nested_weights: tuple[float, ...] = ()
    """Weights of the total correlation within nested groups, one per level; the last applies to all lower levels."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_weights(self, least=-math.inf)
        check_nested_weights(self, self.nested_weights, self.groups)

    def check(self, model: Autoencoder) -> None:
        check_rate(self, model)
        check_groups(self, self.groups, model)

    def check_image_weights(self) -> None:
        check_estimator(self.estimator)

    def weight_advice(self) -> WeightAdvice:
        return advice_on_parts(self, "total_correlation")

    def rate_weight(self) -> RateWeight:
        return rate_weight_of_parts(self)

    def __call__(self, step: Step) -> Loss:
        # Terms with weight 0 for all members of a fleet are skipped, so a VAE compares no pairs of codes.
        compares_pairs = not all(map(_is_zero, self._weights_of_parts))
        if compares_pairs:
            trained, logged = trained_and_logged(step, self.estimator, self.groups)
        else:
            trained, logged = None, decomposition(step, "stratified_pairs", self.groups)
        parts = elbo_parts(step, logged, grouped=self.groups != "each")
        terms = [] if _is_zero(self.rate) else [(self.rate, step.rate())]
        if trained is not None:
            means = (
                trained.mutual_information.mean(),
                trained.total_correlation.mean(),
                *self._within(step, trained),
                trained.dimension_wise_kl.mean(),
            )
            terms += [pair for pair in zip(self._weights_of_parts, means, strict=True) if not _is_zero(pair[0])]
        total = parts["distortion"]
        for weight, term in terms:
            total = total + weight * term
        return Loss(
            total=total,
            parts=parts,
            constant=constant_of(step, self.estimator, self.groups, self._weights_of_parts, len(self.nested_weights)),
        )

    @property
    def _weights_of_parts(self) -> tuple[Any, ...]:
        """Weights of the terms that compare the codes of the batch with each other."""
        within = (self.total_correlation_within, *self.nested_weights)
        return self.mutual_information, self.total_correlation, *within, self.dimension_wise_kl

    def _within(self, step: Step, trained: Decomposition) -> list[Float[Tensor, ""]]:
        """Returns the parts of the total correlation within the outermost groups, one for each weight."""
        below = _levels(self.groups, len(self.nested_weights))
        finer = [_decompositions(step, [self.estimator], cut)[0] for cut in below]
        within = [each.total_correlation_within.mean() for each in (trained, *finer)]
        return [*(upper - lower for upper, lower in pairwise(within)), within[-1]]


class CaseOfDecomposedELBO(Objective, ABC):
    """Base class of special cases of `DecomposedELBO`, computed by `general_form`."""

    @abstractmethod
    def general_form(self) -> DecomposedELBO: ...

    def __call__(self, step: Step) -> Loss:
        return self.general_form()(step)


def advice_on_parts(objective: Any, independence: str) -> WeightAdvice:
    """Returns the advice for a DecomposedELBO or Composite, with the weight `independence` of a total correlation."""
    name = "mutual_information" if objective.rate == 0 else "rate"
    return WeightAdvice(suggest_less(objective, name), suggest(objective, name, 2), suggest(objective, independence, 2))


def rate_weight_of_parts(objective: Any) -> RateWeight:
    """Returns the weight of the rate in a DecomposedELBO, or in a Composite without other terms."""
    names = ["mutual_information", "total_correlation", "total_correlation_within", "dimension_wise_kl"]
    if objective.groups == "each":
        names.remove("total_correlation_within")
    weights = {name: float(objective.rate + getattr(objective, name)) for name in names}
    if max(weights.values()) - min(weights.values()) < 1e-9:  # sums of weights have rounding errors
        return RateWeight(weight=max(weights.values()))
    texts = {"total_correlation_within": "total correlation within groups", "dimension_wise_kl": "dimension-wise KL"}
    named = (f"{texts.get(name, name.replace('_', ' '))} {short(weight)}" for name, weight in weights.items())
    return RateWeight(parts=listed(named))


def constant_of(
    step: Step, estimator: Estimator, groups: Groups, weights: Sequence[Any], num_nested: int = 0
) -> Float[Tensor, ""] | float:
    """Returns the constant that the estimator adds to the loss, which does not depend on the codes.

    With "mws", the weights in row i sum to p(n_i); with other estimators, to 1. So each log q^ of "mws" includes log
    p(n_i), which is -log N unless images are weighted. This summand occurs once in log q^(z), D times in the sum over D
    groups, and L times in the sum over L latents. `weights` are the weights of the mutual information, the total
    correlation, the total correlation within groups (one per level), and the dimension-wise KL.
    """
    if estimator != "mws":
        return 0.0
    mutual_information, total_correlation, *within_groups, dimension_wise_kl = weights
    num_latents, top = len(step.widths) or step.z.shape[1], _groups_of(step, groups)
    num_groups = num_latents if top is None else len(top)
    sizes = [num_groups, *map(len, _levels(groups, num_nested)), num_latents]
    within = sum(
        weight * (upper - lower) for weight, (upper, lower) in zip(within_groups, pairwise(sizes), strict=True)
    )
    log_mass = -math.log(step.dataset_size) if step.weights is None else step.weights.log().mean()
    return log_mass * (
        -mutual_information + (1 - num_groups) * total_correlation + within + num_latents * dimension_wise_kl
    )


def check_estimator(estimator: Estimator) -> None:
    """Raises if the estimator is not defined for weighted images."""
    if estimator == "mss":
        raise SpecError(
            "The objective has the estimator 'mss'; expected 'stratified_pairs' or 'mws', because the images are "
            "weighted (by weights or `sampling`). Pass estimator='stratified_pairs', the symmetric form of 'mss'."
        )


def decomposition(step: Step, estimator: Estimator, groups: Groups = "each") -> Decomposition | None:
    """Returns the parts of log q(z|x) - log p(z) for each code of the batch, or None if the step is not logged."""
    return _decompositions(step.as_logged(), [estimator], groups)[0] if step.is_logged else None


def elbo_parts(step: Step, logged: Decomposition | None, *, grouped: bool = False) -> dict[str, Float[Tensor, ""]]:
    """Returns the distortion, the rate and the parts of the rate, in nats per image.

    Without `logged`, returns only the distortion. Distortion plus rate is minus the ELBO, except for discrete latents:
    the decoder reads relaxed draws, but the rate refers to categories. The total correlation within
    groups is returned only if latents are `grouped`.
    """
    distortion = -step.log_likelihood.mean()
    if logged is None:
        return {"distortion": distortion}
    within = {"total_correlation_within": logged.total_correlation_within.mean()} if grouped else {}
    return {
        "distortion": distortion,
        "rate": step.as_logged().rate(),
        "mutual_information": logged.mutual_information.mean(),
        "total_correlation": logged.total_correlation.mean(),
        **within,
        "dimension_wise_kl": logged.dimension_wise_kl.mean(),
    }


def logged_parts(step: Step) -> dict[str, Float[Tensor, ""]]:
    """Returns the parts to log for objectives that do not decompose the rate."""
    return elbo_parts(step, decomposition(step, "stratified_pairs"))


def trained_and_logged(step: Step, estimator: Estimator, groups: Groups) -> tuple[Decomposition, Decomposition | None]:
    """Returns the parts of the rate for the loss, with `estimator`, and for the log, with eq. 13.

    The second is None if the step is not logged. Both are computed from the same densities, unless the training density
    differs from the density of the draws.
    """
    if step.as_logged() is not step or not step.is_logged:
        return _decompositions(step, [estimator], groups)[0], decomposition(step, "stratified_pairs", groups)
    logged, *trained = _decompositions(
        step, ["stratified_pairs"] if estimator == "stratified_pairs" else ["stratified_pairs", estimator], groups
    )
    return (trained or [logged])[0], logged


def _is_zero(weight: Any) -> bool:
    """Returns whether a weight is the number 0; False for tensors, whose values differ between fleet members."""
    return isinstance(weight, float) and weight == 0


def check_groups(objective: Objective, groups: Groups, model: Autoencoder) -> None:
    """Raises unless the groups contain every latent of the model once and no other index."""
    if isinstance(groups, str):
        return
    every = range(model.latents.num_latents)
    named = {latent for group in groups for latent in group}
    repeated = overlapping_latents(groups)
    if named != set(every) or repeated or not all(groups):
        missing, unknown = sorted(set(every) - named), sorted(named - set(every))
        raise SpecError(
            f"{type(objective).__name__}: groups is {groups} (missing {missing}, repeated {repeated}, unknown "
            f"{unknown}); expected each of the latents 0 to {every[-1]} in one group. Add missing latents, and remove "
            "repeated and unknown latents and empty groups. A group may be nested in another."
        )


def check_nested_weights(objective: Objective, nested_weights: tuple[float, ...], groups: Groups) -> None:
    """Raises if there are more weights than levels of groups, or more than `_MAX_NAMED` indices in the groups."""
    if not isinstance(groups, str) and (named := sum(map(len, groups))) > _MAX_NAMED:
        raise SpecError(
            f"{type(objective).__name__}: groups contain {named:,} indices; expected at most {_MAX_NAMED:,}. Use fewer "
            'groups, or groups="each" for single latents.'
        )
    num_levels = 0 if isinstance(groups, str) else len(group_levels(groups)) - 1
    if len(nested_weights) > num_levels or not all(map(math.isfinite, nested_weights)):
        raise SpecError(
            f"{type(objective).__name__}: nested_weights is {nested_weights}; expected at most {num_levels} finite "
            f"weights, one for each level of groups nested in {groups!r}."
        )


def _levels(groups: Groups, num_nested: int) -> list[Level]:
    """Returns the levels of groups below the outermost groups that have a separate weight."""
    return [] if isinstance(groups, str) else group_levels(groups)[1 : 1 + num_nested]


def _decompositions(step: Step, estimators: Sequence[Estimator], groups: Groups) -> list[Decomposition]:
    z, given = step.z, _groups_of(step, groups)
    tables = [
        log_weights(each, len(z), step.dataset_size, step.weights, dtype=z.dtype, device=z.device)
        for each in estimators
    ]
    if given is None and uses_fused_sums(step):
        return fused_decompositions(step, tables)
    return pairwise_decompositions(step, tables, given)


def uses_fused_sums(step: Step) -> bool:
    """Returns whether to compute and sum the densities in one kernel, which is much faster on a GPU."""
    is_factorized = type(step.posterior) is DiagonalGaussian and step.prior.is_factorized
    return is_factorized and step.z.device.type == "cuda" and step.z.dtype == torch.float32


def fused_decompositions(step: Step, tables: Sequence[Float[Tensor, "sample batch"]]) -> list[Decomposition]:
    """Returns the parts of the rate for independent Gaussian latents, without a table of pairwise densities."""
    z, posterior = step.z, step.posterior
    assert isinstance(posterior, DiagonalGaussian)
    log_posterior, log_prior = posterior.log_prob(z), step.prior.log_prob(z)
    aggregates = [gaussian_log_aggregate(z, posterior.loc, posterior.log_var, table) for table in tables]
    return [decompose_aggregates(log_posterior, joint, latents, log_prior) for joint, latents in aggregates]


def pairwise_decompositions(
    step: Step, tables: Sequence[Float[Tensor, "sample batch"]], groups: tuple[tuple[int, ...], ...] | None
) -> list[Decomposition]:
    """Returns the parts of the rate for each table of weights, from one table of pairwise densities."""
    log_posterior, pairwise, log_prior = expected_log_probs(step)
    product = product_densities(log_posterior, pairwise, log_prior, groups)
    joint = _with_correlations(product, step, groups, log_posterior, log_prior)
    summed = step.posterior.summed_log_pmf
    return [decompose(log_posterior, pairwise, table, log_prior, groups, joint, summed) for table in tables]


def expected_log_probs(
    step: Step,
) -> tuple[Float[Tensor, "batch latent"], Float[Tensor, "batch batch latent"], Float[Tensor, "batch latent"]]:
    """Returns log q(z_j | x) of each code, log q(z_j | x) of each pair of code and posterior, and log p(z_j).

    For latents with summed categories, the first and the last result are expectations over the categories. The second
    result is 0, because `log_mixture` adds the probability of every category.
    """
    z, posterior, prior = step.z, step.posterior, step.prior
    own, pairwise, log_prior = posterior.log_prob(z), posterior.pairwise_log_prob(z), prior.log_prob(z)
    of_prior, of_posterior = prior.summed_log_pmf, posterior.summed_log_pmf
    for latent, log_pmf in of_posterior.items():
        pmf = log_pmf.exp()
        own = _with_column(own, latent, (pmf * log_pmf).sum(dim=1))
        log_prior = _with_column(log_prior, latent, pmf @ of_prior[latent])
        pairwise = _with_column(pairwise, latent, torch.zeros_like(pairwise[..., latent]))
    return own, pairwise, log_prior


def _with_column(
    table: Float[Tensor, "*rows latent"], latent: int, column: Float[Tensor, "*rows"]
) -> Float[Tensor, "*rows latent"]:
    columns = list(table.unbind(dim=-1))
    columns[latent] = column
    return torch.stack(columns, dim=-1)


def _groups_of(step: Step, groups: Groups) -> tuple[tuple[int, ...], ...] | None:
    if groups == "model":
        if not step.groups:
            raise SpecError(
                'groups is "model"; expected a step with groups. Pass Step(groups=...) or tuples as groups.'
            )
        return step.groups
    return None if groups == "each" else group_levels(groups)[0]


def _with_correlations(
    product: JointDensities,
    step: Step,
    groups: tuple[tuple[int, ...], ...] | None,
    log_posterior: Float[Tensor, "batch latent"],
    log_prior: Float[Tensor, "batch latent"],
) -> JointDensities:
    """Replaces products of densities by joint densities where the posterior or the prior is correlated."""
    joint, posterior, prior, z = product, step.posterior, step.prior, step.z
    summed, everything = posterior.summed_log_pmf, tuple(range(log_prior.shape[1]))
    drawn = {group: [latent for latent in group if latent not in summed] for group in (everything, *(groups or ()))}

    def with_means(joint_log_prob: Tensor, each: Tensor, group: tuple[int, ...]) -> Tensor:
        """Adds the expectations of the latents with summed categories to the joint density of the other latents."""
        means = [latent for latent in group if latent in summed]
        return joint_log_prob + columns(each, means).sum(dim=1) if means else joint_log_prob

    if not posterior.is_factorized:
        joint = replace(
            joint,
            own=with_means(posterior.joint_log_prob(z, drawn[everything]), log_posterior, everything),
            pairwise=posterior.pairwise_joint_log_prob(z, drawn[everything]),
        )
        if groups is not None:
            joint = replace(
                joint,
                pairwise_groups=torch.stack(
                    [posterior.pairwise_joint_log_prob(z, drawn[group]) for group in groups], dim=2
                ),
            )
    if not prior.is_factorized:
        joint = replace(joint, prior=with_means(prior.joint_log_prob(z, drawn[everything]), log_prior, everything))
        if groups is not None:
            of_groups = [with_means(prior.joint_log_prob(z, drawn[group]), log_prior, group) for group in groups]
            joint = replace(joint, prior_groups=torch.stack(of_groups, dim=1))
    return joint
