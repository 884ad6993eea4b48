"""Templates in, pages out."""

import math
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

Filter = Callable[..., Any]


def filled(template: str, values: Mapping[str, Any], filters: Mapping[str, Filter]) -> str:
    """Returns the template of this name with its values. All of them are escaped, and a missing one is an error."""
    return _environment(tuple(filters.items())).get_template(template).render(**values)


@cache
def _environment(filters: tuple[tuple[str, Filter], ...]) -> Environment:
    """Returns what knows the templates: made once, since it keeps those that it has compiled."""
    environment = Environment(
        loader=PackageLoader("unbraid.show.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters |= {"fixed": fixed, **dict(filters)}
    return environment


def fixed(value: Any, decimals: int = 2) -> str:
    """Returns a number with so many decimals and a true minus, and a dash for what is not known."""
    return "–" if math.isnan(value) else f"{value:,.{decimals}f}".replace("-", "−")
