"""How often claims are wrongly decided: simulated studies in which the truth lies on the border of a claim.

    python -m benchmarks.claim_levels > benchmarks/results/claim_levels.md

At the border neither "supported" nor "contradicted" is right, so each may come out in at most 5 % of studies.
"""

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from unbraid.studies import (
    Claim,
    Quantity,
    best_of,
    correlation,
    difference,
    judge,
    lead,
    median,
    paired_difference,
    ratio,
    share,
    trend,
)

LEVEL = 0.05
Draw = Callable[[np.random.Generator, int], np.ndarray]
Study = dict[str, np.ndarray]  # the scores of each setting, by metric and seed

# Medians of 0.5. Rounded scores have many ties, and a quarter of the collapsed ones are 0.5 exactly.
DISTRIBUTIONS: dict[str, Draw] = {
    "normal": lambda rng, n: rng.normal(0.5, 0.1, n),
    "skewed": lambda rng, n: 0.5 * rng.lognormal(0, 0.5, n),
    "rounded": lambda rng, n: np.round(rng.normal(0.5, 0.1, n), 1),
    "collapsed": lambda rng, n: np.where(rng.random(n) < 0.25, 0.5, rng.normal(0.5, 0.1, n)),
}


@dataclass(frozen=True)
class Cell:
    """A claim, and how to draw a study in which its quantity lies on the border."""

    name: str
    claim: Claim
    draw: Callable[[np.random.Generator, int, Draw], Study]


def _above(quantity: Quantity, border: float) -> Claim:
    return Claim("It lies above.", quantity, above=border)


def _equal(*labels: str, **shifts: float) -> Callable[[np.random.Generator, int, Draw], Study]:
    """Returns how to draw settings with the same distribution, some of them moved."""
    return lambda rng, n, draw: {label: draw(rng, n)[None] + shifts.get(label, 0.0) for label in labels}


def _spread(rng: np.random.Generator, n: int, draw: Draw) -> Study:
    return {"a": 0.5 + 5 * (draw(rng, n)[None] - 0.5), "b": draw(rng, n)[None]}


def _paired(shift: float) -> Callable[[np.random.Generator, int, Draw], Study]:
    """Returns how to draw two settings whose seeds share an effect."""

    def draw_both(rng: np.random.Generator, n: int, draw: Draw) -> Study:
        shared = rng.normal(0, 0.2, n)
        return {"a": (draw(rng, n) + shared + shift)[None], "b": (draw(rng, n) + shared)[None]}

    return draw_both


def _two_scores(spearman: float, effect: float = 0.0) -> Callable[[np.random.Generator, int, Draw], Study]:
    """Returns how to draw two scores of the models of five settings that have this rank correlation, and of which each
    setting has an effect of its own on both scores, independently.
    """
    pearson = 2 * np.sin(np.pi * spearman / 6)

    def draw_both(rng: np.random.Generator, n: int, draw: Draw) -> Study:
        study = {}
        for label in "abcde":
            x, y = rng.normal(size=(2, n))
            study[label] = np.stack([x, pearson * x + np.sqrt(1 - pearson**2) * y]) + effect * rng.normal(size=(2, 1))
        return study

    return draw_both


def _positive(factor: float) -> Callable[[np.random.Generator, int, Draw], Study]:
    """Returns how to draw two settings with scores above 0, the first `factor` times the second."""
    return lambda rng, n, draw: {"a": factor * abs(draw(rng, n))[None], "b": abs(draw(rng, n))[None]}


def _reached(rng: np.random.Generator, n: int, draw: Draw) -> Study:
    return {"a": np.where(rng.random(n) < 0.7, 1.0, 0.0)[None]}


ALL = tuple("abcde")
EQUAL = (
    Cell("median", _above(median("x", "a"), 0.5), _equal("a")),
    Cell("difference", _above(difference("x", "a", "b"), 0), _equal("a", "b")),
    Cell("paired difference", _above(paired_difference("x", "a", "b"), 0), _paired(0.0)),
    Cell("ratio", _above(ratio("x", "a", "b"), 1), _positive(1.0)),
    Cell("trend", _above(trend("x", ALL[:3]), 0), _equal(*ALL[:3])),
    Cell("correlation", _above(correlation("x", "y", ALL), 0), _two_scores(0.0)),
    Cell("lead, all equal", _above(lead("x", "a", ALL[1:4]), 0), _equal(*ALL[:4])),
    Cell("lead, one equal", _above(lead("x", "a", ALL[1:4]), 0), _equal(*ALL[:4], c=-1, d=-1)),
    Cell("difference, best of 4", _above(difference("x", best_of(ALL[:4]), "e"), 0), _equal(*ALL)),
    Cell("lead, best of 4", _above(lead("x", best_of(ALL[:4]), ALL[:4]), 0), _equal(*ALL[:4])),
)
SHIFTED = (
    Cell("median", _above(median("x", "a"), 0.7), _equal("a", a=0.2)),
    Cell("difference", _above(difference("x", "a", "b"), 0.2), _equal("a", "b", a=0.2)),
    Cell(
        "difference, between",
        Claim("They are about equal.", difference("x", "a", "b"), between=(-0.2, 0.2)),
        _equal("a", "b", a=0.2),
    ),
    Cell("paired difference", _above(paired_difference("x", "a", "b"), 0.2), _paired(0.2)),
    Cell("ratio", _above(ratio("x", "a", "b"), 1.5), _positive(1.5)),
    Cell("trend", _above(trend("x", ALL[:3]), 0.2), _equal(*ALL[:3], b=0.2, c=0.4)),
    Cell("correlation", _above(correlation("x", "y", ALL), 0.5), _two_scores(0.5)),
    Cell("share", _above(share("x", "a", at_least=0.5), 0.7), _reached),
    Cell("lead", _above(lead("x", "a", ALL[1:3]), 0.2), _equal(*ALL[:3], a=0.2)),
)
LIMITS = (
    Cell("difference, spread of 5 to 1", _above(difference("x", "a", "b"), 0), _spread),
    Cell(
        "correlation, independent effects of settings",
        _above(correlation("x", "y", ALL), 0),
        _two_scores(0.0, effect=1.0),
    ),
    Cell(
        "correlation over medians, the same",
        _above(correlation("x", "y", ALL, over="medians"), 0),
        _two_scores(0.0, effect=1.0),
    ),
)


def rates(cell: Cell, distribution: str, num_seeds: int, num_studies: int) -> tuple[float, float]:
    """Returns in which share of studies the claim was supported, and in which contradicted."""
    rng = np.random.default_rng([num_seeds, *f"{cell.name} {cell.claim.region} {distribution}".encode()])
    draw, supported, contradicted = DISTRIBUTIONS[distribution], 0, 0
    for _ in range(num_studies):
        found = cell.draw(rng, num_seeds, draw)
        scores = {
            label: {metric: dict(enumerate(values.tolist())) for metric, values in zip("xy", rows, strict=False)}
            for label, rows in found.items()
        }
        verdict = judge([cell.claim], scores).claims[0].verdict
        supported += verdict == "supported"
        contradicted += verdict == "contradicted"
    return supported / num_studies, contradicted / num_studies


def family_rates(num_seeds: int, num_studies: int) -> tuple[float, float]:
    """Returns in which share of studies any of five claims was supported, and any contradicted. All lie on the border,
    and they share a setting.
    """
    rng = np.random.default_rng(num_seeds)
    claims = [_above(difference("x", label, "a"), 0) for label in "bcdef"]
    supported = contradicted = 0
    for _ in range(num_studies):
        scores = {label: {"x": dict(enumerate(rng.normal(size=num_seeds)))} for label in "abcdef"}
        counts = judge(claims, scores).counts
        supported += counts["supported"] > 0
        contradicted += counts["contradicted"] > 0
    return supported / num_studies, contradicted / num_studies


def _rows(cells: tuple[Cell, ...], seeds: list[int], num_studies: int) -> Iterator[str]:
    for cell in cells:
        for distribution in ["normal"] if cell.name.startswith(("correlation", "share")) else DISTRIBUTIONS:
            found = [rates(cell, distribution, num_seeds, num_studies) for num_seeds in seeds]
            numbers = " | ".join(
                f"{100 * supported:.1f} / {100 * contradicted:.1f}" for supported, contradicted in found
            )
            yield f"| {cell.name} | {distribution} | {numbers} |"


def main(arguments: list[str] | None = None) -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=2_000)
    parser.add_argument("--seeds", type=int, nargs="+", default=[4, 8, 16])
    options = parser.parse_args(arguments)
    columns = " | ".join(f"{n} seeds" for n in options.seeds)
    head = f"| claim | scores | {columns} |\n|---|---|{'---:|' * len(options.seeds)}"
    error = 100 * (LEVEL * (1 - LEVEL) / options.studies) ** 0.5
    print("# How often claims are wrongly decided\n")
    print(
        f"Percent of {options.studies:,} simulated studies whose claim came out supported / contradicted, with the "
        "truth on its border: at most 5 of either is right, with a standard error of "
        f"{error:.1f}. By `python -m benchmarks.claim_levels`.\n"
    )
    for title, cells in (("Equal distributions", EQUAL), ("Shifted to the border", SHIFTED), ("Limits", LIMITS)):
        print(f"## {title}\n\n{head}")
        for row in _rows(cells, options.seeds, options.studies):
            print(row, flush=True)
        print()
    found = [family_rates(num_seeds, options.studies) for num_seeds in options.seeds]
    print(f"## Five claims together\n\nAny of them supported / any contradicted.\n\n{head}")
    print("| five differences | normal | " + " | ".join(f"{100 * a:.1f} / {100 * b:.1f}" for a, b in found) + " |")


if __name__ == "__main__":
    main()
