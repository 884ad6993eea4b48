"""UDR: how well the latents of a model agree with those of other seeds of its setting (arXiv:1905.12614v4)."""

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
from jaxtyping import Float64
from scipy import stats
from sklearn.linear_model import Lasso

from unbraid import sampling
from unbraid.codes import Codes
from unbraid.errors import CodesError

Similarity = Literal["spearman", "lasso"]

_USED = 0.01  # nats: a latent whose mean KL to a standard normal is not above it says nothing
_ALPHA = 0.1  # of the published Lasso
_NUM_ROWS = 1_000


def udr_scores(
    codes: Mapping[int, Codes], *, similarity: Similarity = "spearman", num_rows: int = _NUM_ROWS, seed: int = 0
) -> dict[int, float]:
    """Returns the UDR of each model of one setting, by its seed: the median over all other models of how uniquely their
    used latents match. 1 is a match of one to one; a model without used latents has 0.

    `similarity` is the absolute rank correlation of two latents, or the absolute coefficients of a Lasso from all
    latents of one model to each of the other's. At most `num_rows` images are drawn, the same for all models.
    """
    if len(codes) < 2:
        raise CodesError(f"UDR compares the seeds of a setting, and here is {len(codes)}; expected two or more.")
    sizes = {len(each) for each in codes.values()}
    if len(sizes) > 1:
        raise CodesError(f"The models encode {sorted(sizes)} images; expected codes of the same images.")
    count = sizes.pop()
    rows = sampling.permuted_rows(count, seed, "images of UDR")[: min(num_rows, count)].numpy()
    means = {model: _used_means(each)[rows] for model, each in codes.items()}
    return {
        model: float(np.median([_agreement(own, means[other], similarity) for other in means if other != model]))
        for model, own in means.items()
    }


def _used_means(codes: Codes) -> Float64[np.ndarray, "image latent"]:
    """Returns the standardised means of those latents that are used."""
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
    """Returns the mean over both models of how much of what a latent resembles is one latent, times how well."""
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
    first, second = (_standardised(stats.rankdata(each, axis=0)) for each in (own, other))
    return np.abs(first.T @ second) / len(own)


def _coefficients(
    own: Float64[np.ndarray, "image latent"], other: Float64[np.ndarray, "image other_latent"]
) -> Float64[np.ndarray, "latent other_latent"]:
    fits: Sequence[Lasso] = [Lasso(alpha=_ALPHA, random_state=0).fit(own, column) for column in other.T]
    return np.abs(np.stack([fit.coef_ for fit in fits], axis=1))


def _standardised(values: Float64[np.ndarray, "image latent"]) -> Float64[np.ndarray, "image latent"]:
    spread = values.std(axis=0)
    return (values - values.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
