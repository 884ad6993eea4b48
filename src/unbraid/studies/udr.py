"""Unsupervised disentanglement ranking (UDR; arXiv:1905.12614v4)."""

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
from jaxtyping import Float64
from scipy import stats

from unbraid._internal import row_draws
from unbraid.codes import Codes
from unbraid.errors import CodesError

Similarity = Literal["spearman", "lasso"]

_USED = 0.01  # nats: a latent is used if its mean KL to a standard normal is larger
_ALPHA = 0.1  # of the published Lasso
_NUM_ROWS = 1_000


def udr_scores(
    codes: Mapping[int, Codes], *, similarity: Similarity = "spearman", num_rows: int = _NUM_ROWS, seed: int = 0
) -> dict[int, float]:
    """Computes the UDR of each model of one setting, by its seed.

    It is the median over all other models of how uniquely the used latents match: 1 for a one-to-one match, and 0 for a
    model without used latents.

    Args:
        codes: The codes of the same images by each model.
        similarity: The absolute rank correlation of two latents, or the absolute coefficients of a Lasso from all
            latents of one model to each latent of the other.
        num_rows: The number of images that are drawn, the same for all models.
        seed: The seed of these draws.
    """
    if len(codes) < 2:
        raise CodesError(f"UDR compares the seeds of a setting; expected two or more, got {len(codes)}.")
    sizes = {len(each) for each in codes.values()}
    if len(sizes) > 1:
        raise CodesError(f"Expected codes of the same images, got codes of {sorted(sizes)} images.")
    count = sizes.pop()
    rows = row_draws.permuted_rows(count, seed, "images of UDR")[: min(num_rows, count)].numpy()
    means = {model: _used_means(each)[rows] for model, each in codes.items()}
    return {
        model: float(np.median([_agreement(own, means[other], similarity) for other in means if other != model]))
        for model, own in means.items()
    }


def _used_means(codes: Codes) -> Float64[np.ndarray, "image latent"]:
    """Returns the standardized means of the used latents."""
    mean = codes.mean.double().cpu().numpy()
    std = None if codes.marginal_std is None else codes.marginal_std.double().cpu().numpy()
    if std is None:
        used = mean.std(axis=0) > 0
    else:
        variance = np.maximum(std**2, np.finfo(np.float64).tiny)
        used = ((mean**2 + variance - 1 - np.log(variance)) / 2).mean(axis=0) > _USED
    kept = mean[:, used & (mean.std(axis=0) > 0)]
    return (kept - kept.mean(axis=0)) / kept.std(axis=0)


def _agreement(
    own: Float64[np.ndarray, "image latent"], other: Float64[np.ndarray, "image other_latent"], similarity: Similarity
) -> float:
    """Returns the mean over the latents of both models of the largest similarity times its share of all."""
    if own.shape[1] == 0 or other.shape[1] == 0:
        return 0.0
    table = _correlations(own, other) if similarity == "spearman" else _coefficients(own, other)
    return 0.5 * (_uniqueness(table) + _uniqueness(table.T))


def _uniqueness(table: Float64[np.ndarray, "latent other_latent"]) -> float:
    largest, total = table.max(axis=0), table.sum(axis=0)
    return float(np.divide(largest**2, total, out=np.zeros_like(total), where=total > 0).mean())


def _correlations(
    own: Float64[np.ndarray, "image latent"], other: Float64[np.ndarray, "image other_latent"]
) -> Float64[np.ndarray, "latent other_latent"]:
    first, second = (_standardized(stats.rankdata(each, axis=0)) for each in (own, other))
    return np.abs(first.T @ second) / len(own)


def _coefficients(
    own: Float64[np.ndarray, "image latent"], other: Float64[np.ndarray, "image other_latent"]
) -> Float64[np.ndarray, "latent other_latent"]:
    from sklearn.linear_model import Lasso  # takes half a second to import

    fits: Sequence[Lasso] = [Lasso(alpha=_ALPHA, random_state=0).fit(own, column) for column in other.T]
    return np.abs(np.stack([fit.coef_ for fit in fits], axis=1))


def _standardized(values: Float64[np.ndarray, "image latent"]) -> Float64[np.ndarray, "image latent"]:
    spread = values.std(axis=0)
    return (values - values.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
