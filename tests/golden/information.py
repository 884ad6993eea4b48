"""The golden values of information: quantized, exact, sampled and of binned means, and the metrics that are functions
of them.
"""

import math
from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from tests.golden.values import Arrays, Values, codes_of, has_densities, top_latents
from unbraid.information.posteriors import Draws
from unbraid.information.quantized import Masses
from unbraid.metrics.estimators import Exact, MeansHistogram, Quantized, Sampled
from unbraid.metrics.jemmig import JEMMIG
from unbraid.metrics.metric import Score
from unbraid.metrics.mig import MIG
from unbraid.metrics.modularity import Modularity
from unbraid.metrics.reductions.statistics import Statistics
from unbraid.metrics.rmig import RMIG
from unbraid.models.distributions import DiagonalGaussian, StandardNormalPrior

QUANTIZATIONS: tuple[tuple[Masses, int], ...] = (
    ("erf_edge", 20),
    ("erf_edge", 50),
    ("erf_edge", 100),
    ("erf_renorm", 100),
    ("rectangle", 100),
)


def quantized(arrays: Arrays) -> Values:
    statistics = Statistics(codes_of(arrays))
    found: Values = {}
    for masses, num_bins in QUANTIZATIONS:
        estimator = Quantized(num_bins, masses=masses)
        information = estimator.information(statistics)
        informativeness, entropy = information.informativeness, information.entropy
        found[f"quant/{masses}/{num_bins}/info"] = {
            "H_zi": entropy,
            "H_zi_given_x": information.entropy_given_image,
            "I_x_zi": informativeness,
            "I_norm_logbins": informativeness / math.log(num_bins),
            "I_norm_H": torch.where(entropy > 0, informativeness / entropy, 0.0),
        }
        jemmig = JEMMIG(estimator).of(statistics)
        found[f"quant/{masses}/{num_bins}/interp"] = _interpretability(RMIG(estimator).of(statistics), jemmig) | {
            "JEMMIG_norm_per_factor": list(jemmig.per_factor.values()),
            "JEMMIG_norm": jemmig.value,
        }
    return found


def modularity(arrays: Arrays) -> Values:
    statistics = Statistics(codes_of(arrays))
    scores = {
        "modularity/q/100": Modularity().of(statistics),
        "modularity/means_hist20": Modularity(MeansHistogram(num_bins=20)).of(statistics),
    }
    return {key: {"per_latent": list(score.per_latent), "mean": score.value} for key, score in scores.items()}


def exact_mig(arrays: Arrays) -> Values:
    if not has_densities(arrays):
        return {}
    score = MIG(Exact())(codes_of(arrays))
    entropies = {"H_z": score.tables["latent_entropy"], "H_y": score.tables["factor_entropy"]}
    return {"mig/exact": _gap(score) | entropies}


def means_histogram_mig(arrays: Arrays) -> Values:
    return {"mig/means_hist20": _gap(MIG(MeansHistogram(num_bins=20))(codes_of(arrays)))}


def sampled_mig(arrays: Arrays) -> Values:
    if not has_densities(arrays):
        return {}
    z = arrays["z_per_datum"]
    score = MIG(Sampled()).of(Statistics(codes_of(arrays), draws=Draws.of(z, torch.arange(len(z)))))
    return {"mig/sampled": _gap(score) | {"H_z": score.tables["latent_entropy"]}}


def sampled_interpretability(arrays: Arrays) -> Values:
    if not has_densities(arrays):
        return {}
    statistics = Statistics(codes_of(arrays), draws=Draws.of(arrays["z"], arrays["ids"].long()))
    return {"sampling/interp": _interpretability(RMIG(Sampled()).of(statistics), JEMMIG(Sampled()).of(statistics))}


def kl_to_prior(arrays: Arrays) -> Values:
    if not has_densities(arrays):
        return {}
    posterior = DiagonalGaussian(arrays["mu"], 2 * arrays["sigma"].log())
    return {"kl_to_prior_mean": StandardNormalPrior().kl_from(posterior, posterior.mean).sum(dim=1).mean()}


METRICS: tuple[Callable[[Arrays], Values], ...] = (
    quantized,
    modularity,
    exact_mig,
    means_histogram_mig,
    sampled_mig,
    sampled_interpretability,
    kl_to_prior,
)


def _gap(score: Score) -> Values:
    return {
        "MI": score.tables["mutual_information"],
        "MIG_per_factor": list(score.per_factor.values()),
        "MIG_mean": score.value,
    }


def _interpretability(rmig: Score, jemmig: Score) -> Values:
    """What the quantized and the sampled estimator have in common: all but the normalized JEMMIG."""
    tables: Mapping[str, Tensor] = rmig.tables
    return {
        "MI": tables["mutual_information"],
        "H_zi_yk": tables["joint_entropy"],
        "H_y": tables["factor_entropy"],
        "top_latent": top_latents(tables["mutual_information"]),
        "RMIG_per_factor": tables["gap"],
        "RMIG": rmig.parts["unnormalized"].value,
        "RMIG_norm_per_factor": list(rmig.per_factor.values()),
        "RMIG_norm": rmig.value,
        "JEMMIG_per_factor": jemmig.tables["jemmig"],
        "JEMMIG": jemmig.parts["unnormalized"].value,
    }
