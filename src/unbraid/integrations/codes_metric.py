"""Metrics of codes as a torchmetrics metric."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, final

import torch
from torch import Tensor
from torchmetrics import Metric
from torchmetrics.utilities import dim_zero_cat

from unbraid._internal.arrays import as_floats
from unbraid.codes import Codes, CodesOptions
from unbraid.codes.conversions import as_factors
from unbraid.codes.labels import Marks
from unbraid.errors import CodesError, SpecError
from unbraid.metrics.evaluate import evaluate
from unbraid.metrics.scorecard import Scorecard
from unbraid.metrics.selection import Metrics, select


@final
class CodesMetric(Metric):
    """A torchmetrics metric that collects codes of all batches and processes and computes metrics with `evaluate`.

    Call `update(mean, std, factors)` for each batch and `compute()` at the end of an epoch. `factors` is a table with
    the columns `factor_names`, or a mapping from names to columns. `compute` returns a number for one metric, and a
    dict for several metrics. Undefined values are NaN. All codes are kept in memory until `reset`. Other arguments are
    passed to `evaluate`, `Codes.from_arrays` and `torchmetrics.Metric`.
    """

    is_differentiable = False
    full_state_update = False
    mean: list[Tensor]
    std: list[Tensor]
    factors: list[Tensor]

    def __init__(
        self,
        metrics: Metrics = "all",
        *,
        factor_names: Sequence[str] | None = None,
        unordered: Sequence[str] = (),
        missing: Marks = None,
        seed: int | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        selection = select(metrics, seed)
        if selection.model_scores:
            raise SpecError(f"Expected metrics of codes, got {', '.join(selection.model_scores)}. Use run.score.")
        self._metrics, self._names, self._seed = metrics, tuple(selection.metrics), seed
        self._given_names, self._unordered, self._missing = factor_names, unordered, missing
        self._columns: dict[str, bool] = {}  # whether each factor is continuous
        self._card: Scorecard | None = None
        self._directions = {metric.higher_is_better for metric in selection.metrics.values()}
        for state in ("mean", "std", "factors"):
            self.add_state(state, default=[], dist_reduce_fx="cat")

    def update(self, mean: Any, std: Any = None, factors: Any = None) -> None:
        """Adds the codes of a batch of images."""
        means = as_floats("mean", mean).to(self.device)
        labels = as_factors(factors, None if isinstance(factors, Mapping) else self._given_names)
        if wrong := [each for each in labels if each.values.ndim != 1 or each.known is not None or not each.ordered]:
            raise CodesError(
                f"Factor {wrong[0].name!r} has text, masked labels or shape {tuple(wrong[0].values.shape)}; expected "
                "one number per image. Convert text to the same numbers in every batch."
            )
        columns = {each.name: each.is_continuous for each in labels}
        if len(self.mean) and (bool(len(self.std)) != (std is not None) or self._columns != columns):
            raise CodesError(
                f"Expected batches with the same factors, types and std, got {', '.join(columns) or 'none'} after "
                f"{', '.join(self._columns) or 'none'}. Pass the same arguments for every batch."
            )
        self._columns = columns
        self.mean.append(means)
        if std is not None:
            self.std.append(as_floats("std", std).to(means))
        if columns:
            # One table has categorical and continuous factors: a double represents every integer up to 2**53.
            self.factors.append(torch.stack([each.values.double().to(self.device) for each in labels], dim=1))

    def compute(self) -> Tensor | dict[str, Tensor]:
        """Returns the scores of all codes since the last `reset`."""
        if not len(self.mean):
            raise CodesError("Expected codes, got none. Call update(mean, std, factors) for each batch.")
        table = dim_zero_cat(self.factors) if len(self.factors) else torch.empty(0, 0)
        factors = {
            name: column if is_continuous else column.long()
            for (name, is_continuous), column in zip(self._columns.items(), table.unbind(1), strict=True)
        }
        codes = Codes.from_arrays(
            dim_zero_cat(self.mean),
            dim_zero_cat(self.std) if len(self.std) else None,
            factors=factors or None,
            options=CodesOptions(unordered=self._unordered, missing=self._missing),
        )
        card = self._card = evaluate(codes, metrics=self._metrics, seed=self._seed, progress=False)
        values = {name: card[name].value if name in card else math.nan for name in self._names}
        found = {name: torch.tensor(value, device=self.device) for name, value in values.items()}
        return found[self._names[0]] if len(found) == 1 else found

    @property
    def higher_is_better(self) -> bool | None:
        """Whether higher values are better; None if the metrics have different directions."""
        return next(iter(self._directions)) if len(self._directions) == 1 else None

    @property
    def card(self) -> Scorecard | None:
        """The scorecard of the last `compute`, with intervals, parts, factors and latents. None before `compute`."""
        return self._card

    def reset(self) -> None:
        """Removes all codes and the scorecard."""
        super().reset()
        self._columns, self._card = {}, None
