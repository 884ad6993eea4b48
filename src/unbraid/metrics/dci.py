"""DCI: disentanglement, completeness and informativeness."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any, ClassVar, Literal, final

import scipy
import torch
from jaxtyping import Float64
from torch import Tensor

from unbraid.errors import CodesError, SpecError
from unbraid.metrics.intervals import resampled_weights, settled_by_half, spread
from unbraid.metrics.metric import OF_MEANS, Feature, Interval, Metric, Score, Value
from unbraid.metrics.predicting.factor_predictors import (
    Predictor,
    PredictorSettings,
    fitted_predictor,
    mean_error,
    refitted_importances,
)
from unbraid.metrics.predicting.fits import on_cores
from unbraid.metrics.predicting.prediction_tasks import PredictionTask, check_classes, prediction_tasks
from unbraid.metrics.reductions.gaps import among_factors
from unbraid.metrics.reductions.statistics import Statistics
from unbraid.metrics.settings import NOT_NEGATIVE

CompletenessAverage = Literal["mean", "weighted"]
Rows = Literal["split", "all"]
_NUM_TREES = {"lasso": 0, "forest": 10, "boosted_trees": 100}
_MAX_DEPTH = {"lasso": 0, "forest": 8, "boosted_trees": 3}
_NUM_REFITS = {"lasso": 20, "forest": 20, "boosted_trees": 3}


@final
@dataclass(frozen=True)
class DCI(Metric):
    """Disentanglement, completeness and informativeness of latents (Eastwood & Williams, ICLR 2018).

    The value is disentanglement D: whether each latent is important for only one factor. The parts are completeness C,
    whether only one latent is important for each factor, and the errors on training and test rows.

    *A Framework for the Quantitative Evaluation of Disentangled Representations*. A predictor of factor k from all
    latents defines the importance R_ik of latent i. D and C are one minus the normalized entropies of the rows and
    columns of R. `predictor` is "lasso" (only ordered and continuous factors), "forest", or "boosted_trees" (slow, as
    in disentanglement_lib). Errors are RMSE / std(y), or the fraction of wrong classes. With `rows="all"` there is no
    test error. Intervals of D and C are from fits on resampled rows.
    """

    predictor: Predictor = "lasso"
    """Predictor of a factor from the latents."""
    alpha: float = 0.002
    """Penalty of the LASSO."""
    standardize: bool = True
    """Whether to standardize latents and labels for the LASSO."""
    completeness: CompletenessAverage = "mean"
    """Average of completeness over factors: unweighted, or weighted by importance."""
    num_trees: int | None = None
    """Number of trees; None for 10 in a forest and 100 in boosted trees."""
    max_depth: int | None = None
    """Depth of the trees; None for 8 in a forest and 3 in boosted trees."""
    regress_unordered: bool = False
    """Whether to regress value indices of unordered factors, instead of leaving them out (LASSO) or classifying."""
    num_refits: int | None = None
    """Number of fits on resampled rows for intervals; 0 for no intervals; None for 20 (3 for boosted trees)."""
    rows: Rows = "split"
    """Whether to split rows into training and test rows, or to train on all rows."""
    num_train: int = 10_000
    """Number of training rows for rows="split"."""
    num_test: int = 5_000
    """Number of test rows for rows="split"."""
    seed: int = 0
    """Seed of all random draws."""

    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    quantity: ClassVar[str] = "DCI disentanglement"
    quantity_of_factors: ClassVar[str] = "completeness"
    fits_predictor: ClassVar[bool] = True
    ranges: ClassVar[Mapping[str, Interval]] = MappingProxyType({"alpha": NOT_NEGATIVE})
    reported_parts: ClassVar[Mapping[str, bool]] = MappingProxyType({"completeness": True, "test_error": False})

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.num_refits is not None and self.num_refits not in (0, *range(2, 10_001)):
            raise SpecError(
                f"DCI: num_refits is {self.num_refits}; expected 0 or 2 to 10,000. Pass e.g. 20, or 0 for no intervals."
            )
        if self.regress_unordered and self.predictor == "boosted_trees":
            raise SpecError(
                "DCI: regress_unordered is True; expected False for predictor='boosted_trees', which classifies every "
                "discrete factor. Use predictor='forest' or 'lasso'."
            )

    @property
    def title(self) -> str:
        # The title also contains the default predictor, because its scores differ from scores of trees.
        lasso = f"{self.quantity}, LASSO" if self.predictor == "lasso" else self.quantity
        return super().title.replace(self.quantity, lasso, 1)

    @property
    def is_scale_sensitive(self) -> bool:
        # The LASSO standardizes latents. Trees round latents to float32.
        return self.predictor != "lasso"

    @property
    def treats_floats_as_continuous(self) -> bool:
        return self.predictor == "boosted_trees"

    @property
    def accepts(self) -> frozenset[Feature]:
        # Weights are the probabilities of drawing a row. With all rows, no rows are drawn.
        accepted: frozenset[Feature] = OF_MEANS | {"continuous factors"}
        return accepted - {"weights"} if self.rows == "all" else accepted

    @property
    def predictor_settings(self) -> PredictorSettings:
        """Settings of the predictor, with defaults resolved."""
        return PredictorSettings(
            predictor=self.predictor,
            alpha=self.alpha,
            standardize=self.standardize,
            num_trees=self.num_trees or _NUM_TREES[self.predictor],
            max_depth=self.max_depth or _MAX_DEPTH[self.predictor],
            regress_unordered=self.regress_unordered,
            seed=self.seed,
        )

    def measure(self, statistics: Statistics) -> Score:
        tasks, skipped = self._tasks(statistics)
        settings = self.predictor_settings
        parts = list(tasks.values())
        # Boosted trees are not fitted on half of the rows, because this takes minutes.
        num_refits = self._num_refits if statistics.with_intervals else 0
        halves = [task.half() for task in parts] if num_refits and self.predictor != "boosted_trees" else []
        every = on_cores("DCI", [partial(fitted_predictor, task, settings) for task in [*parts, *halves]])
        fits, half_fits = every[: len(parts)], every[len(parts) :]
        refits = self._refitted(parts, settings, num_refits)
        importance = torch.stack([fit.importance for fit in fits], dim=1)
        value = self._with_interval(disentanglement, importance, refits)
        complete = completeness if self.completeness == "mean" else weighted_completeness
        losses = {"train_error": [fit.train for fit in fits], "test_error": [fit.test for fit in fits]}
        images = {
            "train_error": [task.train_images for task in parts],
            "test_error": [task.test_images for task in parts],
        }
        # If all rows are training rows, there are no test rows.
        errors = {name: each for name, each in losses.items() if all(len(part.losses) for part in each)}
        settled: bool | None = None
        notes: tuple[str, ...] = ()
        if half_fits:
            half = disentanglement(torch.stack([fit.importance for fit in half_fits], dim=1))
            settled, notes = settled_by_half(value.value, float(half), value.interval, "training rows")
        if len(fits) == 1:
            notes = (*notes, "With one factor, the disentanglement of every important latent is 1.")
        if skipped:
            notes = (*notes, f"Factors without ordered values are left out by the LASSO: {', '.join(skipped)}.")
        num_factors = len(statistics.codes.factors)
        tables = {"importance": importance} | {
            name: torch.cat([part.error() for part in each]) for name, each in errors.items()
        }
        return self.score(
            value,
            statistics.codes.factor_names,
            parts={
                "completeness": self._with_interval(complete, importance, refits),
                **{
                    name: mean_error(each, self.seed, images[name], statistics.num_resamples)
                    for name, each in errors.items()
                },
            },
            per_factor=among_factors(completeness_of_factors(importance), tasks, num_factors),
            per_latent=disentanglement_of_latents(importance),
            tables={name: among_factors(table, tasks, num_factors) for name, table in tables.items()},
            settled=settled,
            notes=notes,
        )

    @property
    def _num_refits(self) -> int:
        return _NUM_REFITS[self.predictor] if self.num_refits is None else self.num_refits

    def _tasks(self, statistics: Statistics) -> tuple[dict[int, PredictionTask], list[str]]:
        """Returns the prediction tasks by factor index, and the names of factors without a task."""
        num_train = None if self.rows == "all" else self.num_train
        found = dict(prediction_tasks(statistics, num_train, self.num_test, self.seed))
        left_out = self.predictor == "lasso" and not self.regress_unordered
        skipped = [k for k, task in found.items() if left_out and not task.ordered]
        names = [found.pop(k).name for k in skipped]
        if not found:
            raise CodesError(
                f"DCI: the values of {', '.join(names)} have no order; expected at least one ordered factor for the "
                "LASSO. Use predictor='forest' or 'boosted_trees', or regress_unordered=True."
            )
        check_classes("DCI", [task for task in found.values() if self.predictor_settings.classifies(task)])
        return found, names

    def _refitted(
        self, tasks: list[PredictionTask], settings: PredictorSettings, num_refits: int
    ) -> Float64[Tensor, "refit latent factor"] | None:
        if num_refits == 0:
            return None
        weights = [
            resampled_weights(len(task.train_labels), self.seed, num_refits, task.train_images) for task in tasks
        ]
        # The LASSO fits all resamples at once.
        at_once = num_refits if self.predictor == "lasso" else 1
        fits = [
            partial(refitted_importances, task, settings, some)
            for task, shares in zip(tasks, weights, strict=True)
            for some in shares.split(at_once)
        ]
        found = torch.cat(on_cores("DCI of resampled rows", fits))
        return found.unflatten(0, (len(tasks), num_refits)).permute(1, 2, 0)

    def _with_interval(self, summary: Callable[[Tensor], Tensor], importance: Tensor, refits: Tensor | None) -> Value:
        value = float(summary(importance))
        if refits is None or math.isnan(value):
            return Value(value)
        half = float(scipy.stats.t.ppf(0.975, len(refits) - 1)) * float(
            spread(torch.stack([summary(refit) for refit in refits]))
        )
        return Value(value, (max(0.0, value - half), min(1.0, value + half)))

    @property
    def settings(self) -> dict[str, Any]:
        """Settings of the metric and the predictor, with defaults resolved and without unused settings."""
        resolved = self.predictor_settings
        of_lasso: dict[str, Any] = {"alpha": self.alpha, "standardize": self.standardize}
        of_trees: dict[str, Any] = {"num_trees": resolved.num_trees, "max_depth": resolved.max_depth}
        idle = (*of_lasso, *of_trees, *(("num_train", "num_test") if self.rows == "all" else ()))
        others = {name: setting for name, setting in super().settings.items() if name not in idle}
        return others | {"num_refits": self._num_refits} | (of_lasso if self.predictor == "lasso" else of_trees)


def disentanglement_of_latents(importance: Float64[Tensor, "latent factor"]) -> Float64[Tensor, " latent"]:
    """Returns D_i = 1 - H(R_i. / sum_k R_ik) / log K for each latent.

    D_i is 1 if the latent is important for only one factor, and 0 if it is equally important for all factors or has no
    importance. With one factor, D_i is 1 for every latent with an importance above 0.
    """
    return _concentration(importance)


def completeness_of_factors(importance: Float64[Tensor, "latent factor"]) -> Float64[Tensor, " factor"]:
    """Returns C_k = 1 - H(R_.k / sum_i R_ik) / log L for each factor.

    C_k is 1 if only one latent is important for the factor, and 0 if all latents are equally important or none is.
    """
    return _concentration(importance.T)


def disentanglement(importance: Float64[Tensor, "latent factor"]) -> Float64[Tensor, ""]:
    """Returns the mean of D_i, weighted by the total importance of each latent; 0 if all importances are 0."""
    return _weighted_mean(disentanglement_of_latents(importance), importance.sum(dim=1))


def completeness(importance: Float64[Tensor, "latent factor"]) -> Float64[Tensor, ""]:
    """Returns the unweighted mean of C_k, as in Eastwood & Williams and Do & Tran."""
    return completeness_of_factors(importance).mean()


def weighted_completeness(importance: Float64[Tensor, "latent factor"]) -> Float64[Tensor, ""]:
    """Returns the mean of C_k, weighted by the total importance for each factor, as in disentanglement_lib."""
    return _weighted_mean(completeness_of_factors(importance), importance.sum(dim=0))


def _concentration(importance: Float64[Tensor, "row column"]) -> Float64[Tensor, " row"]:
    total = importance.sum(dim=1)
    used = total > 0
    share = importance / torch.where(used, total, 1.0)[:, None]
    num_columns = importance.shape[1]
    entropy = -torch.xlogy(share, share).sum(dim=1) / (math.log(num_columns) if num_columns > 1 else 1.0)
    # Due to rounding, an entropy may slightly exceed its maximum.
    return torch.where(used, (1 - entropy).clamp(0, 1), 0.0)


def _weighted_mean(values: Float64[Tensor, " row"], weights: Float64[Tensor, " row"]) -> Float64[Tensor, ""]:
    total = weights.sum()
    return (values * weights).sum() / torch.where(total > 0, total, 1.0)
