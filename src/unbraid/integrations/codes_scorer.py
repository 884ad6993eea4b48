"""Metrics of codes as a scikit-learn scorer."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

from unbraid.codes import Codes, CodesOptions
from unbraid.codes.labels import Marks
from unbraid.errors import CodesError, SpecError
from unbraid.metrics.evaluate import evaluate
from unbraid.metrics.selection import Metrics, select


@final
@dataclass(frozen=True)
class CodesScorer:
    """Scorer of fitted transformers, for `cross_val_score`, `cross_validate` and `GridSearchCV`.

    Transformed rows are scored against their factors. `y` holds the factors as a table or a DataFrame, which
    scikit-learn can split. Higher is always better: metrics with lower-is-better values are negated, and named with the
    prefix "neg_" in a dict. One metric returns a number. Several metrics return a dict; `GridSearchCV(refit="dci")`
    selects one of its keys. The codes are means without stds, so choose a metric for means. Other arguments are those
    of `evaluate` and `Codes.from_arrays`.

    >>> import numpy as np
    >>> from sklearn.decomposition import PCA
    >>> from sklearn.model_selection import cross_val_score
    >>> factors = np.random.default_rng(0).integers(0, 5, size=(300, 2))
    >>> cross_val_score(PCA(2), factors * [1.0, 3.0], factors, scoring=CodesScorer("sap"), cv=3).shape
    (3,)
    """

    metrics: Metrics
    factor_names: Sequence[str] | None = None
    unordered: Sequence[str] = ()
    missing: Marks = None
    seed: int | None = None

    def __post_init__(self) -> None:
        selection = select(self.metrics, self.seed)
        if selection.model_scores:
            names = ", ".join(selection.model_scores)
            raise SpecError(
                f"The scores {names} were given, which need a model; expected metrics of codes, e.g. 'mig'."
            )
        if aimless := [name for name, metric in selection.metrics.items() if metric.higher_is_better is None]:
            raise SpecError(
                f"The metrics {', '.join(aimless)} were given, of which neither high nor low values are better; "
                "expected metrics with a direction. Choose another one, or call evaluate."
            )

    def __call__(self, estimator: Any, X: Any, y: Any = None) -> float | dict[str, float]:
        if not hasattr(estimator, "transform"):
            raise CodesError(
                f"{type(estimator).__name__} has no transform; expected a transformer, such as PCA, or a pipeline that "
                "ends in one."
            )
        mean = estimator.transform(X)
        codes = Codes.from_arrays(
            mean.toarray() if hasattr(mean, "toarray") else mean,
            factors=y,
            options=CodesOptions(factor_names=self.factor_names, unordered=self.unordered, missing=self.missing),
        )
        card = evaluate(codes, metrics=self.metrics, seed=self.seed, progress=False)
        signed: dict[str, float] = {}
        chosen = select(self.metrics).metrics
        for name, metric in chosen.items():
            if name in card:
                signed[name if metric.higher_is_better else f"neg_{name}"] = (
                    card[name].value if metric.higher_is_better else -card[name].value
                )
        return next(iter(signed.values())) if len(chosen) == 1 else signed
