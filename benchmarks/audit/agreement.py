"""Which metrics agree: rank correlations over all codes that were drawn."""

import math
import statistics
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import final

import numpy as np
from scipy import stats

from benchmarks.audit.design import PERFECT
from benchmarks.audit.findings import Audit


@final
@dataclass(frozen=True)
class Agreement:
    """Holds Spearman's correlation of each two metrics over the codes that both were shown, positive where both call
    the same codes better; NaN where one of them never changes.
    """

    names: tuple[str, ...]
    correlations: tuple[tuple[float, ...], ...]

    @classmethod
    def of(cls, audit: Audit) -> "Agreement":
        """Returns the agreement of the metrics that were shown drawn codes."""
        usable = [one for one in audit.metrics if one.dress]
        drawn = [each for each in audit.measurements if each.kind == "drawn"]
        signs = {one.name: -1.0 if one.higher_is_better is False else 1.0 for one in usable}
        columns = {
            one.name: {
                (_undressed(each.codes, one.dress), each.seed): signs[one.name] * each.values[one.name]
                for each in drawn
                if one.name in each.values
            }
            for one in usable
        }
        ranks = {pair: _rank(columns[pair[0]], columns[pair[1]]) for pair in combinations_with_replacement(signs, 2)}
        ranks |= {(second, first): rank for (first, second), rank in ranks.items()}
        return cls(tuple(signs), tuple(tuple(ranks[a, b] for b in signs) for a in signs))

    def others(self, name: str) -> dict[str, float]:
        """Returns the correlations of a metric with all others, the largest first."""
        row = self.correlations[self.names.index(name)]
        found = {other: value for other, value in zip(self.names, row, strict=True) if other != name}
        known = {other: value for other, value in found.items() if not math.isnan(value)}
        return dict(sorted(known.items(), key=lambda pair: -pair[1]))

    def median(self, name: str) -> float:
        """Returns the median correlation with the others; NaN if there is none."""
        values = list(self.others(name).values())
        return statistics.median(values) if values else math.nan


def _undressed(words: str, dress: str) -> str:
    """Returns which codes these are, whatever is known of their factors: metrics that take two values alone were shown
    the same codes.
    """
    return ", ".join(word for word in words.split(", ") if word != f"values {dress}") or PERFECT.words


def _rank(first: dict[tuple[str, int], float], second: dict[tuple[str, int], float]) -> float:
    common = [key for key in first if key in second]
    ours, theirs = [first[key] for key in common], [second[key] for key in common]
    if len(common) < 3 or len(set(ours)) < 2 or len(set(theirs)) < 2:
        return math.nan
    return float(np.corrcoef(stats.rankdata(ours), stats.rankdata(theirs))[0, 1])
