"""Metrics with the settings of published code, for comparison with published numbers (see docs/metrics/published.md).

The scores agree up to noise, because published images and random draws differ from those used here.
"""

from collections.abc import Callable
from functools import partial

from unbraid._internal.names import suggestion
from unbraid.errors import SpecError
from unbraid.metrics.attribute_vector import AttributeVector
from unbraid.metrics.correlations import Correlations
from unbraid.metrics.dci import DCI
from unbraid.metrics.elbo_decomposition import ELBODecomposition
from unbraid.metrics.estimators import Levels, MeansHistogram, Neighbors, Quantized, Sampled
from unbraid.metrics.explicitness import Explicitness
from unbraid.metrics.factor_vae_score import FactorVAEScore
from unbraid.metrics.gaussian_total_correlation import GaussianTotalCorrelation
from unbraid.metrics.indin import INDIN
from unbraid.metrics.info_mec import InfoMEC
from unbraid.metrics.informativeness import Informativeness
from unbraid.metrics.irs import IRS
from unbraid.metrics.jemmig import JEMMIG
from unbraid.metrics.metric import Metric
from unbraid.metrics.mig import MIG
from unbraid.metrics.misjed import MISJED
from unbraid.metrics.modularity import Modularity
from unbraid.metrics.rmig import RMIG
from unbraid.metrics.sap import SAP
from unbraid.metrics.separability import Separability
from unbraid.metrics.sepin import SEPIN
from unbraid.metrics.top_attributes import TopAttributes
from unbraid.metrics.zdiff import ZDiff

# Minimum density in Do & Tran's code.
_FLOOR = 1e-8
# Number of rows that DisDiff and the authors of QLAE use.
_NUM_ROWS = 10_000
# More rows than any dataset has, which selects all rows.
_ALL_IMAGES = 10**7


def disentanglement_lib() -> tuple[Metric, ...]:
    """Returns the metrics of disentanglement_lib (Locatello et al., arXiv:1811.12359v4).

    The settings are from the configuration files of disentanglement_lib. MIG, modularity, IRS and the total correlation
    use all rows, and disentanglement_lib 10,000 rows.
    """
    return (
        MIG(MeansHistogram(20)),
        Modularity(MeansHistogram(20)),
        Explicitness(classifier="multinomial"),
        ZDiff(classifier="logistic"),
        FactorVAEScore(min_std=0.05),
        SAP(classifier="svm"),
        DCI(predictor="boosted_trees", completeness="weighted"),
        IRS(quantile=0.99, value_weights="uniform"),
        GaussianTotalCorrelation(covariance="means"),
    )


def chen() -> tuple[Metric, ...]:
    """Returns the metrics as the authors of beta-TCVAE compute them: Chen et al., arXiv:1802.04942v5."""
    return (MIG(Sampled(), value_weights="uniform"), ELBODecomposition(conditional="analytic"))


def kumar() -> tuple[Metric, ...]:
    """Returns the metrics as the authors of DIP-VAE describe them: Kumar et al., arXiv:1711.00848v1, section 3.

    Attribute vectors use all images. Score with fit="train" and part="test" for the split of the paper. Correlations
    with shape use the value index of the shape, presumably as in the paper. The last metric is an addition:
    correlations without dead latents, whose small means may have strong correlations.
    """
    return (
        ZDiff(classifier="svm"),
        AttributeVector(num_train=_ALL_IMAGES, num_test=_ALL_IMAGES),
        TopAttributes(num_top=4, unordered="numbered"),
        Correlations(unordered="numbered"),
        Correlations(min_std=0.05, unordered="numbered"),
    )


def do_tran() -> tuple[Metric, ...]:
    """Returns the metrics as the authors of JEMMIG and SEPIN compute them: Do & Tran, arXiv:1908.09961v4.

    The authors fit and score the regressions of explicitness on all rows. Here, 10,000 training rows and 5,000 test
    rows are used.
    """
    return (
        RMIG(Quantized(masses="rectangle")),
        JEMMIG(Quantized(masses="rectangle")),
        MIG(MeansHistogram(100)),
        Modularity(Sampled(), uninformative="published"),
        Modularity(MeansHistogram(100)),
        Explicitness(classifier="one_vs_rest"),
        DCI(predictor="lasso", standardize=False, rows="all"),
        Informativeness(Quantized(masses="rectangle")),
        Informativeness(conditional="mc", density_floor=_FLOOR),
        Separability(conditional="mc", density_floor=_FLOOR),
        SEPIN(conditional="mc", density_floor=_FLOOR),
        INDIN(conditional="mc", density_floor=_FLOOR),
        MISJED(Quantized(masses="rectangle")),
    )


def infomec(*, discrete: bool = False) -> tuple[Metric, ...]:
    """Returns InfoM, InfoC and InfoE as the authors of QLAE compute them: Hsu et al., arXiv:2305.18378v2.

    The authors use the means of 10,000 images and ignore the std of posteriors. `discrete` is for quantized codes,
    whose levels the authors count.
    """
    means = Neighbors(k=10, reads="mean", num_samples=_NUM_ROWS)
    return (InfoMEC(Levels(_NUM_ROWS) if discrete else means, active="range", explicitness="in_sample"),)


def disdiff() -> tuple[Metric, ...]:
    """Returns the metrics as the authors of DisDiff compute them: Yang et al., arXiv:2301.13721v3.

    The authors replace each vector latent of DisDiff by its first principal component, so score with groups="pca". The
    metrics are the same as for disentanglement_lib, with MIG on 10,000 rows.
    """
    return (
        ZDiff(classifier="logistic"),
        DCI(predictor="boosted_trees", completeness="weighted"),
        MIG(MeansHistogram(20, _NUM_ROWS)),
        FactorVAEScore(min_std=0.05),
    )


_BY_NAME: dict[str, Callable[[], tuple[Metric, ...]]] = {
    "disentanglement-lib": disentanglement_lib,
    "chen": chen,
    "kumar": kumar,
    "do-tran": do_tran,
    "infomec": infomec,
    "infomec-discrete": partial(infomec, discrete=True),
    "disdiff": disdiff,
}


def like(name: str) -> tuple[Metric, ...]:
    """Returns the metrics of published code by name.

    The names are "disentanglement-lib", "chen", "kumar", "do-tran", "infomec", "infomec-discrete" (of quantized codes)
    and "disdiff".
    """
    canonical = name.strip().lower().replace("_", "-")
    if canonical not in _BY_NAME:
        raise SpecError(f"There are no published settings {name!r}. {suggestion(canonical, _BY_NAME)}")
    return _BY_NAME[canonical]()
