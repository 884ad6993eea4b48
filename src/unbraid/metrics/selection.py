"""Metrics by name: `mig`, `factor-vae-score`, and with settings `dci:boosted_trees`, `mig:quantized:num_bins=50`."""

import dataclasses
import inspect
import typing
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar, final

from unbraid._internal.names import suggestion
from unbraid.config import parse, text_of
from unbraid.config.annotations import choices
from unbraid.config.config import check_class
from unbraid.config.text import split
from unbraid.errors import SpecError
from unbraid.metrics.metric import Metric, Score
from unbraid.metrics.model import ModelScore
from unbraid.metrics.settings import check_seed

Metrics = str | Sequence[str | Metric | ModelScore]
"""What can be asked for: "all", "unsupervised", "model", names separated by commas, or a sequence of names, metrics and
scores of models."""

Asked = TypeVar("Asked", Metric, ModelScore)
_WORDS = ("all", "unsupervised", "model")
# Of the scores of a model, beside the default of each.
MODEL_VARIANTS: tuple[str, ...] = ("reconstruction-error:absolute", "reconstruction-error:cross_entropy")

# Beside the default of every metric, what a reader of papers will look for.
VARIANTS: tuple[str, ...] = ("dci:forest", "zdiff:svm")
# What "all" leaves out, and why.
_SLOW = "takes minutes, so it is computed only if asked for by this name."
LEFT_OUT: dict[str, str] = {"dci:boosted_trees": _SLOW, "downstream:boosted_trees": _SLOW}
_BY_NAME = "is computed only if asked for by name."


@final
@dataclass(frozen=True)
class Selection:
    """Holds metrics by name, in order; what a user may miss among them, and why; and scores of models by name."""

    metrics: dict[str, Metric]
    left_out: dict[str, str] = field(default_factory=dict)
    model_scores: dict[str, ModelScore] = field(default_factory=dict)


def registry() -> dict[str, type[Metric]]:
    """Returns every metric that the package exports, by name: those that need factors first."""
    return dict(sorted(choices(Metric).items(), key=lambda named: (not named[1].needs_factors, named[0])))


def model_registry() -> dict[str, type[ModelScore]]:
    """Returns every score of a model that the package exports, by name."""
    return choices(ModelScore)


def select(metrics: Metrics, seed: int | None = None) -> Selection:
    """Returns the metrics that were asked for. With a `seed`, whatever is random in them starts from it."""
    if seed is not None:
        check_seed("seed", seed)
    selection = _asked_for(metrics)
    return dataclasses.replace(
        selection,
        metrics={name: _with_seed(metric, seed) for name, metric in selection.metrics.items()},
        model_scores={name: _with_seed(score, seed) for name, score in selection.model_scores.items()},
    )


def metric_of(name: str) -> Metric | ModelScore:
    """Returns the metric or score of a model of this name, with the settings that follow it after colons
    (`unbraid.config.text`).
    """
    first = name.partition(":")[0].strip().lower().replace("_", "-")
    if first in model_registry():
        return typing.cast(ModelScore, parse(name, ModelScore, "metric"))
    if first not in registry():
        known = [*registry(), *model_registry(), *_WORDS]
        raise SpecError(f"There is no metric {name!r}. {suggestion(first, known)}")
    return typing.cast(Metric, parse(name, Metric, "metric"))


def title_of(name: str) -> str:
    """Returns what the score of this name is, in words; the name itself where no metric here has it."""
    try:
        return metric_of(name).title
    except SpecError:
        return name


def class_of(score: Score) -> type[Metric] | None:
    """Returns the metric of the package that computed the score; None where it is another one."""
    return next((cls for cls in registry().values() if cls.__name__ == score.metric), None)


def _asked_for(metrics: Metrics) -> Selection:
    if not isinstance(metrics, str | Sequence):
        raise SpecError(
            f"Metrics were given as {metrics!r}; expected 'all', 'unsupervised', 'model', names separated by commas, "
            "or a list of names and metrics."
        )
    each = split(metrics, ";" if ";" in metrics else ",") if isinstance(metrics, str) else metrics
    if not each:
        raise SpecError(f"No metric was asked for. {suggestion('', registry())}")
    named = _named(metric for one in each for metric in _meant(one))
    has_all = any(isinstance(one, str) and one.strip() == "all" for one in each)
    return Selection(
        {name: metric for name, metric in named.items() if isinstance(metric, Metric)},
        {name: why for name, why in _left_out().items() if name not in named} if has_all else {},
        {name: score for name, score in named.items() if isinstance(score, ModelScore)},
    )


def _left_out() -> dict[str, str]:
    """Returns what "all" leaves out, and why."""
    return LEFT_OUT | {name: _BY_NAME for name, cls in registry().items() if cls.by_name_only}


def _meant(one: str | Metric | ModelScore) -> Sequence[Metric | ModelScore]:
    """Returns the metrics that one entry of a list stands for."""
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


def _named(metrics: Iterable[Metric | ModelScore]) -> dict[str, Metric | ModelScore]:
    return {text_of(metric): metric for metric in metrics}


def _checked(metric: Any) -> Metric | ModelScore:
    if isinstance(metric, Metric | ModelScore):
        check_class(type(metric))
        return metric
    is_class = inspect.isclass(metric) and issubclass(metric, Metric | ModelScore)
    called = f", such as {metric.__name__}()" if is_class else ""
    raise SpecError(f"A metric was given as {metric!r}; expected a name or an instance{called}.")


def _with_seed(metric: Asked, seed: int | None) -> Asked:
    return metric if seed is None else typing.cast(Asked, _seeded(metric, seed))


def _seeded(config: Any, seed: int) -> Any:
    """Returns the config with this seed in place of its own and of those of the configs in it."""
    values = {f.name: getattr(config, f.name) for f in fields(config)}
    inner = {name: _seeded(value, seed) for name, value in values.items() if dataclasses.is_dataclass(value)}
    return dataclasses.replace(config, **inner, **({"seed": seed} if "seed" in values else {}))
