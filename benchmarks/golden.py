"""Every golden value that the library knows, for one file of inputs: `python -m benchmarks.golden FILE.npz`.

A file with labels `y` holds codes, for the metrics; one without holds a batch, for the losses. Each function computes one family of keys through the
public API: those of the metrics in the golden_*.py files beside this one, those of the losses below. Printed as JSON, with null where a value is undefined.
"""

import argparse
import json
import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from benchmarks import golden_classifiers, golden_correlations, golden_information, golden_sampled
from benchmarks.golden_values import Arrays, Values
from unbraid.distributions import BernoulliLikelihood, DiagonalGaussian, StandardNormal
from unbraid.errors import CodesError
from unbraid.information import Estimator, decompose, log_aggregate, log_weights
from unbraid.objectives import VAE, BetaTCVAE, BetaVAE, Objective, Step

# The golden file's names of the minibatch estimators.
ESTIMATORS: dict[str, Estimator] = {"mws": "mws", "mss": "mss", "eq13": "eq13", "batch": "naive"}


def golden(arrays: Arrays) -> Values:
    """All known values for these inputs, by key. A metric that refuses the codes says so on the standard error and has no key."""
    found: Values = {}
    for family in METRICS if "y" in arrays else LOSSES:
        try:
            found |= family(arrays)
        except CodesError as refusal:
            print(f"{family.__name__}: {refusal}", file=sys.stderr)
    return found


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


METRICS: tuple[Callable[[Arrays], Values], ...] = (
    *golden_information.METRICS,
    *golden_sampled.METRICS,
    *golden_classifiers.METRICS,
    *golden_correlations.METRICS,
)
LOSSES: tuple[Callable[[Arrays], Values], ...] = (divergences_and_likelihoods, decomposed_elbos, minibatch_estimators)


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
