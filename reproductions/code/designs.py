"""The four joint distributions of figure 5 of Chen et al., and their properties."""

import math

import numpy as np

from unbraid.datasets.weights import ChenDesign

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
