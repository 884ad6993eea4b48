"""Metrics by name: `mig`, `factor-vae-score`, and with settings `dci:boosted_trees`, `mig:quantised:num_bins=50`."""

import dataclasses
import inspect
import typing
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, final

from unbraid.errors import SpecError
from unbraid.metrics.metric import Metric
from unbraid.metrics.settings import check_seed
from unbraid.names import suggestion
from unbraid.recipes import parse, text_of
from unbraid.recipes.registry import choices
from unbraid.recipes.text import split

Metrics = str | Sequence[str | Metric]
"""What can be asked for: "all", "unsupervised", names separated by commas, or a sequence of names and metrics."""

# Beside the default of every metric, what a reader of papers will look for.
VARIANTS: tuple[str, ...] = ("dci:forest", "zdiff:svm")
# What "all" leaves out, and why.
LEFT_OUT: dict[str, str] = {"dci:boosted_trees": "takes minutes, so it is computed only if asked for by this name."}


@final
@dataclass(frozen=True)
class Selection:
    """Metrics by name, in order; and what a user may miss among them, with the reason."""

    metrics: dict[str, Metric]
    left_out: dict[str, str] = field(default_factory=dict)


def registry() -> dict[str, type[Metric]]:
    """Returns every metric that the package exports, by name: those that need factors first."""
    return dict(sorted(choices(Metric).items(), key=lambda named: (not named[1].needs_factors, named[0])))


def select(metrics: Metrics, seed: int | None = None) -> Selection:
    """The metrics that were asked for. With a `seed`, whatever is random in them starts from it."""
    if seed is not None:
        check_seed("seed", seed)
    selection = _asked_for(metrics)
    return dataclasses.replace(
        selection, metrics={name: _with_seed(metric, seed) for name, metric in selection.metrics.items()}
    )


def metric_of(name: str) -> Metric:
    """Returns the metric of this name, with the settings that follow it after colons (`unbraid.recipes.text`)."""
    first, known = name.partition(":")[0].strip().lower().replace("_", "-"), registry()
    if first not in known:
        raise SpecError(f"There is no metric {name!r}. {suggestion(first, [*known, 'all', 'unsupervised'])}")
    return typing.cast(Metric, parse(name, Metric, "metric"))


def _asked_for(metrics: Metrics) -> Selection:
    if not isinstance(metrics, str | Sequence):
        raise SpecError(
            f"Metrics were given as {metrics!r}; expected 'all', 'unsupervised', names separated by commas, or a list "
            "of names and metrics."
        )
    each = split(metrics, ";" if ";" in metrics else ",") if isinstance(metrics, str) else metrics
    if not each:
        raise SpecError(f"No metric was asked for. {suggestion('', registry())}")
    named = _named(metric for one in each for metric in _meant(one))
    has_all = any(isinstance(one, str) and one.strip() == "all" for one in each)
    return Selection(named, {name: why for name, why in LEFT_OUT.items() if name not in named} if has_all else {})


def _meant(one: str | Metric) -> list[Metric]:
    """The metrics that one entry of a list stands for."""
    if not isinstance(one, str):
        return [_checked(one)]
    known = registry().values()
    match one.strip():
        case "all":
            variants = [metric_of(name) for name in VARIANTS if name.partition(":")[0] in registry()]
            return [m for cls in known for m in (cls(), *(v for v in variants if type(v) is cls))]
        case "unsupervised":
            return [cls() for cls in known if not cls.needs_factors]
        case _:
            return [metric_of(one)]


def _named(metrics: Iterable[Metric]) -> dict[str, Metric]:
    return {text_of(metric): metric for metric in metrics}


def _checked(metric: Any) -> Metric:
    if isinstance(metric, Metric):
        return metric
    called = f", such as {metric.__name__}()" if inspect.isclass(metric) and issubclass(metric, Metric) else ""
    raise SpecError(f"A metric was given as {metric!r}; expected a name or an instance{called}.")


def _with_seed(metric: Metric, seed: int | None) -> Metric:
    return metric if seed is None else typing.cast(Metric, _seeded(metric, seed))


def _seeded(recipe: Any, seed: int) -> Any:
    """Returns the recipe with this seed in place of its own and of those of the recipes in it."""
    values = {f.name: getattr(recipe, f.name) for f in fields(recipe)}
    inner = {name: _seeded(value, seed) for name, value in values.items() if dataclasses.is_dataclass(value)}
    return dataclasses.replace(recipe, **inner, **({"seed": seed} if "seed" in values else {}))
