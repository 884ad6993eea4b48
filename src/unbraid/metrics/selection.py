"""Metrics by name: `mig`, `factor-vae-score`, and with settings `dci:boosted_trees`, `mig:quantised:num_bins=50`.

The namespace is the registry: what `unbraid.metrics` exports can be named.
"""

import dataclasses
import importlib
import inspect
import types
import typing
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, final

from unbraid.errors import SpecError
from unbraid.metrics.metric import Metric
from unbraid.metrics.settings import check_seed
from unbraid.names import kebab_case, suggestion

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
    """Every metric that the package exports, by name: those that need factors first."""
    exported = vars(importlib.import_module("unbraid.metrics")).values()
    found = {
        cls for cls in exported if inspect.isclass(cls) and issubclass(cls, Metric) and not inspect.isabstract(cls)
    }
    return {kebab_case(cls): cls for cls in sorted(found, key=lambda cls: (not cls.needs_factors, kebab_case(cls)))}


def select(metrics: Metrics, seed: int | None = None) -> Selection:
    """The metrics that were asked for. With a `seed`, whatever is random in them starts from it."""
    if seed is not None:
        check_seed("seed", seed)
    selection = _asked_for(metrics)
    return dataclasses.replace(
        selection, metrics={name: _with_seed(metric, seed) for name, metric in selection.metrics.items()}
    )


def metric_of(name: str) -> Metric:
    """The metric of this name. After colons come settings: a value alone where only one setting has it, else
    `field=value`.
    """
    first, *settings = name.strip().split(":")
    canonical, known = first.lower().replace("_", "-"), registry()
    if canonical not in known:
        raise SpecError(f"There is no metric {name!r}. {suggestion(canonical, [*known, 'all', 'unsupervised'])}")
    cls = known[canonical]
    return cls(**dict(_setting(cls, text, name) for text in settings))


def name_of(metric: Metric) -> str:
    """The name by which `metric_of` finds the metric: its class, and the settings that differ from the defaults."""
    changed = [(f.name, value) for f in fields(metric) if (value := getattr(metric, f.name)) != f.default]
    return ":".join(
        [
            kebab_case(type(metric)),
            *(value if isinstance(value, str) else f"{name}={_text(value)}" for name, value in changed),
        ]
    )


def _asked_for(metrics: Metrics) -> Selection:
    if not isinstance(metrics, str | Sequence):
        raise SpecError(
            f"Metrics were given as {metrics!r}; expected 'all', 'unsupervised', names separated by commas, or a list "
            "of names and metrics."
        )
    each = metrics.split(",") if isinstance(metrics, str) else metrics
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
    return {name_of(metric): metric for metric in metrics}


def _checked(metric: Any) -> Metric:
    if isinstance(metric, Metric):
        return metric
    called = f", such as {metric.__name__}()" if inspect.isclass(metric) and issubclass(metric, Metric) else ""
    raise SpecError(f"A metric was given as {metric!r}; expected a name or an instance{called}.")


def _with_seed(metric: Metric, seed: int | None) -> Metric:
    if seed is None or "seed" not in {f.name for f in fields(metric)}:
        return metric
    return typing.cast(Metric, dataclasses.replace(typing.cast(Any, metric), seed=seed))


def _setting(cls: type[Metric], text: str, name: str) -> tuple[str, Any]:
    hints = {f.name: hint for f in fields(cls) if f.init for hint in [typing.get_type_hints(cls)[f.name]]}
    key, equals, value = text.partition("=")
    if equals:
        key = key.strip().replace("-", "_")
        if key not in hints:
            raise SpecError(f"{name!r}: {cls.__name__} has no setting {key!r}. {suggestion(key, hints)}")
        return key, _value(value.strip(), hints[key], f"{name!r}: {key}")
    value = text.strip().replace("-", "_")
    choices = {choice: of_field for of_field, hint in hints.items() for choice in _choices(hint)}
    if value not in choices:
        raise SpecError(
            f"{name!r}: {cls.__name__} has no choice {text!r}. {suggestion(value, choices)} Other settings are given "
            "as field=value."
        )
    return choices[value], value


def _choices(hint: Any) -> list[str]:
    return [
        value
        for choice in _alternatives(hint)
        if typing.get_origin(choice) is Literal
        for value in typing.get_args(choice)
    ]


def _alternatives(hint: Any) -> tuple[Any, ...]:
    return typing.get_args(hint) if typing.get_origin(hint) in (typing.Union, types.UnionType) else (hint,)


def _value(text: str, hint: Any, where: str) -> Any:
    """The text as the field wants it."""
    words: dict[str, Any] = {"none": None} if types.NoneType in _alternatives(hint) else {}
    words |= {"true": True, "false": False} if bool in _alternatives(hint) else {}
    words |= {choice: choice for choice in _choices(hint)}
    if text.replace("-", "_") in words:
        return words[text.replace("-", "_")]
    for kind in (int, float, str):
        if kind in _alternatives(hint):
            try:
                return kind(text)
            except ValueError:
                continue
    raise SpecError(
        f"{where} is {text!r}; expected "
        f"{hint.__name__ if isinstance(hint, type) else str(hint).replace('typing.', '')}."
    )


def _text(value: Any) -> str:
    return (
        {True: "true", False: "false", None: "none"}[value] if value is None or isinstance(value, bool) else repr(value)
    )
