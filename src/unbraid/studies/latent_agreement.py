"""Agreement of the latents of runs: whether the seeds of a setting learn the same latents in the same order."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import final

import numpy as np
from jaxtyping import Float64
from scipy import stats

from unbraid.codes import Codes
from unbraid.codes.matching import Matching, match_latents
from unbraid.errors import CodesError
from unbraid.metrics.unused_latents import UNUSED, informativeness
from unbraid.studies.collect import runs_with_codes
from unbraid.studies.study import Study
from unbraid.studies.study_scores import Number, StudyScores

METRIC = "latent-agreement"

Numbers = Float64[np.ndarray, " latent"]


@final
@dataclass(frozen=True)
class LatentAgreement:
    """Agreement of the informative latents of a run with those of other runs, on average over these.

    Attributes:
        value: The mean absolute correlation of matched latents (`unbraid.codes.matching`).
        informativeness_order: The rank correlation of the information of matched latents; NaN for fewer than three.
        variance_order: The rank correlation of the variance of their means.
    """

    value: float
    informativeness_order: float
    variance_order: float


def agreement_of_seeds(codes: Mapping[int, Codes]) -> dict[int, LatentAgreement]:
    """Returns the agreement of each run with the others, all with codes of the same images.

    Latents with less than 0.01 nats of information are left out.
    """
    if len(codes) < 2:
        raise CodesError(f"Agreement compares the seeds of a setting; expected two or more, got {len(codes)}.")
    readings = {seed: _Reading.from_codes(each) for seed, each in codes.items()}
    pairs = {(a, b): _agreement(readings[a], readings[b]) for a in readings for b in readings if a < b}
    return {seed: _mean([found for (a, b), found in pairs.items() if seed in (a, b)]) for seed in readings}


def with_latent_agreement(study: Study, folder: Path, scores: StudyScores) -> StudyScores:
    """Returns the scores with the additional metric "latent-agreement", for the runs that still have codes.

    It is the agreement of latents across the seeds of each setting.
    """
    numbers = []
    for label, runs in runs_with_codes(study, folder, scores).items():
        found = agreement_of_seeds({seed: run.codes() for seed, run in runs.items()}) if len(runs) > 1 else {}
        for seed, agreement in found.items():
            name = runs[seed].name
            for of, value in vars(agreement).items():
                kind, part = ("value", "") if of == "value" else ("part", of)
                numbers.append(
                    Number(label, seed, METRIC, "", kind, part, value, math.nan, math.nan, name)  # type: ignore[arg-type]
                )
    return replace(
        scores,
        metrics=(*scores.metrics, METRIC),
        higher_is_better={**scores.higher_is_better, METRIC: True},
        numbers=(*scores.numbers, *numbers),
    )


@final
@dataclass(frozen=True)
class _Reading:
    """The informative latents of a run, with the quantities they are ranked by."""

    codes: Codes | None
    nats: Numbers
    variance: Numbers

    @classmethod
    def from_codes(cls, codes: Codes) -> "_Reading":
        codes = codes.without_discrete() if codes.probabilities else codes
        nats = informativeness(codes).cpu().numpy()
        kept = np.flatnonzero(nats > UNUSED).tolist()
        variance = codes.mean.double().var(dim=0, correction=0).cpu().numpy()
        return cls(codes.with_latents(kept) if kept else None, nats[kept], variance[kept])


def _agreement(first: _Reading, second: _Reading) -> LatentAgreement:
    if first.codes is None or second.codes is None:
        return LatentAgreement(math.nan, math.nan, math.nan)
    matching = match_latents(first.codes, second.codes, min_std=0)
    return LatentAgreement(
        matching.agreement,
        _same_order(matching, first.nats, second.nats),
        _same_order(matching, first.variance, second.variance),
    )


def _same_order(matching: Matching, first: Numbers, second: Numbers) -> float:
    """Returns Spearman's correlation of a quantity of matched latents."""
    if len(matching.pairs) < 3:
        return math.nan
    ours = [first[pair.first] for pair in matching.pairs]
    theirs = [second[pair.second] for pair in matching.pairs]
    return float(stats.spearmanr(ours, theirs).statistic)


def _mean(found: list[LatentAgreement]) -> LatentAgreement:
    means = {}
    for name in ("value", "informativeness_order", "variance_order"):
        values = [value for each in found if not math.isnan(value := getattr(each, name))]
        means[name] = sum(values) / len(values) if values else math.nan
    return LatentAgreement(**means)
