"""How well latents together predict a factor, by their nearest neighbors."""

from dataclasses import replace

import numpy as np
import torch
from sklearn.model_selection import cross_val_predict
from sklearn.neighbors import KNeighborsClassifier

from unbraid._internal import row_draws
from unbraid.codes import Codes, Labels

_NUM_NEIGHBORS = 10


def known_together(codes: Codes, labels: Labels, latents: list[int], max_images: int = 4000) -> float:
    """Returns how well all of these latents together predict a factor by their nearest neighbors.

    0 is guessing the most frequent value, 1 is always right. It is tested on images that are not among the neighbors.
    Means are read, so the noise of a posterior does not count.
    """
    if not latents or labels.is_soft:
        return 0.0
    seen = replace(codes, factors=(labels,)).with_latents(latents).with_discrete_as_columns()
    known = torch.ones(len(codes), dtype=torch.bool) if labels.known is None else labels.known.cpu()
    rows = known.nonzero()[:max_images, 0]
    means, values = seen.mean.cpu()[rows].double().numpy(), labels.values.cpu()[rows].numpy()
    counts = np.bincount(values)
    if len(rows) < 2 * _NUM_NEIGHBORS or np.count_nonzero(counts) < 2:
        return 0.0
    means = (means - means.mean(axis=0)) / np.maximum(means.std(axis=0), 1e-12)
    shuffled = row_draws.permuted_rows(len(rows), 0, "neighbours of codes").numpy()  # a stream of draws keeps its name
    found = cross_val_predict(KNeighborsClassifier(_NUM_NEIGHBORS), means[shuffled], values[shuffled], cv=_halves(rows))
    guessed = counts.max() / counts.sum()
    return float(max(0.0, ((found == values[shuffled]).mean() - guessed) / (1 - guessed)))


def _halves(rows: torch.Tensor) -> list[tuple[np.ndarray, np.ndarray]]:
    first, second = np.array_split(np.arange(len(rows)), 2)
    return [(first, second), (second, first)]
