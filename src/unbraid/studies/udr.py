"""Unsupervised disentanglement ranking (UDR; arXiv:1905.12614v4)."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float64
from scipy import stats

from unbraid._internal import row_draws
from unbraid.codes import Codes
from unbraid.errors import CodesError

_USED = 0.01  # nats: a latent is used if its mean KL to a standard normal is larger
_NUM_ROWS = 1_000


def udr_scores(codes: Mapping[int, Codes]) -> dict[int, float]:
    """Computes the UDR of each model of one setting, by its seed, from codes of the same images.

    It is the median over all other models of how uniquely the used latents match by absolute rank correlation: 1 for a
    one-to-one match, and 0 for a model without used latents. All models share 1,000 drawn images.
    """
    if len(codes) < 2:
        raise CodesError(f"UDR compares the seeds of a setting; expected two or more, got {len(codes)}.")
    sizes = {len(each) for each in codes.values()}
    if len(sizes) > 1:
        raise CodesError(f"Expected codes of the same images, got codes of {sorted(sizes)} images.")
    count = sizes.pop()
    rows = row_draws.permuted_rows(count, 0, "images of UDR")[: min(_NUM_ROWS, count)].numpy()
    means = {model: _used_means(each)[rows] for model, each in codes.items()}
    return {
        model: float(np.median([_agreement(own, means[other]) for other in means if other != model]))
        for model, own in means.items()
    }


def _used_means(codes: Codes) -> Float64[np.ndarray, "image latent"]:
    """Returns the means of the used latents."""
    mean = codes.mean.double().cpu().numpy()
    used = mean.std(axis=0) > 0
    if codes.marginal_std is not None:
        variance = np.maximum(codes.marginal_std.double().cpu().numpy() ** 2, np.finfo(np.float64).tiny)
        used &= ((mean**2 + variance - 1 - np.log(variance)) / 2).mean(axis=0) > _USED
    return mean[:, used]


def _agreement(own: Float64[np.ndarray, "image latent"], other: Float64[np.ndarray, "image other_latent"]) -> float:
    """Returns the mean over the latents of both models of the largest correlation times its share of all."""
    if own.shape[1] == 0 or other.shape[1] == 0:
        return 0.0
    first, second = (_standardized(stats.rankdata(each, axis=0)) for each in (own, other))
    table = np.abs(first.T @ second) / len(own)
    return 0.5 * (_uniqueness(table) + _uniqueness(table.T))


def _uniqueness(table: Float64[np.ndarray, "latent other_latent"]) -> float:
    largest, total = table.max(axis=0), table.sum(axis=0)
    return float(np.divide(largest**2, total, out=np.zeros_like(total), where=total > 0).mean())


def _standardized(values: Float64[np.ndarray, "image latent"]) -> Float64[np.ndarray, "image latent"]:
    spread = values.std(axis=0)
    return (values - values.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
