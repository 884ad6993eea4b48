"""Templates of pages, and the content policy that allows only the script of the page."""

import base64
import hashlib
import math
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

Filter = Callable[..., Any]


def filled(
    template: str,
    values: Mapping[str, Any] | None = None,
    filters: Mapping[str, Filter] | None = None,
    *,
    package: str = "unbraid.show.pages",
) -> str:
    """Returns a template filled with values. All of them are escaped, and a missing one is an error.

    The template is a file in the folder of the `package`, or one of `templates/` here.
    """
    return _environment(tuple((filters or {}).items()), package).get_template(template).render(values or {})


@cache
def _environment(filters: tuple[tuple[str, Filter], ...], package: str) -> Environment:
    """Returns the environment of the templates, cached because it keeps them compiled."""
    environment = Environment(
        loader=ChoiceLoader([PackageLoader("unbraid.show.pages"), PackageLoader(package, "")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters |= {"fixed": fixed, **dict(filters)}
    return environment


def fixed(value: float, decimals: int = 2) -> str:
    """Returns a number as text with this many decimals and a true minus sign, or a dash if it is not finite."""
    return f"{value:z,.{decimals}f}".replace("-", "−") if math.isfinite(value) else "–"


def content_policy(script: str = "", style: str = "") -> str:
    """Returns a content security policy that forbids connections, forms, and all scripts except `script`.

    With a `style`, only this style sheet and no picture is allowed. Without it, inline styles and pictures are allowed.
    """

    def by_hash(text: str) -> str:
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    scripts = f"script-src {by_hash(script)}; " if script else ""
    styles = f"style-src {by_hash(style)}" if style else "img-src data:; style-src 'unsafe-inline'"
    return f"default-src 'none'; {scripts}{styles}; base-uri 'none'; form-action 'none'"
