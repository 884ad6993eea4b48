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

    The transformed rows are the codes, and `y` has the factors as a table or a DataFrame. The codes have no std, so
    choose a metric of means. One metric returns a number. Several metrics return a dict; `GridSearchCV(refit="dci")`
    selects a key. Metrics for which lower is better are negated, and their keys have the prefix "neg_". Other arguments
    are passed to `evaluate` and `Codes.from_arrays`.

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
            raise SpecError(f"Expected metrics of codes, got {names}. Choose a metric such as 'mig'.")
        if aimless := [name for name, metric in selection.metrics.items() if metric.higher_is_better is None]:
            raise SpecError(
                f"Expected metrics with a better direction, got {', '.join(aimless)}. Choose other metrics, or call "
                "evaluate."
            )

    def __call__(self, estimator: Any, X: Any, y: Any = None) -> float | dict[str, float]:
        if not hasattr(estimator, "transform"):
            raise CodesError(
                f"Expected a transformer such as PCA, or a pipeline that ends in a transformer, got "
                f"{type(estimator).__name__}, which has no method `transform`. Pass a transformer."
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
