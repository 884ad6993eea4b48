"""Pages about papers, built from evidence."""

import re

import pytest

from reproductions.catalogue import papers
from reproductions.evidence import FOLDER
from reproductions.pages import write_pages


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    write_pages(folder, FOLDER)
    return folder


def test_one_click_leads_from_a_verdict_to_what_it_rests_on(pages):
    index = (pages / "index.md").read_text()
    links = re.findall(r"\]\((\w+\.md)#([\w-]+)\)", index)
    assert len(links) > 25
    for page, anchor in links:
        text = (pages / page).read_text()
        [section] = re.findall(rf"^## [^\n]* {{#{anchor}}}\n(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE)
        assert "**Verdict: " in section
        assert "python -m reproductions run" in section
        assert "Made by `" in section
        for figure in re.findall(r"!\[[^\n]*?\]\(([^)\n]*)\)", section):
            assert (pages / figure).is_file()


def test_the_summary_has_every_paper_and_counts_definitions_apart(pages):
    index = (pages / "index.md").read_text()
    assert index.index("## Items that were run") < index.index("## Checked definitions") < index.index("## Not run yet")
    for paper in papers().values():
        assert f"({paper.id}.md)" in index


def test_changed_claims_are_marked_beside_the_verdict(pages):
    rows = [row for row in (pages / "index.md").read_text().splitlines() if row.startswith("| [chen2018/figure2a]")]
    assert "undecided †" in rows[0]
