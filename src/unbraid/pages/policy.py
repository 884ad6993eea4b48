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


def policy_of(script: str) -> str:
    """Returns the content security policy of a page with this script: pictures and styles of its own, no connection,
    and no other script.
    """
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        f"default-src 'none'; script-src 'sha256-{digest}'; img-src data:; style-src 'unsafe-inline'; "
        "base-uri 'none'; form-action 'none'"
    )
