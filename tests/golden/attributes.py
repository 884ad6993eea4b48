"""Golden values of binary attributes: attribute vectors, and the attributes that each latent follows most."""

import math
from collections.abc import Callable

from tests.golden.values import Arrays, Values, codes_of
from unbraid.metrics.attribute_vector import fit_attribute, hinge_interval
from unbraid.metrics.predicting.prediction_tasks import PredictionTask
from unbraid.metrics.top_attributes import TopAttributes


def attribute_vectors(arrays: Arrays) -> Values:
    """Fitted on the first five eighths of the images (50 of 80), and tested on the others."""
    if not _are_attributes(arrays):
        return {}
    mean, y = arrays["mu"].double(), arrays["y"]
    cut = 5 * len(mean) // 8
    tasks = (
        PredictionTask(f"factor_{k}", mean[:cut], column[:cut], mean[cut:], column[cut:])
        for k, column in enumerate(y.unbind(1))
    )
    return {"attr_vector": [_vector(task) for task in tasks]}


def top_attributes(arrays: Arrays) -> Values:
    if not _are_attributes(arrays):
        return {}
    tables = TopAttributes(num_top=4)(codes_of(arrays)).tables
    return {
        "top_attr": [
            {
                "latent": latent,
                "corr": tables["latent_factor"][latent, k],
                "others": tables["top_attributes"][k].long(),
                "others_corr": tables["top_correlations"][k],
            }
            for k, latent in enumerate(tables["top_latent"].tolist())
        ]
    }


METRICS: tuple[Callable[[Arrays], Values], ...] = (attribute_vectors, top_attributes)


def _are_attributes(arrays: Arrays) -> bool:
    """Whether every factor has two values."""
    return all(len(column.unique()) == 2 for column in arrays["y"].unbind(1))


def _vector(task: PredictionTask) -> Values:
    found = fit_attribute(task)
    if found is None:  # one value in the training rows
        return dict.fromkeys(("w", "bias", "bias_interval", "hinge", "accuracy"), math.nan)
    scores, positive = task.train_codes @ found.vector, task.train_labels == task.train_labels.max()
    sign = 2.0 * positive - 1
    return {
        "w": found.vector,
        "bias": found.bias,
        "bias_interval": list(hinge_interval(scores, positive)),
        "hinge": (1 - sign * (scores + found.bias)).clamp(min=0).mean(),
        "accuracy": found.correct.mean(),
    }
