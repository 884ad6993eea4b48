"""Agreement of the latents of runs: whether the seeds of a setting learn the same latents."""

import math
import statistics
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import torch

from unbraid.codes import Codes
from unbraid.codes.matching import match_latents
from unbraid.errors import CodesError
from unbraid.metrics.unused_latents import UNUSED, informativeness
from unbraid.studies.collect import runs_with_codes
from unbraid.studies.study import Study
from unbraid.studies.study_scores import Number, StudyScores

METRIC = "latent-agreement"


def agreement_scores(codes: Mapping[int, Codes]) -> dict[int, float]:
    """Computes the agreement of each model of one setting with the others, by its seed, from codes of the same images.

    It is the mean absolute correlation of matched latents (`unbraid.codes.matching`), on average over the other models.
    Latents with less than 0.01 nats of information are left out. A model without informative latents has NaN.
    """
    if len(codes) < 2:
        raise CodesError(f"Agreement compares the seeds of a setting; expected two or more, got {len(codes)}.")
    informative = {seed: _informative_latents(each) for seed, each in codes.items()}
    agreements: dict[int, list[float]] = {seed: [] for seed in codes}
    for a, first in informative.items():
        for b, second in informative.items():
            if a < b and first is not None and second is not None:
                agreement = match_latents(first, second, min_std=0).agreement
                agreements[a].append(agreement)
                agreements[b].append(agreement)
    return {seed: statistics.fmean(values) if values else math.nan for seed, values in agreements.items()}


def with_latent_agreement(study: Study, folder: Path, scores: StudyScores) -> StudyScores:
    """Returns the scores with the additional metric "latent-agreement", for the runs that still have codes.

    It is the agreement of latents across the seeds of each setting.
    """
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
    """Returns the codes of the informative latents; None without any."""
    codes = codes.without_discrete() if codes.probabilities else codes
    kept = torch.nonzero(informativeness(codes) > UNUSED).flatten().tolist()
    return codes.with_latents(kept) if kept else None
