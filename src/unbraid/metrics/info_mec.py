"""InfoMEC: modularity, compactness and explicitness as fractions of information."""

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

# With active="range", a latent is active if the range of its means is above this fraction of the largest range.
_RANGE_SHARE = 1 / 20
_NOTHING_TO_COMPARE = "InfoM is undefined for fewer than two factors, and InfoC for fewer than two active latents."


@final
@dataclass(frozen=True)
class InfoMEC(Metric):
    """Modularity, compactness and explicitness as fractions of information (Hsu et al., arXiv:2305.18378v2).

    The value InfoM measures whether each latent is informative about only one factor. The part "compactness", InfoC,
    measures whether only one latent is informative about each factor. The part "explicitness", InfoE, measures how
    accurately a linear model predicts each factor. Higher is better, at most 1.

    With N_jk = I(z_j; v_k) / H(v_k), InfoM is the mean over active latents of max_k N_jk / sum_k N_jk, and InfoC is the
    mean over factors of max_j N_jk / sum_j N_jk over active latents. Both are scaled linearly so that equal entries
    give 0. InfoE is the mean over factors of 1 - h / h_0, where h is the log loss of a logistic regression on all
    latents and h_0 the log loss without latents. A latent is active if it has more than `threshold` nats about a factor
    ("information"), or if the range of its means is above a twentieth of the largest range ("range").

    `explicitness="in_sample"` computes InfoE on the training rows, without a penalty and with balanced classes, as in
    the authors' code; h_0 is then the logarithm of the number of values. `Levels()` is for quantized latents, as in the
    authors' code. Such a latent is active by "range" if it has at least two levels, and the regression reads one-hot
    levels.
    """

    estimator: Estimator = Exact()
    """Estimator of information."""
    active: Active = "information"
    """Criterion for active latents: information about a factor, or the range of the means."""
    threshold: float = 0.01
    """Minimum information of an active latent about a factor, in nats."""
    explicitness: Rows = "held_out"
    """Rows for the log loss: test rows, or training rows as in the authors' code."""
    num_train: int = 10_000
    """Number of training rows."""
    num_test: int = 5_000
    """Number of test rows."""
    seed: int = 0
    """Seed of all random draws."""

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
            raise SpecError(
                "InfoMEC: active is 'range'; expected 'information' for GroupNeighbors(). Use active='information'."
            )

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
        """Returns a mask of the latents that are active by the range of their means."""
        mean = statistics.codes.mean[statistics.weights > 0].double()
        width = mean.amax(dim=0) - mean.amin(dim=0)
        return width > (0 if isinstance(self.estimator, Levels) else width.max() * _RANGE_SHARE)

    def _numbers(self, information: LatentInformation, spans: Bool[Tensor, " latent"]) -> dict[str, Tensor]:
        entropy = information.factor_entropy
        defined = varies(entropy)
        # Negative estimates are rounding errors or sampling noise.
        table = information.mutual_information[:, defined].clamp(min=0)
        active = spans if self.active == "range" else table.amax(dim=1) > self.threshold
        share = table / entropy[defined]
        modularity = _scaled(_largest_share(share), share.shape[1])
        compactness = _scaled(_largest_share(share[active].T), int(active.sum()))
        full = torch.full_like(information.mutual_information, torch.nan)
        return {
            # NaN (0 / 0) without active latents.
            "value": torch.where(active, modularity, 0.0).sum() / active.sum(),
            "compactness": compactness.mean(),
            "per_factor": torch.full_like(entropy, torch.nan).masked_scatter(defined, compactness),
            "per_latent": torch.where(active, modularity, torch.nan),
            "normalized_information": full.masked_scatter(defined.expand(full.shape), share),
        }

    def _explicitness(self, statistics: Statistics) -> tuple[Value, Float64[Tensor, " factor"], tuple[str, ...]]:
        """Returns InfoE, its values by factor, and notes."""
        in_sample, num_factors = self.explicitness == "in_sample", len(statistics.codes.factors)
        # With "in_sample", InfoM, InfoC and InfoE are computed from the same images.
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
            f"InfoE excludes test rows of {', '.join(unseen)} whose values do not occur in the training rows.": unseen,
            f"InfoE excludes {', '.join(left_out)}, because the training rows have one value, or no value of the test "
            "rows.": left_out,
        }
        return value, found, tuple(note for note, names in notes.items() if names)


def _log_losses(
    task: PredictionTask, *, in_sample: bool, of_levels: bool
) -> tuple[Float64[Tensor, " seen"], Float64[Tensor, " seen"], Bool[Tensor, " row"]]:
    """Returns the log losses of test rows with and without latents, in nats, and a mask of the included rows.

    Rows whose values do not occur in the training rows are excluded. The multinomial regression has C = 1 and reads
    standardized latents, or one-hot levels with `of_levels`. The prediction without latents is the frequency of each
    value in the training rows. With `in_sample`, the regression has no penalty and balanced classes, and the prediction
    without latents is uniform.
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
    # Probabilities are clipped to at least the machine epsilon, as in sklearn.metrics.log_loss.
    least = math.log(torch.finfo(torch.float64).eps)
    return -logs.clamp(min=least).gather(1, rows[:, None])[:, 0], null, seen


def _in_levels(
    codes: Float64[Tensor, "row latent"], like: Float64[Tensor, "other latent"]
) -> Float64[Tensor, "row level"]:
    """Returns one-hot columns for the levels that occur in each latent of `like`."""
    columns = zip(codes.unbind(dim=1), like.unbind(dim=1), strict=True)
    return torch.cat([(column[:, None] == other.unique()).double() for column, other in columns], dim=1)


def _largest_share(table: Float64[Tensor, "row column"]) -> Float64[Tensor, " row"]:
    """Returns the largest entry of each row divided by the row sum, or 1 / n if all n entries are 0."""
    total = table.sum(dim=1)
    if table.shape[1] == 0:  # no latent is active
        return total
    return torch.where(total > 0, table.amax(dim=1) / torch.where(total > 0, total, 1.0), 1 / table.shape[1])


def _scaled(share: Float64[Tensor, " row"], num_columns: int) -> Float64[Tensor, " row"]:
    """Returns (share - 1/n) / (1 - 1/n) for n columns; NaN with a single column."""
    return (share * num_columns - 1) / (num_columns - 1) if num_columns > 1 else torch.full_like(share, torch.nan)
