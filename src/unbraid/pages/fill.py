"""Templates in, pages out."""

import math
from collections.abc import Callable, Mapping
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined


def filled(template: str, values: Mapping[str, Any], filters: Mapping[str, Callable[..., Any]]) -> str:
    """Returns the template of this name with its values. All of them are escaped, and a missing one is an error."""
    environment = Environment(
        loader=PackageLoader("unbraid.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"fixed": fixed, **filters}
    return environment.get_template(template).render(**values)


def fixed(value: Any, decimals: int = 2) -> str:
    """Returns a number with so many decimals and a true minus, and a dash for what is not known."""
    return "–" if math.isnan(value) else f"{value:,.{decimals}f}".replace("-", "−")
