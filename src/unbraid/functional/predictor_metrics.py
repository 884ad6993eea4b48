"""Metrics that fit predictors of the factors, as plain functions of arrays.

`mean` is (image, latent), `factors` is (image, factor). `std` (image, latent) is not read unless the function mentions
it; pass it or None, as in other metrics. The class of the same name in `unbraid.metrics` has further settings, such as
the numbers of training and test images, and returns intervals, tables and notes.
"""

from typing import NamedTuple

from unbraid.functional.losses import Array
from unbraid.functional.scores import Factors, score_of
from unbraid.metrics import DCI, DCIES, SAP, SNC, AttributeVector, Downstream, Explicitness, FactorVAEScore, ZDiff
from unbraid.metrics.dci import CompletenessAverage
from unbraid.metrics.downstream import Classifier
from unbraid.metrics.explicitness import ValueClassifier
from unbraid.metrics.predicting.factor_predictors import Predictor
from unbraid.metrics.sap import FactorsAs, LatentClassifier
from unbraid.metrics.zdiff import PairClassifier, PairLatents


class DCIScores(NamedTuple):
    """The result of `dci`. The test error is RMSE / std(y), or the share of wrong classes."""

    disentanglement: float
    completeness: float
    test_error: float


class SNCScores(NamedTuple):
    """The result of `snc`."""

    accuracy: float
    knock_out: float


def dci(
    mean: Array,
    std: Array | None,
    factors: Factors,
    *,
    predictor: Predictor = "lasso",
    completeness: CompletenessAverage = "mean",
) -> DCIScores:
    """Returns disentanglement, completeness and the prediction error (Eastwood & Williams, ICLR 2018).

    D is the weighted mean over latents of 1 - H(R_i. / sum_k R_ik) / log K, and C the mean over factors of 1 -
    H(R_.k / sum_i R_ik) / log L. R_ik is the importance of latent i for a predictor of factor k: "lasso", "forest",
    or "boosted_trees" as in disentanglement_lib.

    Examples:
        >>> factors = [[0, 0], [0, 1], [1, 0], [1, 1]] * 20
        >>> [round(score, 2) for score in dci(factors, None, factors)]
        [1.0, 1.0, 0.0]
    """
    score = score_of(DCI(predictor=predictor, completeness=completeness), mean, std, factors)
    return DCIScores(score.value, score.parts["completeness"].value, score.parts["test_error"].value)


def dcies(mean: Array, std: Array | None, factors: Factors, *, hidden: tuple[int, ...] = (0, 8, 32, 128)) -> float:
    """Returns the explicitness of DCI-ES, with probes of `hidden` units (Eastwood et al., arXiv:2210.00364v2).

    E = 1 - 2 A / ((k_max - k_min) l_b), where k is the logarithm of the number of parameters of a probe, l_b the
    loss of guessing, and A the area between the loss over k and its final value.

    Examples:
        >>> side = [[0], [1]] * 30
        >>> round(dcies(side, None, side), 1)
        1.0
    """
    return score_of(DCIES(hidden), mean, std, factors).value


def sap(
    mean: Array,
    std: Array | None,
    factors: Factors,
    *,
    classifier: LatentClassifier = "svm",
    factors_as: FactorsAs = "labels",
) -> float:
    """Returns separated attribute predictability (Kumar et al., arXiv:1711.00848v3). Higher is better, at most 1.

    SAP = mean_k (S_ik - S_jk), where latents i and j are the best single predictors of factor k. S is the test
    accuracy of a classifier, or the squared correlation with a continuous factor.

    Examples:
        >>> sap([[0, 0], [1, 0]] * 30, None, [[0], [1]] * 30) > 0.4
        True
    """
    return score_of(SAP(classifier, factors_as), mean, std, factors).value


def explicitness(
    mean: Array, std: Array | None, factors: Factors, *, classifier: ValueClassifier = "one_vs_rest"
) -> float:
    """Returns the mean area under the ROC curve of logistic regressions on all latents; 0.5 is chance.

    Ridgeway & Mozer, arXiv:1802.05312v2, section 3: the mean over factors of the mean over their values.

    Examples:
        >>> side = [[0], [1]] * 30
        >>> explicitness(side, None, side)
        1.0
    """
    return score_of(Explicitness(classifier), mean, std, factors).value


def downstream(mean: Array, std: Array | None, factors: Factors, *, classifier: Classifier = "linear") -> float:
    """Returns the mean over factors of the test accuracy of a classifier on all latents.

    Locatello et al., arXiv:1811.12359v4, section 5.5.

    Examples:
        >>> side = [[0], [1]] * 30
        >>> downstream(side, None, side)
        1.0
    """
    return score_of(Downstream(classifier), mean, std, factors).value


def attribute_vector(mean: Array, std: Array | None, factors: Factors) -> float:
    """Returns the mean test accuracy of the classifiers w.z + b > 0 of factors with two values.

    Kumar et al., arXiv:1711.00848v1, table 2: w is the difference of the class means, and b minimizes the hinge
    loss.

    Examples:
        >>> side = [[0], [1]] * 30
        >>> attribute_vector(side, None, side)
        1.0
    """
    return score_of(AttributeVector(), mean, std, factors).value


def snc(mean: Array, std: Array | None, factors: Factors, *, hidden: int = 256) -> SNCScores:
    """Returns the accuracy of single latents, and the loss without them (Mahon et al., arXiv:2304.02335v4).

    The accuracy of one latent, averaged over factors, uses one bin of equal mass for each value of the factor. The
    knock-out is the loss in accuracy of a net of `hidden` units without the latent of the factor.

    Examples:
        >>> scores = snc([[row] for row in range(60)], None, [[row // 30] for row in range(60)])
        >>> scores.accuracy > 0.9
        True
    """
    score = score_of(SNC(hidden), mean, std, factors)
    return SNCScores(score.value, score.parts["knock_out"].value)


def factor_vae_score(
    mean: Array, std: Array | None, factors: Factors, *, batch_size: int = 64, min_std: float = 0.05
) -> float:
    """Returns the accuracy of a majority vote of the least-varying latent (Kim & Mnih, arXiv:1802.05983v3, section 4).

    In each batch of images that share a value of a factor, the latent with the smallest ratio of its variance to
    its variance over all images votes. Latents with a std of their means below `min_std` do not vote.

    Examples:
        >>> factors = [[0, 0], [0, 1], [1, 0], [1, 1]] * 20
        >>> factor_vae_score(factors, None, factors)
        1.0
    """
    return score_of(FactorVAEScore(batch_size, min_std=min_std), mean, std, factors).value


def zdiff(
    mean: Array,
    std: Array | None,
    factors: Factors,
    *,
    classifier: PairClassifier = "logistic",
    latents: PairLatents = "means",
) -> float:
    """Returns the accuracy of a linear classifier of the shared factor of pairs of codes (Higgins et al., ICLR 2017).

    The features of a point are mean |z(x_1) - z(x_2)| over pairs of images with equal values of a factor. `std` is
    read if `latents` is "samples".

    Examples:
        >>> factors = [[0, 0], [0, 1], [1, 0], [1, 1]] * 20
        >>> zdiff(factors, None, factors)
        1.0
    """
    return score_of(ZDiff(classifier, latents), mean, std, factors).value
