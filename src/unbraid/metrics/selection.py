"""Selection of metrics by name, e.g. `mig`, or with settings `dci:boosted_trees` and `mig:quantized:num_bins=50`."""

import dataclasses
import inspect
import typing
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any, final

from unbraid._internal.names import suggestion
from unbraid.config import parse, text_of
from unbraid.config.annotations import choices
from unbraid.config.config import check_class
from unbraid.config.text import split
from unbraid.errors import SpecError
from unbraid.metrics.metric import Metric, Score
from unbraid.metrics.model import ModelScore
from unbraid.metrics.settings import check_seed

Metrics = str | Metric | ModelScore | Sequence[str | Metric | ModelScore]
"""Selection of metrics: "all", "unsupervised", "model", comma-separated names, a metric or model score, or a sequence
of names, metrics and model scores.
"""

_GROUPS = ("all", "unsupervised", "model")
VARIANTS: tuple[str, ...] = ("dci:forest", "zdiff:svm")
"""Variants of metrics in "all" in addition to the default settings."""
MODEL_VARIANTS: tuple[str, ...] = ("reconstruction-error:absolute", "reconstruction-error:cross_entropy")
"""Variants of model scores in "model" in addition to the default settings."""
_SLOW = "is computed only if named, because it takes minutes."
LEFT_OUT: dict[str, str] = {"dci:boosted_trees": _SLOW, "downstream:boosted_trees": _SLOW}
"""Variants that "all" excludes, with the reasons."""
_BY_NAME = "is computed only if named."


@final
@dataclass(frozen=True)
class Selection:
    """Selected metrics by name, metrics excluded from "all" with the reasons, and selected model scores."""

    metrics: dict[str, Metric]
    left_out: dict[str, str] = field(default_factory=dict)
    model_scores: dict[str, ModelScore] = field(default_factory=dict)


def registry() -> dict[str, type[Metric]]:
    """Returns all metrics of the package by name, metrics that need factors first."""
    return dict(sorted(choices(Metric).items(), key=lambda named: (not named[1].needs_factors, named[0])))


def model_registry() -> dict[str, type[ModelScore]]:
    """Returns all model scores of the package by name."""
    return choices(ModelScore)


def select(metrics: Metrics, seed: int | None = None) -> Selection:
    """Returns the selected metrics. If `seed` is given, it replaces the seeds of all metrics."""
    if isinstance(metrics, Metric | ModelScore):
        metrics = (metrics,)
    if not isinstance(metrics, str | Sequence):
        raise SpecError(
            f"metrics is {metrics!r}; expected 'all', 'unsupervised', 'model', or names and metrics. Pass e.g. "
            "'mig,dci' or ['mig', DCI()]."
        )
    if seed is not None:
        check_seed("seed", seed)
    each = split(metrics, ";" if ";" in metrics else ",") if isinstance(metrics, str) else metrics
    if not each:
        raise SpecError(f"metrics is empty; expected at least one metric. {suggestion('', registry())}")
    named = {text_of(metric): metric for one in each for metric in _expanded(one)}
    left_out: dict[str, str] = {}
    if any(isinstance(one, str) and one.strip() == "all" for one in each):
        missing = LEFT_OUT | {name: _BY_NAME for name, cls in registry().items() if cls.by_name_only}
        left_out = {name: why for name, why in missing.items() if name not in named}
    seeded = named if seed is None else {name: _with_seed(metric, seed) for name, metric in named.items()}
    return Selection(
        {name: metric for name, metric in seeded.items() if isinstance(metric, Metric)},
        left_out,
        {name: score for name, score in seeded.items() if isinstance(score, ModelScore)},
    )


def metric_of(name: str) -> Metric | ModelScore:
    """Creates the metric or model score with a name and optional settings after colons (`unbraid.config.text`)."""
    first = name.partition(":")[0].strip().lower().replace("_", "-")
    if first in model_registry():
        return typing.cast(ModelScore, parse(name, ModelScore, "metric"))
    if first not in registry():
        known = [*registry(), *model_registry(), *_GROUPS]
        raise SpecError(f"Unknown metric {name!r}. {suggestion(first, known)}")
    return typing.cast(Metric, parse(name, Metric, "metric"))


def title_of(name: str) -> str:
    """Returns the title of the metric with this name, or the name if there is no such metric."""
    try:
        return metric_of(name).title
    except SpecError:
        return name


def class_of(score: Score) -> type[Metric] | None:
    """Returns the metric class of the package that computed a score, or None for other metrics."""
    return next((cls for cls in registry().values() if cls.__name__ == score.metric), None)


def _expanded(one: str | Metric | ModelScore) -> Sequence[Metric | ModelScore]:
    """Returns the metrics that one entry of a selection refers to."""
    if not isinstance(one, str):
        return [_checked(one)]
    known = registry().values()
    match one.strip():
        case "all":
            variants = [metric_of(name) for name in VARIANTS if name.partition(":")[0] in registry()]
            most = [cls for cls in known if not cls.by_name_only]
            return [m for cls in most for m in (cls(), *(v for v in variants if type(v) is cls))]
        case "model":
            return [*(cls() for cls in model_registry().values()), *map(metric_of, MODEL_VARIANTS)]
        case "unsupervised":
            return [cls() for cls in known if not (cls.needs_factors or cls.by_name_only)]
        case _:
            return [metric_of(one)]


def _checked(metric: Any) -> Metric | ModelScore:
    if isinstance(metric, Metric | ModelScore):
        check_class(type(metric))
        return metric
    is_class = inspect.isclass(metric) and issubclass(metric, Metric | ModelScore)
    called = f", such as {metric.__name__}()" if is_class else ""
    raise SpecError(f"A metric is {metric!r}; expected a name or an instance{called}. Pass an instance.")


def _with_seed(config: Any, seed: int) -> Any:
    """Returns a copy of the config with the given seed, also in nested configs."""
    values = {f.name: getattr(config, f.name) for f in fields(config)}
    inner = {name: _with_seed(value, seed) for name, value in values.items() if dataclasses.is_dataclass(value)}
    return dataclasses.replace(config, **inner, **({"seed": seed} if "seed" in values else {}))
