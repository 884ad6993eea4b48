"""Pages as a code host shows them: no markers of the site, tables of today, links that lead somewhere."""

import re
from functools import cache
from pathlib import Path

import pytest

from docs.hooks.included import filled
from reproductions.catalogue import NAMES
from tests.discovery import ROOT

READ_THERE = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
MADE = {ROOT / "docs" / "papers" / f"{name}.md" for name in ("index", *NAMES)}  # before the site is built
PAGES = sorted({*(ROOT / "docs").rglob("*.md")} - MADE)
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.DOTALL | re.MULTILINE)


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def test_it_is_looked_at_as_a_reader_does():
    assert len(PAGES) > 80


@pytest.mark.parametrize("page", [*READ_THERE, *PAGES, *(ROOT / "benchmarks").rglob("*.md")], ids=name_of)
def test_no_page_shows_what_only_the_site_understands(page):
    text = CODE.sub("", page.read_text(encoding="utf-8"))
    assert "--8<--" not in text, "python -m docs.hooks.included copies tables to where they are told of"
    assert re.findall(r"^(?:!!!|\?\?\?|===) .*|^:   |\{ ?[#.][\w-]+.*\}$", text, flags=re.MULTILINE) == []
    assert not text.startswith("---")


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_what_a_page_took_from_elsewhere_is_what_is_there_today(page):
    text = page.read_text(encoding="utf-8")
    assert filled(text) == text, "python -m docs.hooks.included writes it anew"


def test_a_part_that_is_not_there_is_told(tmp_path):
    with pytest.raises(ValueError, match="'nonsense': write <!--"):
        filled("<!-- from benchmarks/results/it_learns.md: nonsense -->\n<!-- /from -->")


@cache
def anchors(page: Path) -> set[str]:
    """What a code host makes of the headings of a page."""
    headings = re.findall(
        r"^#+ (.*)$", re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.DOTALL | re.M), re.M
    )
    plain = [re.sub(r"\[(.*?)\]\(.*?\)", r"\1", heading).lower().strip() for heading in headings]
    return {re.sub(r"[^\w\- ]", "", heading).replace(" ", "-") for heading in plain}


@pytest.mark.parametrize("page", [*READ_THERE, *PAGES], ids=name_of)
def test_every_link_leads_somewhere(page):
    text = CODE.sub("", page.read_text(encoding="utf-8"))
    for target, _, anchor in (link.partition("#") for link in re.findall(r"\]\(([^)\s]+)\)", text)):
        if target.startswith(("http://", "https://")):
            continue
        found = (page.parent / target).resolve() if target else page
        if found in MADE:
            continue
        assert found.exists(), f"{target}: there is no such file"
        assert not anchor or anchor in anchors(found), f"{target}#{anchor}: there is no such heading"
