"""Linear SVMs in threads."""

import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import sklearn.svm
import torch

from unbraid.metrics.sap import predicted_labels
from unbraid.metrics.zdiff import predicted_factors

FEATURES = torch.randn(40, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
LABELS = torch.arange(40) % 3


def test_fits_do_not_overlap_whichever_metric_asks_for_them(monkeypatch):
    """They would share liblinear's one generator."""
    inside, most = [], []

    class Slow:
        def __init__(self, **settings):
            pass

        def fit(self, features, labels):
            inside.append(self)
            most.append(len(inside))
            time.sleep(0.02)  # lets every other thread come in
            inside.remove(self)
            return self

        def predict(self, features):
            return np.zeros(len(features), dtype=np.int64)

    monkeypatch.setattr(sklearn.svm, "LinearSVC", Slow)
    with ThreadPoolExecutor(4) as pool:
        asked = [
            pool.submit(predict, FEATURES, LABELS, FEATURES, "svm")
            for predict in (predicted_factors, predicted_labels)
            for _ in range(3)
        ]
    assert all(len(each.result()) == 40 for each in asked)
    assert most == [1] * (3 + 3 * 3)
