"""Verdicts of claims, by hypothesis tests with an adjustment for multiple testing."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, final

from unbraid._internal.names import suggestion
from unbraid.errors import UnbraidError
from unbraid.studies.claims.claim import Claim
from unbraid.studies.claims.quantities import MIN_SEEDS, Scores, computed
from unbraid.studies.statistics import Measurement, StatisticsError, holm
from unbraid.studies.study_scores import StudyScores
from unbraid.training.runs.run_scores import question_key

LEVEL = 0.05
"""Family-wise error rate of supported claims, and of contradicted claims."""

ClaimVerdict = Literal["supported", "contradicted", "undecided"]
Verdict = Literal["reproduced", "in part", "not reproduced", "undecided", "checked definition"]
"""Overall verdict of all claims of a study or of an item of a paper."""
PlainScores = Mapping[str, Mapping[str, Mapping[int, float]]]


@final
@dataclass(frozen=True)
class JudgedClaim:
    """A claim with its verdict, measurement and p-values.

    `p_supported` is the p-value of the null hypothesis "the claim is false", and `p_contradicted` the p-value of "the
    claim is true". Both are adjusted for the number of claims; `raw_p_supported` and `raw_p_contradicted` are not.
    `problem` is the reason why the claim could not be tested, or empty.
    """

    claim: Claim
    verdict: ClaimVerdict
    measured: Measurement | None
    p_supported: float | None = None
    p_contradicted: float | None = None
    raw_p_supported: float | None = None
    raw_p_contradicted: float | None = None
    problem: str = ""

    @property
    def value(self) -> float | None:
        """The estimated quantity; None without scores."""
        return None if self.measured is None else self.measured.value

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % confidence interval, not adjusted for other claims; None for a `computed` quantity."""
        return None if self.measured is None or self.p_supported is None else self.measured.interval

    @property
    def num_seeds(self) -> tuple[int, ...]:
        """The number of seeds of each compared group."""
        return () if self.measured is None else self.measured.num_seeds

    @property
    def reason(self) -> str:
        """The estimate, the expected region, the interval and the p-values as text."""
        if self.measured is None:
            return self.problem
        low, high = self.claim.region
        borders = [f"above {low:g}"] * math.isfinite(low) + [f"below {high:g}"] * math.isfinite(high)
        expected = f"{low:g}" if low == high else " and ".join(borders)
        found = f"The {self.claim.quantity.text} is {self.measured.value:.3g}; expected {expected}."
        if self.interval is None:
            return found
        alone, adjusted, what = self.raw_p_supported, self.p_supported, "p"
        if self.verdict == "contradicted":
            alone, adjusted, what = self.raw_p_contradicted, self.p_contradicted, "p of the opposite"
        tested = f"{what} = {alone:.2g}, adjusted {adjusted:.2g}; {' + '.join(map(str, self.num_seeds))} seeds."
        interval = f"95 % interval {self.interval[0]:.3g} to {self.interval[1]:.3g}."
        if not any(map(math.isfinite, self.interval)):
            interval = "There are too few seeds for a 95 % interval."
        return f"{found} {interval} {tested} {self.problem}".rstrip()


@final
@dataclass(frozen=True)
class Judgment:
    """The verdicts of several claims, adjusted for multiple testing, and the overall verdict."""

    claims: tuple[JudgedClaim, ...]

    @property
    def counts(self) -> dict[str, int]:
        """The number of claims by verdict."""
        found = Counter(each.verdict for each in self.claims)
        return {name: found[name] for name in ("supported", "contradicted", "undecided")}

    @property
    def verdict(self) -> Verdict:
        """The overall verdict of the central claims, or of all claims if no claim is central."""
        found = {each.verdict for each in self.claims}
        central = {each.verdict for each in self.claims if each.claim.central} or found
        if "contradicted" in central:
            return "not reproduced"
        if found == {"supported"}:
            has_p_values = any(each.p_supported is not None for each in self.claims)
            return "reproduced" if has_p_values else "checked definition"
        return "in part" if {"supported", "contradicted"} <= found or central == {"supported"} else "undecided"

    @property
    def text(self) -> str:
        """The overall verdict and the counts: "in part: 2 supported, 1 contradicted, 0 undecided"."""
        return f"{self.verdict}: {', '.join(f'{count} {name}' for name, count in self.counts.items())}"


def judge(claims: Sequence[Claim], scores: StudyScores | PlainScores) -> Judgment:
    """Tests claims with the scores of a study, or with plain numbers `{setting: {metric: {seed: x}}}`.

    A claim is supported if "the claim is false" is rejected, and contradicted if "the claim is true" is rejected. Both
    kinds of p-values are adjusted by Holm's method at 5 % over all claims, including undecided claims. A claim without
    scores, or with fewer than 4 seeds for a setting or group, is undecided.
    """
    known = scores if isinstance(scores, StudyScores) else _Plain(scores)
    found = [_measured(claim, known) for claim in claims]
    p_values = [
        claim.p_values(measured) if measured and not problem else (1.0, 1.0)
        for claim, (measured, problem) in zip(claims, found, strict=True)
    ]
    tested = [place for place, claim in enumerate(claims) if not isinstance(claim.quantity, computed)]
    supported, contradicted = (
        dict(zip(tested, holm([p_values[place][side] for place in tested]), strict=True)) for side in (0, 1)
    )
    judged: list[JudgedClaim] = []
    for place, (claim, (measured, problem), alone) in enumerate(zip(claims, found, p_values, strict=True)):
        if isinstance(claim.quantity, computed):
            verdict: ClaimVerdict = "undecided" if measured is None else "contradicted" if alone[0] else "supported"
            judged.append(JudgedClaim(claim, verdict, measured, problem=problem))
        else:
            pair = supported[place], contradicted[place]
            verdict = "supported" if pair[0] <= LEVEL else "contradicted" if pair[1] <= LEVEL else "undecided"
            judged.append(JudgedClaim(claim, verdict, measured, *pair, *alone, problem))
    return Judgment(tuple(judged))


def _measured(claim: Claim, scores: "StudyScores | _Plain") -> tuple[Measurement | None, str]:
    """Returns the measurement (None without scores) and the reason why the claim cannot be tested (empty if it can)."""
    if claim.scoring is not None:
        if not isinstance(scores, StudyScores):
            raise UnbraidError(
                f"Claim {claim.sentence!r} has a `scoring`, but plain numbers have none. Pass a StudyScores instead."
            )
        scores = scores.under(question_key("", claim.scoring.changes()).strip())
    try:
        measured = claim.quantity.measure(scores)
    except StatisticsError as error:
        return None, str(error)
    is_enough = isinstance(claim.quantity, computed) or min(measured.num_seeds) >= MIN_SEEDS
    return measured, "" if is_enough else f"A test needs {MIN_SEEDS} seeds or more in each group."


@final
@dataclass(frozen=True)
class _Plain(Scores):
    """Adapter of plain numbers to the interface of `Scores`."""

    numbers: PlainScores

    def values(self, setting: str, metric: str) -> dict[int, float]:
        if setting not in self.numbers:
            raise UnbraidError(f"Unknown setting {setting!r}. {suggestion(setting, self.numbers)}")
        found = self.numbers[setting].get(metric, {})
        return {seed: value for seed, value in found.items() if not math.isnan(value)}
