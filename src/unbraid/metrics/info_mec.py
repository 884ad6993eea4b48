"""InfoMEC: modularity, compactness and explicitness in units of information."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import ClassVar, Literal, final

import torch
from jaxtyping import Bool, Float64
from torch import Tensor

from unbraid.errors import SpecError
from unbraid.information.latent_information import LatentInformation
from unbraid.metrics.estimators import Estimator, Exact, GroupNeighbors, Levels
from unbraid.metrics.information_metric import information_score
from unbraid.metrics.intervals import by_image, error_of_factor_mean
from unbraid.metrics.metric import OF_MEANS, Feature, Interval, Metric, Score, Value
from unbraid.metrics.predicting.log_losses import log_losses
from unbraid.metrics.predicting.on_cores import on_cores
from unbraid.metrics.predicting.prediction_tasks import check_classes, prediction_tasks
from unbraid.metrics.reductions.gaps import mean_over_factors, varies
from unbraid.metrics.reductions.statistics import Statistics

Active = Literal["information", "range"]
Rows = Literal["held_out", "in_sample"]

# By range, a latent is active if its means span more than this share of the widest one.
_RANGE_SHARE = 1 / 20
_NOTHING_TO_COMPARE = (
    "InfoM compares factors and InfoC active latents: each takes two or more, and is undefined with less."
)


@final
@dataclass(frozen=True)
class InfoMEC(Metric):
    """InfoM (the value): does each latent say of one factor only? InfoC ("compactness"): is each factor said by one
    latent only? InfoE ("explicitness"): how much of each factor can be read off linearly? Higher is better, at most 1.

    Hsu et al., arXiv:2305.18378v2. With N_jk = I(z_j; v_k) / H(v_k), K factors and a active latents, InfoM is the mean
    over active latents of max_k N_jk / sum_k N_jk, and InfoC the mean over factors of max_j N_jk / sum_j N_jk, both
    scaled so that 1/K and 1/a become 0. InfoE is the mean over factors of 1 - h / h_0, where h is the log loss of a
    logistic regression on all latents, and h_0 that without latents. `active`: a latent counts if it says more than
    `threshold` nats of some factor ("information"), or if its means span more than a twentieth of the widest range.
    `explicitness`: on other rows than it was fitted on ("held_out"), or on the same without a penalty and with balanced
    classes ("in_sample"), as the authors' code has it: then h_0 is the logarithm of the number of values. With
    `Levels()` latents are quantized, as in the authors' code for such: one counts by "range" if it has two levels or
    more, and the regression reads a column of 0 and 1 for each level.
    """

    estimator: Estimator = Exact()  # noqa: RUF009 (frozen)
    """How information is estimated."""
    active: Active = "information"
    """Which latents count: those that say something of a factor, or whose means span a range."""
    threshold: float = 0.01
    """Most that a latent may tell of a factor and still not count, in nats."""
    explicitness: Rows = "held_out"
    """Whether the log loss is that of other rows than were fitted on, or of the same, as in the authors' code."""
    num_train: int = 10_000
    """How many rows it is fitted on."""
    num_test: int = 5_000
    """How many other rows it is tested on."""
    seed: int = 0
    """Where all that is random in it starts."""

    bounds: ClassVar[Interval] = (0.0, 1.0)
    quantity: ClassVar[str] = "InfoM"
    quantity_of_factors: ClassVar[str] = "compactness"
    groups_by_value: ClassVar[bool] = True
    fits_predictor: ClassVar[bool] = True
    reported_parts: ClassVar[Mapping[str, bool]] = MappingProxyType({"compactness": True, "explicitness": True})

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.threshold < math.inf:
            raise SpecError(f"InfoMEC: threshold is {self.threshold}; expected nats, 0 or more (0.01 is usual).")
        if self.active == "range" and isinstance(self.estimator, GroupNeighbors):
            raise SpecError("InfoMEC: active='range' is of single latents, and GroupNeighbors() sees groups. Drop it.")

    @property
    def accepts(self) -> frozenset[Feature]:
        return self.estimator.accepts & OF_MEANS

    def measure(self, statistics: Statistics) -> Score:
        tested = statistics.tested_part
        spans = self._spans_a_range(self.estimator.seen(tested))

        def numbers(information: LatentInformation) -> dict[str, Tensor]:
            return self._numbers(information, spans)

        score = information_score(
            "InfoMEC", self.estimator, tested, numbers, self.bounds, self._settings, self.reported_parts
        )
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
    def _settings(self) -> dict[str, object]:
        idle = {"threshold"} if self.active == "range" else set()
        idle |= {"num_test"} if self.explicitness == "in_sample" else set()
        return {name: value for name, value in self.settings.items() if name not in idle and value is not None}

    def _spans_a_range(self, statistics: Statistics) -> Bool[Tensor, " latent"]:
        """Returns which latents have means that span a fair share of the widest range; of levels, any range."""
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
        """Returns InfoE, its value for each factor, and what to know of it."""
        in_sample = self.explicitness == "in_sample"
        has_levels = isinstance(self.estimator, Levels)
        # In sample, InfoM, InfoC and InfoE are of the same images.
        rows = self.estimator.seen(statistics.tested_part) if in_sample else statistics
        tasks = prediction_tasks(rows, self.num_train, self.num_test, self.seed)
        found, influences = torch.full((len(tasks),), math.nan, dtype=torch.float64), []
        unseen, left_out = list[str](), list[str]()
        known = {k: task for k, task in enumerate(tasks) if task is not None}
        for task in known.values():
            check_classes("InfoMEC", task)
        fitted = [task.together(self.num_train) if in_sample else task for task in known.values()]
        fits = [partial(log_losses, task, in_sample=in_sample, of_levels=has_levels) for task in fitted]
        every = on_cores("InfoE", fits)
        for k, task, losses in zip(known, fitted, every, strict=True):
            if not losses.can_be_compared:
                left_out.append(task.name)
                continue
            if not losses.seen.all():
                unseen.append(task.name)
            h, null = losses.fitted.mean(), losses.null.mean()
            found[k] = 1 - h / null
            images = None if task.test_images is None else task.test_images[losses.seen]
            influences.append(by_image((h / null * losses.null - losses.fitted) / null, images))
        value = Value.from_standard_error(
            mean_over_factors(found, ~found.isnan()), error_of_factor_mean(influences), (-math.inf, 1.0)
        )
        told = {
            f"InfoE leaves out test rows of {', '.join(unseen)}, whose values are in no training row.": unseen,
            f"InfoE leaves out {', '.join(left_out)}: no value of a test row is in the training rows, or these have "
            "one value only.": left_out,
        }
        return value, found, tuple(note for note, names in told.items() if names)


def _largest_share(table: Float64[Tensor, "row column"]) -> Float64[Tensor, " row"]:
    """Returns the largest of each row over its sum; where all are 0, what equal ones would have."""
    total = table.sum(dim=1)
    if table.shape[1] == 0:  # no latent is active
        return total
    return torch.where(total > 0, table.amax(dim=1) / torch.where(total > 0, total, 1.0), 1 / table.shape[1])


def _scaled(share: Float64[Tensor, " row"], num_columns: int) -> Float64[Tensor, " row"]:
    """Returns (share - 1/n) / (1 - 1/n); NaN with one column, where there is nothing to compare."""
    return (share * num_columns - 1) / (num_columns - 1) if num_columns > 1 else torch.full_like(share, torch.nan)
