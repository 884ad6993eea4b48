"""Settings beside those of a metric: each of its fields changed by itself."""

import dataclasses
import typing
from collections.abc import Iterator
from typing import Any, Literal, cast

from unbraid.config import Config, text_of
from unbraid.config.annotations import choices
from unbraid.errors import UnbraidError
from unbraid.metrics.estimators import Levels
from unbraid.metrics.metric import Metric
from unbraid.metrics.selection import LEFT_OUT

# Of drawn codes no value comes twice, and this counts values.
_OF_OTHER_CODES = (Levels,)
FEW_IMAGES = 1000
"""Settings that take minutes for all images of a dataset take seconds for so many."""


def variations(metric: Metric, num_images: int) -> dict[str, Metric]:
    """Returns the metric with one setting changed, by what one types for it: numbers halved and doubled, words and
    estimators replaced by their alternatives. A seed is no setting, nor is an estimator of codes of another kind, and
    `left_out` says what would take too long.
    """
    skipped = left_out(metric, num_images)
    return {name: each for name, each in _all(metric).items() if name not in skipped}


def left_out(metric: Metric, num_images: int) -> list[str]:
    """Returns which settings take minutes with so many images, and are not tried."""
    return [name for name in _all(metric) if name in LEFT_OUT] if num_images > FEW_IMAGES else []


def _all(metric: Metric) -> dict[str, Metric]:
    found = {text_of(changed): cast(Metric, changed) for changed in _changed(metric)}
    return {name: each for name, each in found.items() if each != metric}


def _changed(config: Config) -> Iterator[Config]:
    hints = typing.get_type_hints(type(config))
    for field in dataclasses.fields(config):
        if field.name == "seed":
            continue
        for value in _alternatives(getattr(config, field.name), hints[field.name]):
            try:
                yield dataclasses.replace(config, **{field.name: value})
            except UnbraidError:  # no such setting
                continue


def _alternatives(value: Any, hint: Any) -> Iterator[Any]:
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield from (max(1, value // 2), 2 * value)
    elif isinstance(value, float):
        yield from (value / 2, 2 * value)
    elif isinstance(value, Config):
        yield from _changed(value)
        kind = type(value).__mro__[1]
        yield from (cls() for cls in choices(kind).values() if cls not in (type(value), *_OF_OTHER_CODES))
    elif typing.get_origin(hint) is Literal:
        yield from (word for word in typing.get_args(hint) if word != value)
