"""Metrics of correlations and of the information in latents, as plain functions of arrays.

`mean` and `std` are (image, latent), `factors` is (image, factor). Functions that require `std` average over draws from
q(z | x), whose stds are above 0. The class of the same name in `unbraid.metrics` has further settings, and returns
intervals, tables and notes.
"""

from typing import NamedTuple

from unbraid.codes import Codes
from unbraid.functional.losses import Array
from unbraid.functional.scores import Factors, score_of
from unbraid.metrics import (
    INDIN,
    IRS,
    MCC,
    MISJED,
    SEPIN,
    ClusterAccuracy,
    Correlations,
    ELBODecomposition,
    GaussianTotalCorrelation,
    InformativeLatents,
    Informativeness,
    Lemma2Gap,
    PairwiseInformation,
    Separability,
    TopAttributes,
)
from unbraid.metrics.estimators import Estimator, Exact, Quantized, Sampled
from unbraid.metrics.gaussian_total_correlation import CovarianceOf
from unbraid.metrics.irs import ValueWeights
from unbraid.metrics.mcc import Correlation, Matching


class ELBOTerms(NamedTuple):
    """The result of `elbo_decomposition`, in nats. `kl` is the sum of the other terms."""

    total_correlation: float
    mutual_information: float
    dimension_wise_kl: float
    kl: float


def cluster_accuracy(probabilities: Array, factors: Factors) -> float:
    """Returns the accuracy of categories as clusters under the best one-to-one matching (Xie et al., ICML 2016).

    `probabilities` are q(c | x), (image, category), or a list of them: the best discrete latent of each factor counts.

    Examples:
        >>> import torch
        >>> cluster_accuracy(torch.tensor([[0.1, 0.9], [0.8, 0.2]] * 30), [[0], [1]] * 30)
        1.0
    """
    codes = Codes.from_arrays(probabilities=probabilities, factors=factors)
    return ClusterAccuracy()(codes, with_intervals=False).value


def irs(
    mean: Array,
    std: Array | None,
    factors: Factors,
    *,
    quantile: float = 0.99,
    value_weights: ValueWeights = "frequency",
) -> float:
    """Returns the interventional robustness score (Suter et al., arXiv:1811.00007v2). At most 1. `std` is not read.

    IRS_ik = 1 - sum_v w(v) Q_n:v(|z_ni - m_iv|) / max_n |z_ni - m_i|, with means m and the quantile Q. The score is
    the weighted mean of max_k IRS_ik over latents.

    Examples:
        >>> side = [[0], [1], [2]] * 20
        >>> irs(side, None, side)
        1.0
    """
    return score_of(IRS(quantile, value_weights), mean, std, factors).value


def mcc(
    mean: Array,
    std: Array | None,
    factors: Factors,
    *,
    correlation: Correlation = "pearson",
    matching: Matching = "strong",
) -> float:
    """Returns the mean correlation coefficient (Khemakhem et al., arXiv:1907.04809v4). At most 1. `std` is not read.

    MCC is the mean over factors of |corr(z_j, v_k)|, with the one-to-one matching that maximizes it.

    Examples:
        >>> side = [[0], [1], [2]] * 20
        >>> round(mcc(side, None, side), 6)
        1.0
    """
    return score_of(MCC(correlation, matching), mean, std, factors).value


def top_attributes(mean: Array, std: Array | None, factors: Factors, *, min_std: float = 0.0) -> float:
    """Returns mean_k max_i |corr(z_i, y_k)| (Kumar et al., arXiv:1711.00848v1, section 3). `std` is not read.

    Latents whose means have a std below `min_std` are left out.

    Examples:
        >>> side = [[0], [1], [2]] * 20
        >>> round(top_attributes(side, None, side), 6)
        1.0
    """
    return score_of(TopAttributes(min_std=min_std), mean, std, factors).value


def correlations(mean: Array, *, min_std: float = 0.0) -> float:
    """Returns the mean over i < j of |corr(z_i, z_j)| of the means; 0 is uncorrelated.

    Latents whose means have a std below `min_std` are left out.

    Examples:
        >>> round(correlations([[row, -row] for row in range(60)]), 6)
        1.0
    """
    return score_of(Correlations(min_std=min_std), mean).value


def gaussian_total_correlation(mean: Array, std: Array | None = None, *, covariance: CovarianceOf = "means") -> float:
    """Returns -1/2 log det of the correlations of latents, in nats (Locatello et al., arXiv:1811.12359v4). 0 is best.

    The correlations are computed from the "means", or from the "aggregate" posterior, which also reads `std`.

    Examples:
        >>> abs(round(gaussian_total_correlation([[0, 0], [0, 1], [1, 0], [1, 1]]), 6))
        0.0
    """
    return score_of(GaussianTotalCorrelation(covariance=covariance), mean, std).value


def elbo_decomposition(mean: Array, std: Array, *, estimator: Sampled = Sampled()) -> ELBOTerms:
    """Returns the terms of E KL(q(z|x) || p(z)) = I(x, z) + TC + sum_j KL(q(z_j) || p(z_j)), with p(z) = N(0, I).

    Chen et al., arXiv:1802.04942v5, eq. 2. q(z) is the mixture of all given posteriors.

    Examples:
        >>> mean, std = [[0.0, 0.0]] * 60, [[1.0, 1.0]] * 60
        >>> [abs(round(term, 4)) for term in elbo_decomposition(mean, std)]  # q(z | x) is the prior
        [0.0, 0.0, 0.0, 0.0]
    """
    score = score_of(ELBODecomposition(estimator), mean, std)
    return ELBOTerms(score.value, *(score.parts[name].value for name in ELBOTerms._fields[1:]))


def informativeness(mean: Array, std: Array, *, estimator: Estimator = Sampled()) -> float:
    """Returns the information of the latents about the image, I(x, z) = H(z) - H(z | x), in nats.

    Do & Tran, arXiv:1908.09961v4, section 3.1. With `Exact()` the result is the mean of I(x, z_i) over latents, with
    `Quantized()` the mean of I(x, z_i) / log B for B bins.

    Examples:
        >>> far = [[100.0 * image] for image in range(8)]  # 8 images without overlap: log 8
        >>> round(informativeness(far, [[0.1]] * 8), 1)
        2.1
    """
    return score_of(Informativeness(estimator), mean, std).value


def informative_latents(
    mean: Array, std: Array, *, estimator: Estimator = Exact(), min_information: float = 0.01
) -> int:
    """Returns the number of latents with I(x, z_i) > `min_information`, in nats.

    Examples:
        >>> informative_latents([[row, 0.0] for row in range(60)], [[1.0, 1.0]] * 60)
        1
    """
    return round(score_of(InformativeLatents(estimator, min_information), mean, std).value)


def separability(mean: Array, std: Array, *, estimator: Sampled = Sampled()) -> float:
    """Returns the mean over latents of I(z_i, z_not_i) = H(z_i) + H(z_not_i) - H(z), in nats. 0 is best.

    Do & Tran, arXiv:1908.09961v4, section 3.2.

    Examples:
        >>> mean, std = [[0.0, 0.0]] * 60, [[1.0, 1.0]] * 60
        >>> abs(round(separability(mean, std), 4))
        0.0
    """
    return score_of(Separability(estimator), mean, std).value


def sepin(mean: Array, std: Array, *, estimator: Sampled = Sampled()) -> float:
    """Returns WSEPIN = sum_i rho_i I(x, z_i | z_not_i), rho_i = I(x, z_i) / sum_j I(x, z_j), in nats. Higher is better.

    Do & Tran, arXiv:1908.09961v4, section 3.2.

    Examples:
        >>> far = [[100.0 * image] for image in range(8)]  # 8 images without overlap: log 8
        >>> round(sepin(far, [[0.1]] * 8), 1)
        2.1
    """
    return score_of(SEPIN(estimator), mean, std).value


def indin(mean: Array, std: Array, *, estimator: Sampled = Sampled()) -> float:
    """Returns WINDIN = sum_i rho_i (I(x, z_i) - I(z_i, z_not_i)), rho_i = I(x, z_i) / sum_j I(x, z_j), in nats.

    Do & Tran, arXiv:1908.09961v4, section 3.2. Higher is better.

    Examples:
        >>> far = [[100.0 * image] for image in range(8)]  # 8 images without overlap: log 8
        >>> round(indin(far, [[0.1]] * 8), 1)
        2.1
    """
    return score_of(INDIN(estimator), mean, std).value


def pairwise_information(mean: Array, std: Array, *, estimator: Sampled = Sampled()) -> float:
    """Returns the mean over pairs of I(z_i, z_j) = H(z_i) + H(z_j) - H(z_i, z_j), in nats. 0 is best.

    Do & Tran, arXiv:1908.09961v4, eq. 3.

    Examples:
        >>> mean, std = [[0.0, 0.0]] * 60, [[1.0, 1.0]] * 60
        >>> abs(round(pairwise_information(mean, std), 4))
        0.0
    """
    return score_of(PairwiseInformation(estimator), mean, std).value


def lemma2_gap(mean: Array, std: Array, *, estimator: Sampled = Sampled(), latents: tuple[int, ...] = ()) -> float:
    """Returns I(x, z_S) - sum_i I(x, z_i) over the `latents` i of S, in nats; 0 if they hold isolated information.

    Lemma 2 of the split-encoder paper, eq. 6. S has all latents by default.

    Examples:
        >>> mean, std = [[0.0, 0.0]] * 60, [[1.0, 1.0]] * 60
        >>> abs(round(lemma2_gap(mean, std), 4))
        0.0
    """
    return score_of(Lemma2Gap(estimator, latents=latents), mean, std).value


def misjed(mean: Array, std: Array, *, estimator: Quantized = Quantized()) -> float:
    """Returns the mean over pairs of (H(z_i) + H(z_j) - H(mean_i, mean_j)) / (2 log B), in B bins. Lower is better.

    Do & Tran, arXiv:1908.09961v4, section 3.2. Stds may be 0.

    Examples:
        >>> abs(round(misjed([[0, 0], [0, 1], [1, 0], [1, 1]], [[0, 0]] * 4), 6))
        0.0
    """
    return score_of(MISJED(estimator), mean, std).value
