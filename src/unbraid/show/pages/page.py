"""Rendering of page templates, and the content security policy of a page."""

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
    """Renders a template. Values are escaped, and a missing value raises an error.

    `template` is the name of a file in the folder `templates/` of this package, or in the folder of `package`.
    """
    return _environment(tuple((filters or {}).items()), package).get_template(template).render(values or {})


@cache
def _environment(filters: tuple[tuple[str, Filter], ...], package: str) -> Environment:
    """Returns the jinja2 environment, which caches compiled templates."""
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
    """Returns a number as text with this many decimals and a typographic minus sign, or a dash if it is not finite."""
    return f"{value:z,.{decimals}f}".replace("-", "−") if math.isfinite(value) else "–"


def content_policy(script: str = "", style: str = "") -> str:
    """Returns a content security policy that forbids connections, forms, and all scripts except `script`.

    With a `style`, only this style sheet is allowed, and no pictures. Without `style`, inline styles and pictures are
    allowed.
    """

    def by_hash(text: str) -> str:
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    scripts = f"script-src {by_hash(script)}; " if script else ""
    styles = f"style-src {by_hash(style)}" if style else "img-src data:; style-src 'unsafe-inline'"
    return f"default-src 'none'; {scripts}{styles}; base-uri 'none'; form-action 'none'"
