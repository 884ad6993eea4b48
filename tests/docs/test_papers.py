"""Citations name a version, and it is the one that docs/citations.md lists."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAPERS = ROOT / "docs" / "citations.md"
CITING = ("src/**/*.py", "src/**/*.html", "docs/**/*.md", "tests/**/*.py", "benchmarks/**/*.py", "*.md", "*.cff")
CITATION = re.compile(r"arXiv:(\d{4}\.\d{4,5})(v\d+)?", re.IGNORECASE)

Citations = set[tuple[str, str]]


def citations_in(text: str) -> Citations:
    """Papers and their versions, which are empty where none is given."""
    return set(CITATION.findall(text))


def cited() -> dict[str, Citations]:
    """What each file cites, but for the list itself."""
    paths = [path for pattern in CITING for path in ROOT.glob(pattern) if path != PAPERS]
    return {str(path.relative_to(ROOT)): citations_in(path.read_text(encoding="utf-8")) for path in paths}


def test_every_citation_is_in_the_list_of_papers_in_the_same_version():
    listed = citations_in(PAPERS.read_text(encoding="utf-8"))
    assert {where: wrong for where, citations in cited().items() if (wrong := citations - listed)} == {}


def test_every_paper_in_the_list_has_a_version_and_is_cited():
    listed = citations_in(PAPERS.read_text(encoding="utf-8"))
    assert all(version for _, version in listed)
    assert listed == set.union(*cited().values())


def test_a_paper_that_was_read_is_cited_in_the_version_that_was_read():
    """But for what only a later version has: SAP."""
    read = citations_in(PAPERS.read_text(encoding="utf-8").partition("## Not read")[0])
    papers = {paper for paper, _ in read}
    assert len(papers) == 4
    others = {where for where, citations in cited().items() if any(c[0] in papers for c in citations - read)}
    assert others == {
        "src/unbraid/functional/predictor_metrics.py",
        "src/unbraid/metrics/sap.py",
        "docs/metrics/sap.md",
    }
