"""The four joint distributions of figure 5 of Chen et al., and their properties."""

import math

import numpy as np

from reproductions.item import Scale
from reproductions.words import exactly
from unbraid.datasets.weights import ChenDesign
from unbraid.studies import Claim

DESIGNS = {"A": "uniform and independent", "B": "not uniform, independent", "C": "uncorrelated, dependent", "D": "correlated"}
POSE = ("azimuth", "elevation")
SIZES = (21, 11)


def table_numbers(design: str) -> dict[str, float]:
    """Returns how much likelier the likeliest pair is, the correlation, the mutual information, and how far the
    marginals are from uniform, in nats.
    """
    table = ChenDesign(design, POSE).table(SIZES).numpy()
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    places = np.linspace(-1, 1, SIZES[0]), np.linspace(-1, 1, SIZES[1])
    mean = rows @ places[0], columns @ places[1]
    spread = rows @ places[0] ** 2 - mean[0] ** 2, columns @ places[1] ** 2 - mean[1] ** 2
    covariance = float(places[0] @ table @ places[1] - mean[0] * mean[1])
    return {
        "likeliest to least likely": float(table.max() / table.min()),
        "least probability": float(table.min()),
        "correlation": covariance / math.sqrt(spread[0] * spread[1]),
        "mutual information": float((table * np.log(table / np.outer(rows, columns))).sum()),
        "missing entropy": float(sum(np.log(len(each)) + each @ np.log(each) for each in (rows, columns))),
    }


def table_claims(data: str, scale: Scale) -> list[Claim]:
    a, b, c, d = (f"{design}: {text}" for design, text in DESIGNS.items())
    near, information, correlation = "likeliest to least likely", "mutual information", "correlation"
    return [
        exactly("All pairs have a probability above 0.", "least probability", (a, b, c, d), 1e-4),
        exactly("The likeliest pair is 4 times as likely as the least likely, but in A.", near, (b, c, d), 4 - 1e-4, 4 + 1e-4),
        exactly("A, C and D have uniform marginals.", "missing entropy", (a, c, d), -1e-9, 1e-9),
        exactly("B has marginals that are not uniform.", "missing entropy", b, 0.01),
        exactly("In A and B the factors are independent.", information, (a, b), -1e-9, 1e-9),
        exactly("In C and D the factors are dependent.", information, (c, d), 0.005),
        exactly("In A, B and C the factors are uncorrelated.", correlation, (a, b, c), -1e-9, 1e-9),
        exactly("In D the factors are correlated.", correlation, d, 0.1),
    ]
