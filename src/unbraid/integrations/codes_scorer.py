"""A scorer as scikit-learn takes them, of the codes that a transformer gives."""

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
    """Scores what a fitted transformer makes of rows, against their factors: what `cross_val_score`, `cross_validate`
    and `GridSearchCV` of scikit-learn take as `scoring`.

    `y` holds the factors, in any form that `Codes.from_arrays` takes and scikit-learn can split: a table, which
    `factor_names` names, or a DataFrame. As every scorer of scikit-learn, it gives more for better codes: a metric of
    which less is better is negated, and in a dict its name begins with "neg_". One metric gives a number; several give
    a dict, of which `GridSearchCV(refit="dci")` names the one to choose by. `unordered`, `missing` and `seed` are those
    of `Codes.from_arrays` and `evaluate`. The codes are means without stds, so choose a metric that takes these.

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
            raise SpecError(f"{', '.join(selection.model_scores)}: reads a model of unbraid, not codes. Name a metric.")
        if aimless := [name for name, metric in selection.metrics.items() if metric.higher_is_better is None]:
            raise SpecError(
                f"{', '.join(aimless)}: more is neither better nor worse, so nothing can be chosen by it. Name a "
                "metric that has a direction, or call evaluate."
            )

    def __call__(self, estimator: Any, X: Any, y: Any = None) -> float | dict[str, float]:
        if not hasattr(estimator, "transform"):
            raise CodesError(
                f"{type(estimator).__name__} has no transform, so it gives no codes. Score a transformer, such as PCA, "
                "or a pipeline that ends in one."
            )
        mean = estimator.transform(X)
        codes = Codes.from_arrays(
            mean.toarray() if hasattr(mean, "toarray") else mean,
            factors=y,
            options=CodesOptions(factor_names=self.factor_names, unordered=self.unordered, missing=self.missing),
        )
        card = evaluate(codes, self.metrics, seed=self.seed, progress=False)
        signed = dict(
            _greater_is_better(name, score.value, card.higher_is_better[name]) for name, score in dict(card).items()
        )
        return next(iter(signed.values())) if len(select(self.metrics).metrics) == 1 else signed


def _greater_is_better(name: str, value: float, higher_is_better: bool | None) -> tuple[str, float]:
    return (name, value) if higher_is_better else (f"neg_{name}", -value)
