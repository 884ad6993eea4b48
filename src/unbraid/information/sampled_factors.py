"""Mutual information of each latent and factor, estimated from draws."""

from collections.abc import Iterator
from typing import NamedTuple, final

import torch
from jaxtyping import Bool, Float64, Int64
from torch import Tensor

from unbraid.errors import CodesError
from unbraid.information.exact import mixtures
from unbraid.information.latent_information import LatentInformation, entropy, occurring_values, stacked
from unbraid.information.mixture_entropy import mixture_densities
from unbraid.information.posteriors import Draws, Posteriors
from unbraid.information.value_table import ValueTable

# Images per block in the sums for discrete latents.
_ROWS_PER_BLOCK = 32_768
# Approximate number of densities per block of draws: 128 MB.
_BLOCK_DENSITIES = 16_000_000


def sampled_information(
    posteriors: Posteriors, draws: Draws, values: ValueTable
) -> tuple[LatentInformation, dict[str, Float64[Tensor, "draw ..."]]]:
    """Estimates entropies and mutual information from draws, in nats, and returns the deviations of the draws.

    H(z_j) = -mean_s log q(z_j^s), H(z_j, v_k) = -mean_s log q(z_j^s, v_k^s) and I(z_j; v_k) = H(z_j) + H(v_k) -
    H(z_j, v_k), where v^s is the value of the image of draw s and q is the mixture of all images. Chen et al.,
    arXiv:1802.04942v5, section 4.1; Do & Tran, arXiv:1908.09961v4, appendix A.10. If a factor has missing labels, draws
    from images with known values are used. The deviations are named as the fields of `LatentInformation`. Their mean is
    0, and their variance is the Monte Carlo variance. H(v_k) and H(z_j | x) are not sampled and have no deviations.
    """
    if any(assignment.ndim == 2 for assignment in values.assignments):
        raise CodesError(
            "The factors have soft labels; expected one label per image for the sampled estimator. Use Quantized()."
        )
    logs = _logs(posteriors, draws, values)
    masses = values.split(values.value_masses)
    factor_entropy = stacked([entropy(part) for part in masses], values.value_masses.new_zeros(0))
    known = logs.value >= 0
    joint_entropy, of_joint = _mean_over_known(-logs.joint, known)
    log_ratio, of_ratio = _mean_over_known(logs.joint - logs.marginal, known)
    given_value, of_given_value = _mean_over_values(logs.factor[:, None] - logs.joint, logs.value)
    information = LatentInformation(
        entropy=-logs.latent.mean(dim=0),
        entropy_given_image=posteriors.entropy().each,
        factor_entropy=factor_entropy,
        joint_entropy=joint_entropy,
        mutual_information=log_ratio + factor_entropy,
        entropy_given_value=given_value,
        num_values=stacked([occurring_values(part).sum().double() for part in masses], factor_entropy),
    )
    return information, {
        "entropy": -logs.latent - information.entropy,
        "joint_entropy": of_joint,
        "mutual_information": of_ratio,
        "entropy_given_value": of_given_value,
    }


def _mean_over_known(
    terms: Float64[Tensor, "draw latent factor"], known: Bool[Tensor, "draw factor"]
) -> tuple[Float64[Tensor, "latent factor"], Float64[Tensor, "draw latent factor"]]:
    """Returns the mean over draws from images with a known value, NaN without such draws, and the deviations."""
    share = known.double().mean(dim=0)
    average = torch.where(known[:, None], terms, 0.0).mean(dim=0) / share
    return average, torch.where(known[:, None], terms - average, 0.0) / share


def _mean_over_values(
    terms: Float64[Tensor, "draw latent factor"], value: Int64[Tensor, "draw factor"]
) -> tuple[Float64[Tensor, "latent factor"], Float64[Tensor, "draw latent factor"]]:
    """Returns the unweighted mean over drawn values of the mean over the draws of each value, and the deviations."""
    averages, deviations = [], []
    for term, own in zip(terms.unbind(dim=2), value.unbind(dim=1), strict=True):
        known, place = own >= 0, own.clamp(min=0)
        counts = torch.bincount(own[known], minlength=1).double()
        of_value = term.new_zeros(len(counts), term.shape[1]).index_add_(0, own[known], term[known])
        of_value = of_value / counts.clamp(min=1)[:, None]
        num_values = (counts > 0).sum()
        averages.append(of_value.sum(dim=0) / num_values)
        centered = torch.where(known[:, None], term - of_value[place], 0.0)
        deviations.append(centered * (len(own) / counts.clamp(min=1) / num_values)[place, None])
    return stacked(averages, terms.new_zeros(terms.shape[1], 0)), stacked(deviations, terms)


@final
class _Logs(NamedTuple):
    """Log-densities at draws. `marginal`, `joint` and `factor` are mixtures of the images with a known value."""

    value: Int64[Tensor, "draw factor"]
    latent: Float64[Tensor, "draw latent"]  # q(z_j)
    marginal: Float64[Tensor, "draw latent factor"]  # q(z_j)
    joint: Float64[Tensor, "draw latent factor"]  # q(z_j, v_k)
    factor: Float64[Tensor, "draw factor"]  # p(v_k)


def _logs(posteriors: Posteriors, draws: Draws, values: ValueTable) -> _Logs:
    """Computes the log-densities in blocks of draws, because a draw needs a density for each column of `values`."""
    blocks = []
    totals = values.factor_sums(values.value_masses)
    for rows in torch.arange(len(draws), device=draws.image.device).split(
        max(1, _BLOCK_DENSITIES // values.num_columns)
    ):
        some = draws.rows(rows)
        own = stacked([a[some.image].long() for a in values.assignments], some.image.new_zeros(len(some), 0))
        latent, marginal, joint = [], [], []
        for density in _column_densities(posteriors, some, values):
            latent.append(density[:, 0].log())
            marginal.append((values.factor_sums(density) / totals).log())
            joint.append((_of_own_value(density, own, values) / totals).log())
        of_factor = (_of_own_value(values.value_masses.expand(len(some), -1), own, values) / totals).log()
        z, z_known, z_and_value = (torch.stack(parts, dim=1) for parts in (latent, marginal, joint))
        blocks.append(_Logs(own, z, z_known, z_and_value, of_factor))
    return _Logs(*map(torch.cat, zip(*blocks, strict=True)))


def _of_own_value(
    table: Float64[Tensor, "draw column"], own: Int64[Tensor, "draw factor"], values: ValueTable
) -> Float64[Tensor, "draw factor"]:
    """Returns for each factor the entry of the draw's value, or the first entry if the value is unknown."""
    parts = [part.gather(1, own[:, k, None].clamp(min=0))[:, 0] for k, part in enumerate(values.split(table))]
    return stacked(parts, table[:, :0])


def _column_densities(
    posteriors: Posteriors, draws: Draws, values: ValueTable
) -> Iterator[Float64[Tensor, "draw column"]]:
    """Yields for each latent the density or probability of all columns of the value table at each draw."""
    means, stds = posteriors.mean.double().T.contiguous(), posteriors.std.double().T.contiguous()
    for mean, std, z in zip(means, stds, draws.z.double().T.contiguous(), strict=True):
        yield mixture_densities(mixtures(mean, std, values), z, values.num_columns)
    for k, p in enumerate(posteriors.probabilities):
        masses = values.weights.new_zeros(p.shape[1], values.num_columns)
        for rows in torch.arange(len(p), device=masses.device).split(_ROWS_PER_BLOCK):
            masses += p[rows].double().T @ values.columns(rows)
        yield masses[draws.categories[:, k]]
