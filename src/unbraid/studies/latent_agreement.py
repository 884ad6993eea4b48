"""Agreement of the latents of runs: whether the seeds of a setting learn the same latents in the same order."""

import math
import statistics
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, final

import numpy as np
from jaxtyping import Float64
from scipy import stats

from unbraid.codes import Codes
from unbraid.codes.matching import match_latents
from unbraid.errors import CodesError
from unbraid.metrics.unused_latents import UNUSED, informativeness
from unbraid.studies.collect import runs_with_codes
from unbraid.studies.study import Study
from unbraid.studies.study_scores import Number, StudyScores

METRIC = "latent-agreement"


@final
class LatentAgreement(NamedTuple):
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
    informative = {seed: _InformativeLatents.from_codes(each) for seed, each in codes.items()}
    pairs = {(a, b): _agreement(informative[a], informative[b]) for a in codes for b in codes if a < b}
    found = {}
    for seed in codes:
        columns = zip(*(agreement for pair, agreement in pairs.items() if seed in pair), strict=True)
        finite = ([value for value in column if not math.isnan(value)] for column in columns)
        found[seed] = LatentAgreement(*(statistics.fmean(values) if values else math.nan for values in finite))
    return found


def with_latent_agreement(study: Study, folder: Path, scores: StudyScores) -> StudyScores:
    """Returns the scores with the additional metric "latent-agreement", for the runs that still have codes.

    It is the agreement of latents across the seeds of each setting.
    """
    numbers = []
    for label, runs in runs_with_codes(study, folder, scores).items():
        found = agreement_of_seeds({seed: run.codes() for seed, run in runs.items()}) if len(runs) > 1 else {}
        for seed, agreement in found.items():
            ends = math.nan, math.nan, runs[seed].name
            numbers.append(Number(label, seed, METRIC, "", "value", "", agreement.value, *ends))
            parts = {name: getattr(agreement, name) for name in ("informativeness_order", "variance_order")}
            numbers += [Number(label, seed, METRIC, "", "part", part, value, *ends) for part, value in parts.items()]
    return replace(
        scores,
        metrics=(*scores.metrics, METRIC),
        higher_is_better={**scores.higher_is_better, METRIC: True},
        numbers=(*scores.numbers, *numbers),
    )


@final
class _InformativeLatents(NamedTuple):
    """The codes of the informative latents of a run, None without any, and the quantities they are ranked by."""

    codes: Codes | None
    nats: Float64[np.ndarray, " latent"]
    variance: Float64[np.ndarray, " latent"]

    @classmethod
    def from_codes(cls, codes: Codes) -> "_InformativeLatents":
        codes = codes.without_discrete() if codes.probabilities else codes
        nats = informativeness(codes).cpu().numpy()
        kept = np.flatnonzero(nats > UNUSED).tolist()
        variance = codes.mean.double().var(dim=0, correction=0).cpu().numpy()
        return cls(codes.with_latents(kept) if kept else None, nats[kept], variance[kept])


def _agreement(first: _InformativeLatents, second: _InformativeLatents) -> LatentAgreement:
    if first.codes is None or second.codes is None:
        return LatentAgreement(math.nan, math.nan, math.nan)
    matching = match_latents(first.codes, second.codes, min_std=0)
    ours, theirs = [pair.first for pair in matching.pairs], [pair.second for pair in matching.pairs]

    def same_order(one: Float64[np.ndarray, " latent"], other: Float64[np.ndarray, " latent"]) -> float:
        return math.nan if len(ours) < 3 else float(stats.spearmanr(one[ours], other[theirs]).statistic)

    orders = same_order(first.nats, second.nats), same_order(first.variance, second.variance)
    return LatentAgreement(matching.agreement, *orders)
