"""The one script of a page, and the policy that lets nothing else run."""

import base64
import hashlib
from functools import cache
from importlib import resources

from markupsafe import Markup


@cache
def script_of(name: str) -> Markup:
    """Returns the text of a script that lies among the templates, to be put between script tags as it is."""
    text = (resources.files("unbraid.pages") / "templates" / name).read_text(encoding="utf-8")
    if "</script" in text.lower() or "<!--" in text:
        raise ValueError(f"{name} holds a text that would end the script in a page.")
    return Markup(text)


def source_of(text: str) -> str:
    """Returns what a policy says of a script or a style sheet of this text, to allow it and no other."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def policy_of(script: str) -> str:
    """Returns the content security policy of a page with this script: pictures and styles of its own, no connection,
    and no other script.
    """
    return (
        f"default-src 'none'; script-src {source_of(script)}; img-src data:; style-src 'unsafe-inline'; "
        "base-uri 'none'; form-action 'none'"
    )
