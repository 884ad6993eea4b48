"""The one script of a page, and the policy that lets nothing else run."""

import base64
import hashlib
from functools import cache
from importlib import resources

from markupsafe import Markup


@cache
def script_of(name: str) -> Markup:
    """Returns the text of a script that lies among the templates, to be put between script tags as it is."""
    text = (resources.files("unbraid.show.pages") / "templates" / name).read_text(encoding="utf-8")
    if "</script" in text.lower() or "<!--" in text:
        raise ValueError(f"{name} holds a text that would end the script in a page.")
    return Markup(text)


def source_hash(text: str) -> str:
    """Returns the source expression that allows a script or a style sheet with this text, and no other."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def policy_of(script: str = "", style: str = "") -> str:
    """Returns the content security policy of a page: no connection, no form, and no script but this one.

    With a `style`, that style sheet alone is allowed and no picture; without one, both may be inline.
    """
    scripts = f"script-src {source_hash(script)}; " if script else ""
    styles = f"style-src {source_hash(style)}" if style else "img-src data:; style-src 'unsafe-inline'"
    return f"default-src 'none'; {scripts}{styles}; base-uri 'none'; form-action 'none'"
