"""DCI: disentanglement, completeness and informativeness."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import ClassVar, Literal, final

import scipy
import torch
from jaxtyping import Float64
from torch import Tensor

from unbraid.errors import CodesError, SpecError
from unbraid.metrics.intervals import resampled_weights, settled_by_half, spread
from unbraid.metrics.metric import OF_MEANS, Feature, Metric, Score, Value
from unbraid.metrics.predicting.factor_predictors import (
    FittedPredictor,
    Predictor,
    PredictorSettings,
    fitted_predictor,
    mean_error,
    refitted_importances,
)
from unbraid.metrics.predicting.on_cores import on_cores
from unbraid.metrics.predicting.prediction_tasks import PredictionTask, check_classes, prediction_tasks
from unbraid.metrics.reductions.statistics import Statistics

CompletenessAverage = Literal["mean", "weighted"]
Rows = Literal["split", "all"]
_NUM_TREES = {"lasso": 0, "forest": 10, "boosted_trees": 100}
_MAX_DEPTH = {"lasso": 0, "forest": 8, "boosted_trees": 3}
_NUM_REFITS = {"lasso": 20, "forest": 20, "boosted_trees": 3}


@final
@dataclass(frozen=True)
class DCI(Metric):
    """Disentanglement (the value): does each latent serve one factor? Completeness: is each factor served by one
    latent? And how well at all?

    Eastwood & Williams, *A Framework for the Quantitative Evaluation of Disentangled Representations*, ICLR 2018. A
    predictor of each factor from all latents says how much each latent counts, R_ik; D and C are one minus the
    entropies of its rows and columns. `predictor`: "lasso" (penalty `alpha`, latents and labels standardized unless
    `standardize` is False; ordered and continuous factors only), "forest" (10 trees of depth 8) or "boosted_trees" (100
    of depth 3, as in disentanglement_lib; slow). With `regress_unordered` the LASSO and the forest regress factors
    without order too, as the numbers that they are given as. `completeness` is averaged over factors plainly or
    weighted by importance. With `rows="all"` it is fitted on every row, and there is no test error. Parts:
    completeness, and the errors on training and test rows: RMSE / std(y), or the share of wrong classes where classes
    are predicted. Intervals of D and C come from `num_refits` fits on resampled rows (default 20; 3 for boosted trees;
    0 for none).
    """

    predictor: Predictor = "lasso"
    """What predicts a factor from the latents."""
    alpha: float = 0.002
    """Penalty of the LASSO."""
    standardize: bool = True
    """Whether latents and labels are standardized for the LASSO."""
    completeness: CompletenessAverage = "mean"
    """Whether completeness is averaged over factors plainly or weighted by importance."""
    num_trees: int | None = None
    """How many trees; without it 10 in a forest and 100 boosted ones."""
    max_depth: int | None = None
    """Depth of the trees; without it 8 in a forest and 3 of boosted ones."""
    regress_unordered: bool = False
    """Whether factors without order are regressed too, as the numbers they are given as: else the LASSO leaves them
    out and a forest classifies them."""
    num_refits: int | None = None
    """How many fits on resampled rows the intervals come from; 0 for no intervals."""
    rows: Rows = "split"
    """Whether some rows are fitted on and others tested on, or all are fitted on."""
    num_train: int = 10_000
    """How many rows it is fitted on, where they are split."""
    num_test: int = 5_000
    """How many other rows it is tested on, where they are split."""
    seed: int = 0
    """Where all that is random in it starts."""

    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    quantity: ClassVar[str] = "DCI disentanglement"
    quantity_of_factors: ClassVar[str] = "completeness"
    fits_predictor: ClassVar[bool] = True
    reported_parts: ClassVar[Mapping[str, bool]] = MappingProxyType({"completeness": True, "test_error": False})

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.alpha >= 0:
            raise SpecError(f"DCI: alpha is {self.alpha}; a penalty is 0 or more (0.002 is usual).")
        if self.num_refits is not None and self.num_refits not in (0, *range(2, 10_001)):
            raise SpecError(
                f"DCI: num_refits is {self.num_refits}; expected 0 (no intervals) or 2 to 10,000: a spread takes at "
                "least two."
            )
        if self.regress_unordered and self.predictor == "boosted_trees":
            raise SpecError(
                "DCI: boosted trees classify every discrete factor, so regress_unordered=True means nothing there. Use "
                "predictor='forest' or 'lasso'."
            )

    @property
    def title(self) -> str:
        # The usual predictor is told too: its numbers are not those of trees.
        lasso = f"{self.quantity}, LASSO" if self.predictor == "lasso" else self.quantity
        return super().title.replace(self.quantity, lasso, 1)

    @property
    def is_scale_sensitive(self) -> bool:
        # The lasso standardizes; trees take the means for float32, and what differs by less than 1e-7 for equal.
        return self.predictor != "lasso"

    @property
    def treats_floats_as_continuous(self) -> bool:
        return self.predictor == "boosted_trees"

    @property
    def accepts(self) -> frozenset[Feature]:
        taken: frozenset[Feature] = OF_MEANS | {"continuous factors"}
        # Rows are drawn by their weights; all of them are not.
        return taken - {"weights"} if self.rows == "all" else taken

    @property
    def predictor_settings(self) -> PredictorSettings:
        """Returns what the predictors read, with defaults resolved."""
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
        # Boosted trees are refitted at a cost of minutes; there half the rows are not asked.
        halves = [task.half() for task in parts] if self._num_refits and self.predictor != "boosted_trees" else []
        fits = on_cores("DCI", [partial(fitted_predictor, task, settings) for task in [*parts, *halves]])
        refits = self._refitted(parts, settings)
        return self._score(statistics, tasks, fits[: len(parts)], refits, fits[len(parts) :] or None, skipped)

    @property
    def _num_refits(self) -> int:
        return _NUM_REFITS[self.predictor] if self.num_refits is None else self.num_refits

    def _tasks(self, statistics: Statistics) -> tuple[dict[int, PredictionTask], list[str]]:
        """Returns the factors to predict, by number, and the names of those that this predictor cannot."""
        num_train = None if self.rows == "all" else self.num_train
        tasks = prediction_tasks(statistics, num_train, self.num_test, self.seed)
        found = {k: task for k, task in enumerate(tasks) if task is not None}
        left_out = self.predictor == "lasso" and not self.regress_unordered
        skipped = [k for k, task in found.items() if left_out and not task.ordered]
        names = [found.pop(k).name for k in skipped]
        if not found:
            raise CodesError(
                f"DCI: the values of {', '.join(names)} have no order, and the LASSO ranks values. Use "
                "predictor='forest' or 'boosted_trees', which classify, or regress_unordered=True."
            )
        for task in found.values():
            if self.predictor_settings.classifies(task):
                check_classes("DCI", task)
        return found, names

    def _refitted(
        self, tasks: list[PredictionTask], settings: PredictorSettings
    ) -> Float64[Tensor, "refit latent factor"] | None:
        if self._num_refits == 0:
            return None
        weights = [
            resampled_weights(len(task.train_labels), self.seed, self._num_refits, task.train_images) for task in tasks
        ]
        # The LASSO fits all resamples at once.
        at_once = self._num_refits if self.predictor == "lasso" else 1
        fits = [
            partial(refitted_importances, task, settings, some)
            for task, shares in zip(tasks, weights, strict=True)
            for some in shares.split(at_once)
        ]
        found = torch.cat(on_cores("DCI of resampled rows", fits))
        return found.unflatten(0, (len(tasks), self._num_refits)).permute(1, 2, 0)

    def _score(
        self,
        statistics: Statistics,
        tasks: Mapping[int, PredictionTask],
        fits: list[FittedPredictor],
        refits: Tensor | None,
        halves: list[FittedPredictor] | None,
        skipped: list[str],
    ) -> Score:
        importance = torch.stack([fit.importance for fit in fits], dim=1)
        value = self._with_interval(disentanglement, importance, refits)
        complete = completeness if self.completeness == "mean" else weighted_completeness
        losses = {"train_error": [fit.train for fit in fits], "test_error": [fit.test for fit in fits]}
        images = {
            "train_error": [task.train_images for task in tasks.values()],
            "test_error": [task.test_images for task in tasks.values()],
        }
        # Where all rows are fitted on, none are left to test on.
        errors = {name: each for name, each in losses.items() if all(len(part.losses) for part in each)}
        settled: bool | None = None
        notes: tuple[str, ...] = ()
        if halves is not None:
            half = disentanglement(torch.stack([fit.importance for fit in halves], dim=1))
            settled, notes = settled_by_half(value.value, float(half), value.interval, "training rows")
        if len(fits) == 1:
            notes = (
                *notes,
                (
                    "With one factor there is nothing to tell apart: by convention a latent that is used has a "
                    "disentanglement of 1."
                ),
            )
        if skipped:
            notes = (
                *notes,
                f"Left out, because their values have no order for the LASSO to follow: {', '.join(skipped)}.",
            )
        factors, num_factors = tuple(tasks), len(statistics.codes.factors)
        per_factor = _spread_out(completeness_of_factors(importance)[None], factors, num_factors)[0]
        return Score(
            metric=type(self).__name__,
            value=value.value,
            interval=value.interval,
            parts={
                "completeness": self._with_interval(complete, importance, refits),
                **{name: mean_error(each, self.seed, images[name]) for name, each in errors.items()},
            },
            per_factor=dict(zip(statistics.codes.factor_names, per_factor.tolist(), strict=True)),
            per_latent=tuple(disentanglement_of_latents(importance).tolist()),
            tables={
                "importance": _spread_out(importance, factors, num_factors),
                **{
                    name: _spread_out(torch.stack([part.error() for part in each], dim=1), factors, num_factors)[0]
                    for name, each in errors.items()
                },
            },
            settled=settled,
            notes=notes,
            settings=self._settings_that_mattered(),
        )

    def _with_interval(self, summary: Callable[[Tensor], Tensor], importance: Tensor, refits: Tensor | None) -> Value:
        value = float(summary(importance))
        if refits is None or math.isnan(value):
            return Value(value)
        half = float(scipy.stats.t.ppf(0.975, len(refits) - 1)) * float(
            spread(torch.stack([summary(refit) for refit in refits]))
        )
        return Value(value, (max(0.0, value - half), min(1.0, value + half)))

    def _settings_that_mattered(self) -> dict[str, object]:
        resolved = self.predictor_settings
        of_lasso: dict[str, object] = {"alpha": self.alpha, "standardize": self.standardize}
        of_trees: dict[str, object] = {"num_trees": resolved.num_trees, "max_depth": resolved.max_depth}
        idle = (*of_lasso, *of_trees, *(("num_train", "num_test") if self.rows == "all" else ()))
        others = {name: setting for name, setting in self.settings.items() if name not in idle}
        return others | {"num_refits": self._num_refits} | (of_lasso if self.predictor == "lasso" else of_trees)


def disentanglement_of_latents(importance: Float64[Tensor, "latent factor"]) -> Float64[Tensor, " latent"]:
    """Returns D_i = 1 - H(R_i. / sum_k R_ik) / log K: 1 for a latent that serves one factor, 0 for one that serves all
    alike, or none. With one factor it is 1 if used.
    """
    return _concentration(importance)


def completeness_of_factors(importance: Float64[Tensor, "latent factor"]) -> Float64[Tensor, " factor"]:
    """Returns C_k = 1 - H(R_.k / sum_i R_ik) / log L: 1 for a factor that one latent serves, 0 for one that all serve
    alike, or none.
    """
    return _concentration(importance.T)


def disentanglement(importance: Float64[Tensor, "latent factor"]) -> Float64[Tensor, ""]:
    """Returns the mean of D_i, each latent weighted by its importance; 0 if none has any."""
    return _weighted_mean(disentanglement_of_latents(importance), importance.sum(dim=1))


def completeness(importance: Float64[Tensor, "latent factor"]) -> Float64[Tensor, ""]:
    """Returns the plain mean of C_k, as Eastwood & Williams and Do & Tran have it."""
    return completeness_of_factors(importance).mean()


def weighted_completeness(importance: Float64[Tensor, "latent factor"]) -> Float64[Tensor, ""]:
    """Returns the mean of C_k, weighted by the importance of all latents for each factor, as in disentanglement_lib."""
    return _weighted_mean(completeness_of_factors(importance), importance.sum(dim=0))


def _concentration(importance: Float64[Tensor, "row column"]) -> Float64[Tensor, " row"]:
    total = importance.sum(dim=1)
    used = total > 0
    share = importance / torch.where(used, total, 1.0)[:, None]
    num_columns = importance.shape[1]
    entropy = -torch.xlogy(share, share).sum(dim=1) / (math.log(num_columns) if num_columns > 1 else 1.0)
    # Rounding may leave an entropy a hair above its greatest value.
    return torch.where(used, (1 - entropy).clamp(0, 1), 0.0)


def _weighted_mean(values: Float64[Tensor, " row"], weights: Float64[Tensor, " row"]) -> Float64[Tensor, ""]:
    total = weights.sum()
    return (values * weights).sum() / torch.where(total > 0, total, 1.0)


def _spread_out(
    table: Float64[Tensor, "row used"], factors: tuple[int, ...], num_factors: int
) -> Float64[Tensor, "row factor"]:
    """Returns the table with NaN for the factors that were not predicted."""
    full = torch.full((len(table), num_factors), math.nan, dtype=torch.float64)
    full[:, list(factors)] = table
    return full
