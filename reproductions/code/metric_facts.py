"""Table 1 of Do & Tran: what metrics need and notice, cell by cell, by experiment or by what a metric states of itself."""

from typing import Any

from reproductions.code.turned_codes import folded_codes
from reproductions.item import Numbers
from unbraid import MIG, Codes
from unbraid.metrics import DCI, INDIN, JEMMIG, RMIG, SAP, SEPIN, Explicitness, Modularity, ZDiff
from unbraid.metrics.estimators import MeansHistogram, Sampled

_DRAWS = Sampled(num_samples=500)
_METRICS: dict[str, Any] = {
    "Z-diff": ZDiff(num_train=500, num_test=300),
    "SAP": SAP(),
    "MIG": MIG(_DRAWS),
    "DCI, LASSO": DCI("lasso", num_refits=0),
    "DCI, forest": DCI("forest", num_refits=0),
    "Modularity": Modularity(MeansHistogram()),
    "Explicitness": Explicitness(),
    "WSEPIN": SEPIN(_DRAWS),
    "WINDIN": INDIN(_DRAWS),
    "RMIG": RMIG(),
    "JEMMIG": JEMMIG(),
}
OURS = ("WSEPIN", "WINDIN", "RMIG", "JEMMIG")
_PRINTED = {
    "classifier": (("Z-diff", "SAP", "DCI, LASSO", "DCI, forest", "Explicitness"), "fits a classifier", "fits no classifier"),
    "nonlinear": (("MIG", "DCI, forest", "Modularity", *OURS), "notices nonlinear relations", "does not notice nonlinear relations"),
    "posterior": (("MIG", *OURS), "uses q(z | x)", "does not use q(z | x)"),
    "continuous": (("SAP", "Modularity", *OURS), "takes continuous factors", "takes no continuous factors"),
    "no_factors": (("WSEPIN", "WINDIN"), "needs no factors", "needs factors"),
}
MEASURED = ("nonlinear", "posterior")
"""The columns that an experiment answers."""
FACTS = {
    label: {c: (f"{label} {yes if label in those else no}.", float(label in those)) for c, (those, yes, no) in _PRINTED.items()} for label in _METRICS
}
"""The sentence and the printed value of each cell, by metric and column."""


def _quality(label: str, codes: Codes) -> float:
    """Returns the score, higher for better codes; of DCI how well the factors are predicted."""
    metric = _METRICS[label]
    score = metric(codes)
    if label.startswith("DCI"):
        return max(0.0, 1 - score.parts["test_error"].value)
    if label == "Explicitness" or not metric.needs_factors:
        return float(score.value)
    return float(1 - score.value if label == "JEMMIG" else score.value)


def compute_facts(label: str, seed: int) -> Numbers:
    """Returns 1 or 0 for every column, and what was measured for those that are measured."""
    metric = _METRICS[label]
    plain, folded = _quality(label, folded_codes()), _quality(label, folded_codes(folded=True))
    kept, moved = folded / plain, abs(metric(folded_codes(std=0.5)).value - metric(folded_codes()).value)
    return {
        "classifier": metric.fits_predictor,
        "nonlinear": kept >= 0.9,
        "nonlinear:share of the score kept": kept,
        "posterior": moved > 1e-3,
        "posterior:change with the width of q(z | x)": moved,
        "continuous": "continuous factors" in metric.accepts,
        "no_factors": not metric.needs_factors,
    }
