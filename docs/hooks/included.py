"""Keeps tables of measured results on the pages that tell of them, as text: a code host shows pages as they are.

    python -m docs.hooks.included

writes anew what stands between `<!-- from FILE: PART -->` and `<!-- /from -->`. A part is what the file holds between
`<!-- PART -->` and `<!-- /PART -->`, or some of its lines: 3-14. The page of changes is the changelog itself.
"""

import re
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).parents[2]
_INCLUDED = re.compile(r"^<!-- from (?P<file>\S+): (?P<part>[\w-]+) -->\n.*?^<!-- /from -->$", re.DOTALL | re.MULTILINE)


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Called by mkdocs with each page's text."""
    return (_ROOT / "CHANGELOG.md").read_text(encoding="utf-8") if page.file.src_uri == "changelog.md" else markdown


def filled(text: str) -> str:
    """Returns a page with its parts as the files hold them today."""

    def fill(found: re.Match[str]) -> str:
        return (
            f"<!-- from {found['file']}: {found['part']} -->\n\n{_part(found['file'], found['part'])}\n\n<!-- /from -->"
        )

    return _INCLUDED.sub(fill, text)


def _part(file: str, part: str) -> str:
    text = (_ROOT / file).read_text(encoding="utf-8")
    if lines := re.fullmatch(r"(\d+)-(\d+)", part):
        first, last = map(int, lines.groups())
        return "\n".join(text.splitlines()[first - 1 : last]).strip()
    _, start, rest = text.partition(f"<!-- {part} -->\n")
    inside, end, _ = rest.partition(f"<!-- /{part} -->")
    if not (start and end):
        raise ValueError(f"{file} has no part {part!r}: write <!-- {part} --> before it and <!-- /{part} --> after it.")
    return inside.strip()


def main() -> None:
    for page in sorted((_ROOT / "docs").rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        if (renewed := filled(text)) != text:
            page.write_text(renewed, encoding="utf-8")


if __name__ == "__main__":
    main()
