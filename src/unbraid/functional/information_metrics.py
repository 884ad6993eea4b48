"""Metrics of the information between latents and factors, as plain functions of arrays.

`mean` and `std` are (image, latent), `factors` is (image, factor). If `std` is None (a deterministic encoder), the
default estimator is `MeansHistogram()`: 20 bins between the smallest and the largest mean of each latent. The class of
the same name in `unbraid.metrics` has further settings, and returns intervals, tables and notes.
"""

from typing import NamedTuple

from jaxtyping import Float64
from torch import Tensor

from unbraid.functional.losses import Array
from unbraid.functional.scores import Factors, score_of
from unbraid.metrics import DCIMIG, JEMMIG, MED, MIG, RMIG, InfoMEC, MIGSup, Minimality, Modularity
from unbraid.metrics.estimators import Estimator, Exact, Quantized
from unbraid.metrics.mig import ValueWeights
from unbraid.metrics.modularity import Uninformative


def mutual_information(
    codes: Array, factors: Factors, *, std: Array | None = None, estimator: Estimator = Exact()
) -> Float64[Tensor, "latent factor"]:
    """Returns I(z_j; v_k) of each latent with each factor, in nats.

    `codes` (image, latent) are the means of the posteriors, and `std` their standard deviations.

    Examples:
        >>> side = [[0], [1]] * 30
        >>> mutual_information(side, side).tolist()  # log 2
        [[0.693147...]]
    """
    return score_of(MIG(estimator), codes, std, factors).tables["mutual_information"]


class MinimalityScores(NamedTuple):
    """The result of `minimality`."""

    minimality: float
    sufficiency: float


class InfoMECScores(NamedTuple):
    """The result of `infomec`."""

    modularity: float
    compactness: float
    explicitness: float


def mig(
    mean: Array,
    std: Array | None,
    factors: Factors,
    *,
    estimator: Estimator = Exact(),
    value_weights: ValueWeights = "frequency",
) -> float:
    """Returns the mutual information gap (Chen et al., arXiv:1802.04942v5, eq. 6). Higher is better, at most 1.

    MIG = mean_k (I(z_a; v_k) - I(z_b; v_k)) / H(v_k), where latents a and b have the most information about factor
    k.

    Examples:
        >>> mean = [[0, 0], [1, 0], [2, 0]] * 20  # only the first latent depends on side
        >>> round(mig(mean, [[0.1, 1.0]] * 60, [[0], [1], [2]] * 20), 3)
        1.0
    """
    return score_of(MIG(estimator, value_weights), mean, std, factors).value


def mig_sup(mean: Array, std: Array | None, factors: Factors, *, estimator: Estimator = Exact()) -> float:
    """Returns MIG with the roles of latents and factors swapped (Li et al., arXiv:2002.10549v1). At most 1.

    MIG-sup = mean_j (I(z_j; v_a) / H(v_a) - I(z_j; v_b) / H(v_b)), where latent j has the largest shares of the
    entropies of factors a and b.

    Examples:
        >>> side = [[0], [1], [2]] * 20
        >>> round(mig_sup(side, None, side), 3)
        1.0
    """
    return score_of(MIGSup(estimator), mean, std, factors).value


def rmig(mean: Array, std: Array | None, factors: Factors, *, estimator: Estimator = Quantized()) -> float:
    """Returns MIG in bins (Do & Tran, arXiv:1908.09961v4, eq. 10). Higher is better, at most 1.

    RMIG = mean_k (I(z_a; y_k) - I(z_b; y_k)) / H(y_k), by default in 100 bins from -4 to 4.

    Examples:
        >>> side = [[0], [1], [2]] * 20
        >>> round(rmig(side, None, side), 3)
        1.0
    """
    return score_of(RMIG(estimator), mean, std, factors).value


def jemmig(mean: Array, std: Array | None, factors: Factors, *, estimator: Estimator = Quantized()) -> float:
    """Returns the joint entropy minus mutual information gap (Do & Tran, arXiv:1908.09961v4, eq. 17). 0 is best.

    JEMMIG = mean_k (H(z_a, y_k) - I(z_a; y_k) + I(z_b; y_k)) / (H(y_k) + log B), in B bins.

    Examples:
        >>> side = [[0], [1], [2]] * 20
        >>> abs(round(jemmig(side, None, side), 3))
        0.0
    """
    return score_of(JEMMIG(estimator), mean, std, factors).value


def modularity(
    mean: Array,
    std: Array | None,
    factors: Factors,
    *,
    estimator: Estimator = Quantized(),
    uninformative: Uninformative = "zero",
) -> float:
    """Returns whether each latent is informative about one factor (Ridgeway & Mozer, arXiv:1802.05312v2). At most 1.

    M = mean_i 1 - sum_{k != k*} I(z_i; v_k)^2 / (I(z_i; v_k*)^2 (K - 1)), where latent i has the most information
    about factor k*.

    Examples:
        >>> factors = [[0, 0], [0, 1], [1, 0], [1, 1]] * 20
        >>> round(modularity(factors, None, factors), 3)
        1.0
    """
    return score_of(Modularity(estimator, uninformative=uninformative), mean, std, factors).value


def dcimig(mean: Array, std: Array | None, factors: Factors, *, estimator: Estimator = Exact()) -> float:
    """Returns DCIMIG = sum_k max_j g_jk / sum_k H(v_k) (Sepliarskaia et al., arXiv:1910.05587v3). At most 1.

    g_jk is the gap I(z_j; v_k) - I(z_j; v_b) if latent j has the most information about factor k and the second
    most about b, and 0 for all other factors.

    Examples:
        >>> factors = [[0, 0], [0, 1], [1, 0], [1, 1]] * 20
        >>> round(dcimig(factors, None, factors), 3)
        1.0
    """
    return score_of(DCIMIG(estimator), mean, std, factors).value


def med(
    mean: Array, std: Array | None, factors: Factors, *, estimator: Estimator = Exact(), num_top: int | None = None
) -> float:
    """Returns the disentanglement of DCI with information as importance (Cao et al., arXiv:2206.04756v2). At most 1.

    MED is the weighted mean over latents of 1 - H(R_j. / sum_k R_jk) / log K, with R_jk = I(z_j; v_k) / sum_i
    I(z_i; v_k). With `num_top`, only as many latents count for each factor.

    Examples:
        >>> factors = [[0, 0], [0, 1], [1, 0], [1, 1]] * 20
        >>> round(med(factors, None, factors), 3)
        1.0
    """
    return score_of(MED(estimator, num_top=num_top), mean, std, factors).value


def minimality(mean: Array, std: Array | None, factors: Factors, *, estimator: Estimator = Exact()) -> MinimalityScores:
    """Returns minimality and sufficiency (Almudévar et al., arXiv:2408.07016v3). Higher is better.

    Minimality is mean_j max_k I(z_j; v_k) / I(x; z_j), and sufficiency is mean_k max_j I(z_j; v_k) / H(v_k).

    Examples:
        >>> side = [[0], [1], [2]] * 20
        >>> [round(score, 3) for score in minimality(side, None, side)]
        [1.0, 1.0]
    """
    score = score_of(Minimality(estimator), mean, std, factors)
    return MinimalityScores(score.value, score.parts["sufficiency"].value)


def infomec(mean: Array, std: Array | None, factors: Factors, *, estimator: Estimator = Exact()) -> InfoMECScores:
    """Returns InfoM, InfoC and InfoE (Hsu et al., arXiv:2305.18378v2). Higher is better, at most 1.

    With N_jk = I(z_j; v_k) / H(v_k), InfoM is the mean over latents of max_k N_jk / sum_k N_jk, and InfoC the mean
    over factors of max_j N_jk / sum_j N_jk, both scaled to start at 0. InfoE is the mean over factors of 1 - h /
    h_0, with the log loss h of a logistic regression on all latents, and h_0 without latents.

    Examples:
        >>> factors = [[0, 0], [0, 1], [1, 0], [1, 1]] * 20
        >>> [round(score, 1) for score in infomec(factors, None, factors)]
        [1.0, 1.0, 0.8]
    """
    score = score_of(InfoMEC(estimator), mean, std, factors)
    return InfoMECScores(score.value, score.parts["compactness"].value, score.parts["explicitness"].value)
