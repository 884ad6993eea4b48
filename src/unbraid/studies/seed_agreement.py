"""Similarity of models with different seeds: UDR, and the correlation of matched latents."""

import math
import statistics
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float64
from scipy import stats

from unbraid._internal import row_draws
from unbraid.codes import Codes
from unbraid.codes.matching import match_latents
from unbraid.errors import CodesError
from unbraid.metrics.unused_latents import UNUSED, informativeness
from unbraid.studies.collect import runs_with_codes
from unbraid.studies.study import Study
from unbraid.studies.study_scores import Number, StudyScores

METRIC = "latent-agreement"
_USED = 0.01  # nats: a latent is used if its mean KL to a standard normal is larger
_NUM_ROWS = 1_000


def udr_scores(codes: Mapping[int, Codes]) -> dict[int, float]:
    """Computes the unsupervised disentanglement ranking (UDR, arXiv:1905.12614v4) of each model, by seed.

    `codes` has the codes of the same images by models of one setting; 1,000 random images are used. The score of a
    model is the median, over all other models, of the uniqueness of the match between used latents by absolute rank
    correlation. The score is 1 for a one-to-one match, and 0 for a model without used latents.
    """
    rows = row_draws.permuted_rows(_shared_size(codes), 0, "images of UDR")[:_NUM_ROWS].numpy()
    means = {model: _used_means(each)[rows] for model, each in codes.items()}
    return {
        model: float(np.median([_agreement(own, means[other]) for other in means if other != model]))
        for model, own in means.items()
    }


def _used_means(codes: Codes) -> Float64[np.ndarray, "image latent"]:
    """Returns the means of the latents whose mean KL to a standard normal exceeds 0.01 nats."""
    mean = codes.mean.double().cpu().numpy()
    used = mean.std(axis=0) > 0
    if codes.marginal_std is not None:
        variance = np.maximum(codes.marginal_std.double().cpu().numpy() ** 2, np.finfo(np.float64).tiny)
        used &= ((mean**2 + variance - 1 - np.log(variance)) / 2).mean(axis=0) > _USED
    return mean[:, used]


def _agreement(own: Float64[np.ndarray, "image latent"], other: Float64[np.ndarray, "image other_latent"]) -> float:
    """Returns the UDR of two models: the mean of r^2 / s over all latents.

    r is the largest absolute rank correlation of a latent with the other model, and s is the sum of its correlations.
    """
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


def agreement_scores(codes: Mapping[int, Codes]) -> dict[int, float]:
    """Computes the mean absolute correlation of matched latents of each model with the other models, by seed.

    `codes` has the codes of the same images by models of one setting. Latents are matched one to one
    (`unbraid.codes.matching`). Latents with less than 0.01 nats of information are left out. The result is NaN for a
    model without informative latents.
    """
    _shared_size(codes)
    informative = {seed: _informative_latents(each) for seed, each in codes.items()}
    agreements: dict[int, list[float]] = {seed: [] for seed in codes}
    for a, first in informative.items():
        for b, second in informative.items():
            if a < b and first is not None and second is not None:
                agreement = match_latents(first, second, min_std=0).agreement
                agreements[a].append(agreement)
                agreements[b].append(agreement)
    return {seed: statistics.fmean(values) if values else math.nan for seed, values in agreements.items()}


def _shared_size(codes: Mapping[int, Codes]) -> int:
    """Returns the number of images. Raises CodesError for fewer than two models, or if the numbers differ."""
    if len(codes) < 2:
        raise CodesError(f"Expected codes of two or more seeds, got {len(codes)}. Train more seeds of the setting.")
    sizes = {len(each) for each in codes.values()}
    if len(sizes) > 1:
        raise CodesError(f"Expected codes of the same images, got {sorted(sizes)} images. Encode the same images.")
    return sizes.pop()


def with_latent_agreement(study: Study, folder: Path, scores: StudyScores) -> StudyScores:
    """Returns the scores with the additional metric "latent-agreement" (`agreement_scores`), for runs with codes."""
    numbers = [
        Number(label, seed, METRIC, "", "value", "", value, math.nan, math.nan, runs[seed].name)
        for label, runs in runs_with_codes(study, folder, scores).items()
        if len(runs) > 1
        for seed, value in agreement_scores({seed: run.codes() for seed, run in runs.items()}).items()
    ]
    return replace(
        scores,
        metrics=(*scores.metrics, METRIC),
        higher_is_better={**scores.higher_is_better, METRIC: True},
        numbers=(*scores.numbers, *numbers),
    )


def _informative_latents(codes: Codes) -> Codes | None:
    """Returns the codes with only the informative latents, or None if there are none."""
    codes = codes.without_discrete() if codes.probabilities else codes
    kept = torch.nonzero(informativeness(codes) > UNUSED).flatten().tolist()
    return codes.with_latents(kept) if kept else None
