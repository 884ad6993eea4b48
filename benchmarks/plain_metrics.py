"""Metrics of means and integer factors as one would first write them with NumPy and scikit-learn, to compare times."""

import numpy as np
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import mutual_info_score, roc_auc_score
from sklearn.svm import LinearSVC


def _parts(num_images: int) -> tuple[slice, slice]:
    """Two thirds of the rows for training, at most 10,000, and the others for tests."""
    num_train = min(10_000, 2 * num_images // 3)
    return slice(num_train), slice(num_train, 15_000)


def mig(mean: np.ndarray, factors: np.ndarray) -> float:
    cells = [np.digitize(z, np.histogram(z, 20)[1][:-1]) for z in mean.T]
    table = np.array([[mutual_info_score(y, cell) for y in factors.T] for cell in cells])
    best = np.sort(table, axis=0)
    return float(np.mean((best[-1] - best[-2]) / [mutual_info_score(y, y) for y in factors.T]))


def sap(mean: np.ndarray, factors: np.ndarray) -> float:
    table = np.array([[_svm_accuracy(z[:, None], y) for y in factors.T] for z in mean.T])
    best = np.sort(table, axis=0)
    return float(np.mean(best[-1] - best[-2]))


def _svm_accuracy(z: np.ndarray, y: np.ndarray) -> float:
    train, test = _parts(len(z))
    model = LinearSVC(C=0.01, class_weight="balanced", dual=False, random_state=0).fit(z[train], y[train])
    return float(np.mean(model.predict(z[test]) == y[test]))


def irs(mean: np.ndarray, factors: np.ndarray) -> float:
    most = np.abs(mean - mean.mean(axis=0)).max(axis=0)
    robust = []
    for y in factors.T:
        groups = [mean[y == value] for value in np.unique(y)]
        moved = [np.percentile(np.abs(group - group.mean(axis=0)), 99, axis=0) for group in groups]
        robust.append(1 - np.average(moved, axis=0, weights=[len(group) for group in groups]) / most)
    return float(np.average(np.max(robust, axis=0), weights=most))


def explicitness(mean: np.ndarray, factors: np.ndarray) -> float:
    train, test = _parts(len(mean))
    z = (mean - mean[train].mean(axis=0)) / mean[train].std(axis=0)
    found = []
    for y in factors.T:
        scores = LogisticRegression(max_iter=1_000).fit(z[train], y[train]).predict_proba(z[test])
        found.append(np.mean([roc_auc_score(y[test] == value, scores[:, value]) for value in range(scores.shape[1])]))
    return float(np.mean(found))


def dci(mean: np.ndarray, factors: np.ndarray) -> float:
    train, _ = _parts(len(mean))
    fits = [GradientBoostingClassifier(random_state=0).fit(mean[train], y[train]) for y in factors.T]
    importance = np.stack([fit.feature_importances_ for fit in fits], axis=1)
    share = importance / importance.sum(axis=1, keepdims=True)
    entropy = -np.sum(share * np.log(np.maximum(share, 1e-300)), axis=1) / np.log(share.shape[1])
    return float(np.average(1 - entropy, weights=importance.sum(axis=1)))
