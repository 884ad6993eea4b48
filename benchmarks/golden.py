"""Every golden value that the library knows, for one file of inputs: `python -m benchmarks.golden FILE.npz`.

A file with labels `y` holds codes, for the metrics; one without holds a batch, for the losses. Each function below computes one family of keys through
the public API; a new metric or objective adds a function to METRICS or LOSSES. Printed as JSON, with null where a value is undefined.
"""

import argparse
import json
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from unbraid.codes import Codes
from unbraid.distributions import BernoulliLikelihood, DiagonalGaussian, StandardNormal
from unbraid.errors import CodesError
from unbraid.information import Bins, Estimator, FactorValues, Masses, decompose, log_aggregate, log_weights, quantised_information
from unbraid.metrics import MIG
from unbraid.objectives import VAE, BetaTCVAE, BetaVAE, Objective, Step

Arrays = Mapping[str, Tensor]
Values = dict[str, Any]

# The golden file's names of the minibatch estimators.
ESTIMATORS: dict[str, Estimator] = {"mws": "mws", "mss": "mss", "eq13": "eq13", "batch": "naive"}
QUANTISATIONS: tuple[tuple[Masses, int], ...] = (
    ("erf_edge", 20),
    ("erf_edge", 50),
    ("erf_edge", 100),
    ("erf_renorm", 100),
    ("rectangle", 100),
)
# Two latents closer than this, in nats, tie for the top; then there is no top latent to compare.
TIE = 1e-9


def golden(arrays: Arrays) -> Values:
    """All known values for these inputs, by key. A metric that refuses the codes says so on the standard error and has no key."""
    found: Values = {}
    for family in METRICS if "y" in arrays else LOSSES:
        try:
            found |= family(arrays)
        except CodesError as refusal:
            print(f"{family.__name__}: {refusal}", file=sys.stderr)
    return found


def exact_mig(arrays: Arrays) -> Values:
    if not _has_densities(arrays):
        return {}
    score = MIG(estimator="exact")(_codes(arrays))
    return {
        "mig/exact": {
            "MI": score.tables["mutual_information"],
            "H_z": score.tables["latent_entropy"],
            "H_y": score.tables["factor_entropy"],
            "MIG_per_factor": list(score.per_factor.values()),
            "MIG_mean": score.value,
        }
    }


def means_histogram_mig(arrays: Arrays) -> Values:
    score = MIG(estimator="means_histogram", num_bins=20)(_codes(arrays))
    return {
        "mig/means_hist20": {
            "MI": score.tables["mutual_information"],
            "MIG_per_factor": list(score.per_factor.values()),
            "MIG_mean": score.value,
        }
    }


def quantised(arrays: Arrays) -> Values:
    values = FactorValues.of(tuple(f.assignment() for f in _codes(arrays).factors), len(arrays["mu"]))
    found: Values = {}
    for masses, num_bins in QUANTISATIONS:
        information = quantised_information(arrays["mu"], arrays["sigma"], values, Bins(num_bins, masses=masses))
        informativeness, entropy = information.informativeness, information.entropy
        found[f"quant/{masses}/{num_bins}/info"] = {
            "H_zi": entropy,
            "H_zi_given_x": information.entropy_given_image,
            "I_x_zi": informativeness,
            "I_norm_logbins": informativeness / math.log(num_bins),
            "I_norm_H": torch.where(entropy > 0, informativeness / entropy, 0.0),
        }
        found[f"quant/{masses}/{num_bins}/interp"] = {
            "MI": information.mutual_information,
            "H_zi_yk": information.joint_entropy,
            "H_y": information.factor_entropy,
            "top_latent": _top_latents(information.mutual_information),
        }
    return found


def kl_to_prior(arrays: Arrays) -> Values:
    if not _has_densities(arrays):
        return {}
    return {"kl_to_prior_mean": StandardNormal().kl_from(_posterior(arrays)).sum(dim=1).mean()}


def minibatch_estimators(arrays: Arrays) -> Values:
    posterior, z = _posterior(arrays), arrays["z"]
    pairwise, log_posterior, log_prior = posterior.pairwise_log_prob(z), posterior.log_prob(z), StandardNormal().log_prob(z)
    found: Values = {}
    for name, estimator in ESTIMATORS.items():
        weights = log_weights(estimator, len(z), int(arrays["N"]), dtype=z.dtype)
        parts = decompose(log_posterior, pairwise, weights, log_prior)
        found[f"weights/{name}"] = weights.exp()
        found[f"tc/{name}"] = {
            "log_qz": log_aggregate(pairwise, weights, [range(z.shape[1])])[:, 0],
            "log_prod_qzi": log_aggregate(pairwise, weights).sum(dim=1),
            "log_qz_cond_x": log_posterior.sum(dim=1),
            "log_pz": log_prior.sum(dim=1),
            "MI": parts.mutual_information.mean(),
            "TC": parts.total_correlation.mean(),
            "DWKL": parts.dimension_wise_kl.mean(),
        }
    return found


def divergences_and_likelihoods(arrays: Arrays) -> Values:
    x, logits = (arrays[name][:, None, None, :] for name in ("x", "logits"))
    return {
        "kl_gauss_std": StandardNormal().kl_from(_posterior(arrays)).sum(dim=1),
        "bernoulli_nll": -BernoulliLikelihood().log_prob(x, logits),
    }


def decomposed_elbos(arrays: Arrays) -> Values:
    objectives: dict[str, Objective] = {
        "vae_loss": VAE(),
        "beta_vae_loss_4": BetaVAE(beta=4.0),
        "beta_tc/mws_a1_b6_g1": BetaTCVAE(alpha=1.0, beta=6.0, gamma=1.0, estimator="mws"),
        "beta_tc/mss_a1_b6_g1": BetaTCVAE(alpha=1.0, beta=6.0, gamma=1.0, estimator="mss"),
        "beta_tc/mws_a0_b6_g1": BetaTCVAE(alpha=0.0, beta=6.0, gamma=1.0, estimator="mws"),
        "beta_tc/analytic_kl_plus_(b-1)TC_mws": BetaTCVAE(alpha=1.0, beta=6.0, gamma=1.0, estimator="mws", analytic_kl=True),
    }
    step = _step(arrays)
    return {key: objective(step).total for key, objective in objectives.items()}


METRICS: tuple[Callable[[Arrays], Values], ...] = (quantised, means_histogram_mig, exact_mig, kl_to_prior)
LOSSES: tuple[Callable[[Arrays], Values], ...] = (divergences_and_likelihoods, decomposed_elbos, minibatch_estimators)


def _codes(arrays: Arrays) -> Codes:
    return Codes.from_arrays(arrays["mu"], arrays["sigma"], factors=arrays["y"])


def _has_densities(arrays: Arrays) -> bool:
    return bool((arrays["sigma"] > 0).all())


def _posterior(arrays: Arrays) -> DiagonalGaussian:
    return DiagonalGaussian(arrays["mu"], 2 * arrays["sigma"].log())


def _step(arrays: Arrays) -> Step:
    """The batch of a losses file, with the distortion that it gives."""
    return Step(
        x=arrays["x"][:, None, None, :],
        posterior=_posterior(arrays),
        z=arrays["z"],
        log_likelihood=-arrays["recon_nll"],
        prior=StandardNormal(),
        dataset_size=int(arrays["N"]),
        progress=torch.tensor(0.0, dtype=torch.float64),
    )


def _top_latents(mutual_information: Tensor) -> list[int | None]:
    ranked = mutual_information.sort(dim=0, descending=True)
    if len(mutual_information) == 1:
        return ranked.indices[0].tolist()
    tied = (ranked.values[0] - ranked.values[1] < TIE).tolist()
    return [None if tie else top for top, tie in zip(ranked.indices[0].tolist(), tied, strict=True)]


def _as_json(value: Any) -> Any:
    match value:
        case Tensor():
            return _as_json(value.tolist())
        case dict():
            return {key: _as_json(part) for key, part in value.items()}
        case list():
            return [_as_json(part) for part in value]
        case float() if not math.isfinite(value):
            return None
        case _:
            return value


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Print every golden value that the library knows for one file of inputs, as JSON.")
    parser.add_argument("file", type=Path, help="an .npz with mu, sigma and y (codes), or with a batch of losses")
    with np.load(parser.parse_args(arguments).file, allow_pickle=False) as file:
        arrays = {name: torch.from_numpy(np.asarray(file[name])) for name in file.files}
    print(json.dumps(_as_json(golden(arrays)), indent=1, allow_nan=False))


if __name__ == "__main__":
    main()
