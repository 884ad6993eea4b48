"""InfoMEC: modularity, compactness and explicitness in units of information."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Any, ClassVar, Literal, final

import torch
from jaxtyping import Bool, Float64
from torch import Tensor

from unbraid.errors import SpecError
from unbraid.information.latent_information import LatentInformation
from unbraid.metrics.estimators import Estimator, Exact, GroupNeighbors, Levels
from unbraid.metrics.information_metric import information_score
from unbraid.metrics.intervals import by_image, error_of_factor_mean
from unbraid.metrics.metric import OF_MEANS, Feature, Interval, Metric, Score, Value
from unbraid.metrics.predicting.fits import on_cores, quietly
from unbraid.metrics.predicting.prediction_tasks import (
    PredictionTask,
    check_classes,
    prediction_tasks,
    standardized_like,
)
from unbraid.metrics.reductions.gaps import among_factors, varies
from unbraid.metrics.reductions.statistics import Statistics
from unbraid.metrics.settings import NOT_NEGATIVE

Active = Literal["information", "range"]
Rows = Literal["held_out", "in_sample"]

# By range, a latent is active if its means span more than this share of the widest range.
_RANGE_SHARE = 1 / 20
_NOTHING_TO_COMPARE = "InfoM compares factors and InfoC active latents: with fewer than two they are undefined."


@final
@dataclass(frozen=True)
class InfoMEC(Metric):
    """Modularity, compactness and explicitness in shares of information (Hsu et al., arXiv:2305.18378v2).

    InfoM (the value) measures whether each latent is informative about only one factor. InfoC (the part
    "compactness") measures whether only one latent is informative about each factor. InfoE (the part "explicitness")
    measures the prediction of each factor by a linear model. Higher is better, at most 1.

    With N_jk = I(z_j; v_k) / H(v_k), K factors and a active latents, InfoM is the mean over active latents of max_k
    N_jk / sum_k N_jk, and InfoC the mean over factors of max_j N_jk / sum_j N_jk, both scaled so that 1/K and 1/a
    become 0. InfoE is the mean over factors of 1 - h / h_0, where h is the log loss of a logistic regression on all
    latents, and h_0 the log loss without latents. `active`: a latent is active if it has more than `threshold` nats
    about a factor ("information"), or if its means span more than a twentieth of the widest range ("range").
    `explicitness="in_sample"` scores the training rows, without a penalty and with balanced classes, as the authors'
    code does: then h_0 is the logarithm of the number of values. With `Levels()` latents are quantized, as in the
    authors' code for such codes: a latent is active by "range" if it has two levels or more, and the regression reads a
    column of 0 and 1 for each level.
    """

    estimator: Estimator = Exact()
    """The estimator of information."""
    active: Active = "information"
    """The criterion for active latents: information about a factor, or the range of their means."""
    threshold: float = 0.01
    """The information about a factor that an active latent exceeds, in nats."""
    explicitness: Rows = "held_out"
    """Whether the log loss is computed on test rows, or on the training rows as in the authors' code."""
    num_train: int = 10_000
    """The number of training rows."""
    num_test: int = 5_000
    """The number of test rows."""
    seed: int = 0
    """The seed of all random draws."""

    bounds: ClassVar[Interval] = (0.0, 1.0)
    quantity: ClassVar[str] = "InfoM"
    quantity_of_factors: ClassVar[str] = "compactness"
    groups_by_value: ClassVar[bool] = True
    fits_predictor: ClassVar[bool] = True
    ranges: ClassVar[Mapping[str, Interval]] = MappingProxyType({"threshold": NOT_NEGATIVE})
    reported_parts: ClassVar[Mapping[str, bool]] = MappingProxyType({"compactness": True, "explicitness": True})

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.active == "range" and isinstance(self.estimator, GroupNeighbors):
            raise SpecError("InfoMEC: active='range' does not support GroupNeighbors(). Use active='information'.")

    @property
    def accepts(self) -> frozenset[Feature]:
        return self.estimator.accepts & OF_MEANS

    def measure(self, statistics: Statistics) -> Score:
        tested = statistics.tested_part
        spans = self._spans_a_range(self.estimator.seen(tested))

        def numbers(information: LatentInformation) -> dict[str, Tensor]:
            return self._numbers(information, spans)

        score = information_score(self, self.estimator, tested, numbers, self.bounds)
        explicitness, per_factor, notes = self._explicitness(statistics)
        if math.isnan(score.value) or math.isnan(score.parts["compactness"].value):
            notes = (*notes, _NOTHING_TO_COMPARE)
        return replace(
            score,
            parts={**score.parts, "explicitness": explicitness},
            tables={**score.tables, "explicitness": per_factor},
            notes=(*score.notes, *notes),
        )

    @property
    def settings(self) -> dict[str, Any]:
        idle = {"threshold"} if self.active == "range" else set()
        idle |= {"num_test"} if self.explicitness == "in_sample" else set()
        return {name: value for name, value in super().settings.items() if name not in idle and value is not None}

    def _spans_a_range(self, statistics: Statistics) -> Bool[Tensor, " latent"]:
        """Returns a mask of latents with means that span a twentieth of the widest range (levels: any range)."""
        mean = statistics.codes.mean[statistics.weights > 0].double()
        width = mean.amax(dim=0) - mean.amin(dim=0)
        return width > (0 if isinstance(self.estimator, Levels) else width.max() * _RANGE_SHARE)

    def _numbers(self, information: LatentInformation, spans: Bool[Tensor, " latent"]) -> dict[str, Tensor]:
        entropy = information.factor_entropy
        defined = varies(entropy)
        # Below zero there is only rounding and sampling noise.
        table = information.mutual_information[:, defined].clamp(min=0)
        active = spans if self.active == "range" else table.amax(dim=1) > self.threshold
        share = table / entropy[defined]
        modularity = _scaled(_largest_share(share), share.shape[1])
        compactness = _scaled(_largest_share(share[active].T), int(active.sum()))
        full = torch.full_like(information.mutual_information, torch.nan)
        return {
            # Without any active latent 0 / 0: NaN.
            "value": torch.where(active, modularity, 0.0).sum() / active.sum(),
            "compactness": compactness.mean(),
            "per_factor": torch.full_like(entropy, torch.nan).masked_scatter(defined, compactness),
            "per_latent": torch.where(active, modularity, torch.nan),
            "normalized_information": full.masked_scatter(defined.expand(full.shape), share),
        }

    def _explicitness(self, statistics: Statistics) -> tuple[Value, Float64[Tensor, " factor"], tuple[str, ...]]:
        """Returns InfoE, its value for each factor, and notes."""
        in_sample, num_factors = self.explicitness == "in_sample", len(statistics.codes.factors)
        # In sample, InfoM, InfoC and InfoE are of the same images.
        rows = self.estimator.seen(statistics.tested_part) if in_sample else statistics
        tasks = prediction_tasks(rows, self.num_train, self.num_test, self.seed)
        check_classes("InfoMEC", tasks.values())
        fitted = [task.together(self.num_train) if in_sample else task for task in tasks.values()]
        has_levels = isinstance(self.estimator, Levels)
        fits = [partial(_log_losses, task, in_sample=in_sample, of_levels=has_levels) for task in fitted]
        shares, influences = torch.full((len(fitted),), math.nan, dtype=torch.float64), []
        unseen, left_out = list[str](), list[str]()
        for place, (task, (losses, null, seen)) in enumerate(zip(fitted, on_cores("InfoE", fits), strict=True)):
            if len(null) == 0 or float(null.mean()) == 0:
                left_out.append(task.name)
                continue
            if not seen.all():
                unseen.append(task.name)
            h, h_0 = losses.mean(), null.mean()
            shares[place] = 1 - h / h_0
            images = None if task.test_images is None else task.test_images[seen]
            influences.append(by_image((h / h_0 * null - losses) / h_0, images))
        found = among_factors(shares, tasks, num_factors)
        value = Value.from_standard_error(
            found[~found.isnan()].mean(), error_of_factor_mean(influences), (-math.inf, 1.0)
        )
        notes = {
            f"InfoE leaves out test rows of {', '.join(unseen)} with values that no training row has.": unseen,
            f"InfoE leaves out {', '.join(left_out)}: no value of a test row is in the training rows, or these have "
            "one value only.": left_out,
        }
        return value, found, tuple(note for note, names in notes.items() if names)


def _log_losses(
    task: PredictionTask, *, in_sample: bool, of_levels: bool
) -> tuple[Float64[Tensor, " seen"], Float64[Tensor, " seen"], Bool[Tensor, " row"]]:
    """Returns the log losses of test rows with and without latents, in nats, and a mask of the rows included.

    Rows with values that no training row has are left out. The multinomial regression reads standardized latents, or
    with `of_levels` a column of 0 and 1 for each level of each latent among the training rows. The regression
    has C = 1, and without latents the probability of a value is its frequency among the training rows. With
    `in_sample`, the regression has no penalty and balanced classes, and without latents all values are equally likely.
    """
    from sklearn.linear_model import LogisticRegression

    values, places = task.train_labels.unique(return_inverse=True)
    seen = torch.isin(task.test_labels, values)
    rows = torch.searchsorted(values, task.test_labels[seen])
    if in_sample:
        null = torch.full((len(rows),), math.log(len(values)), dtype=torch.float64)
        model = LogisticRegression(C=math.inf, class_weight="balanced", max_iter=100)
    else:
        null = -(torch.bincount(places) / len(places)).double().log()[rows]
        model = LogisticRegression(C=1.0, max_iter=1_000)
    if len(values) == 1 or len(rows) == 0:
        return torch.zeros_like(null), null, seen
    features = _in_levels if of_levels else standardized_like
    train, test = (features(codes, task.train_codes) for codes in (task.train_codes, task.test_codes[seen]))
    with quietly():
        model.fit(train.numpy(), places.numpy())
        logs = torch.from_numpy(model.predict_log_proba(test.numpy())).double()
    # As in scikit-learn's log loss, probabilities are at least the rounding error.
    least = math.log(torch.finfo(torch.float64).eps)
    return -logs.clamp(min=least).gather(1, rows[:, None])[:, 0], null, seen


def _in_levels(
    codes: Float64[Tensor, "row latent"], like: Float64[Tensor, "other latent"]
) -> Float64[Tensor, "row level"]:
    """Returns one-hot columns for the levels of each latent of `like`."""
    columns = zip(codes.unbind(dim=1), like.unbind(dim=1), strict=True)
    return torch.cat([(column[:, None] == other.unique()).double() for column, other in columns], dim=1)


def _largest_share(table: Float64[Tensor, "row column"]) -> Float64[Tensor, " row"]:
    """Returns the largest entry of each row divided by the row sum; the share of equal entries if all are 0."""
    total = table.sum(dim=1)
    if table.shape[1] == 0:  # no latent is active
        return total
    return torch.where(total > 0, table.amax(dim=1) / torch.where(total > 0, total, 1.0), 1 / table.shape[1])


def _scaled(share: Float64[Tensor, " row"], num_columns: int) -> Float64[Tensor, " row"]:
    """Returns (share - 1/n) / (1 - 1/n); NaN with a single column."""
    return (share * num_columns - 1) / (num_columns - 1) if num_columns > 1 else torch.full_like(share, torch.nan)
