"""Pages of papers: what they say of items with and without evidence, and that the committed ones are up to date."""

import importlib
from dataclasses import replace

import pytest

from tests.discovery import ROOT
from tests.papers.made_items import FIGURE1, PAPER, TABLE1, study
from tests.papers.test_running import OPTIONS
from unbraid.errors import UnbraidError
from unbraid.evaluation import Scoring
from unbraid.papers import StudyWork, registry
from unbraid.papers.evidence_files import ItemEvidence, best_evidence, committed_evidence
from unbraid.papers.page import counts_table, index_page, paper_page, put_summary
from unbraid.papers.registry import find_items, items, papers
from unbraid.papers.running import run_item
from unbraid.papers.summary import short_names, with_short_names
from unbraid.runs.kept_scores import question_key
from unbraid.studies import Within
from unbraid.studies.study_scores import Number, ScoredRun


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    run_item(TABLE1, "paper", folder, OPTIONS)
    return {item.id: best_evidence(item, folder / "evidence") for item in PAPER.items}


def test_a_page_has_every_item_with_printed_numbers_verdict_and_command(found) -> None:
    page = paper_page(PAPER, found)
    assert "| [table1](#table1) | Doubles | reproduced (paper) |" in page
    assert "| a | double | 3 | 3.000 (2.000 to 4.000, 2 seeds) |" in page
    assert "| seeds | not stated | 1 and 2 |" in page
    assert (
        "Not run yet.** `unbraid papers run made2000/figure1 --scale quick` (quick 1 min 0 s, paper 1 h 0 min)." in page
    )
    assert "Two steps say nothing." in page
    assert "<summary>What will be decided</summary>\n\n| claim |\n| --- |\n| More beta, more MIG. |" in page


def test_a_page_says_how_many_claims_came_to_which_verdict() -> None:
    first, *_ = FIGURE1.at("quick").claims
    held, lost = (Within("", "mig", ("beta 1",), low, 3) for low in (-1, 2))
    scores = replace(
        FIGURE1.at("quick").empty(),
        runs=(ScoredRun("beta 1", 0, "a", "finished"),),
        numbers=(
            Number("beta 1", 0, "mig", "", "value", "", 0.5, 0.4, 0.6, "a"),
            Number("beta 1", 0, "mig", "other", "value", "", 0.25, 0.2, 0.3, "a"),
        ),
    )
    work = StudyWork(replace(study(), claims=(held, lost, first)))
    item = replace(FIGURE1, title="Does it rise?", work={**FIGURE1.work, "quick": lambda: work})
    page = paper_page(replace(PAPER, items=(item,)), {item.id: ItemEvidence(item, "quick", scores, (), {})})
    assert "Of 3 claims: 1 reproduced, 1 not reproduced, 1 undecided." in page
    assert "**Does it rise?** MIG rises" in page


def test_other_scorings_have_tables_of_their_own() -> None:
    other = Scoring(part="all")
    two = replace(study(), scorings=(Scoring(), other))
    item = replace(FIGURE1, work={**FIGURE1.work, "quick": lambda: StudyWork(two)})
    told = question_key("", other.changes()).strip()
    numbers = [
        Number("beta 1", 0, "mig", each, "value", "", value, 0.0, 1.0, "a") for each, value in (("", 0.5), (told, 0.25))
    ]
    scores = replace(item.at("quick").empty(), runs=(ScoredRun("beta 1", 0, "a", "finished"),), numbers=tuple(numbers))
    page = paper_page(replace(PAPER, items=(item,)), {item.id: ItemEvidence(item, "quick", scores, (), {})})
    shown, otherwise = page.split("The same models, scored otherwise (part all):")
    assert "| beta 1 | 1 | 0.500" in shown
    assert "| beta 1 | 1 | 0.250" in otherwise


def test_a_stand_in_says_so(found) -> None:
    stand_in = replace(TABLE1, id="made2000/table1-stand-in", stands_in_for="made2000/table1")
    page = paper_page(replace(PAPER, items=(*PAPER.items, stand_in)), {**found, stand_in.id: found[TABLE1.id]})
    assert "The data of `made2000/table1` are not at hand" in page
    assert "on a stand-in)" in page


def test_the_summary_is_put_between_its_marks(tmp_path) -> None:
    path = tmp_path / "README.md"
    path.write_text("before\n<!-- papers: here -->\nold\n<!-- /papers -->\nafter\n")
    put_summary(path, committed_evidence())
    assert path.read_text().startswith("before\n<!-- papers: here -->\n\n| paper |")
    assert "old" not in path.read_text()
    assert path.read_text().endswith("<!-- /papers -->\nafter\n")
    path.write_text("nothing")
    with pytest.raises(UnbraidError, match="no place for the summary"):
        put_summary(path, committed_evidence())


@pytest.mark.parametrize("paper", papers().values(), ids=lambda paper: paper.id)
def test_the_committed_page_is_what_the_committed_evidence_says(paper) -> None:
    page = ROOT / "docs" / "papers" / f"{paper.id}.md"
    evidence = {item.id: best_evidence(item, committed_evidence()) for item in paper.items}
    assert page.read_text() == paper_page(paper, evidence), "run: unbraid papers page --summary README.md ..."


def test_the_committed_summaries_are_up_to_date() -> None:
    assert (ROOT / "docs" / "papers" / "index.md").read_text() == index_page(committed_evidence())
    for page in ("README.md", "docs/index.md"):
        assert counts_table(committed_evidence()) in (ROOT / page).read_text()


def test_items_are_found_by_paper_and_by_name() -> None:
    assert [item.id for item in find_items(["chen2018/table2"])] == ["chen2018/table2"]
    assert {item.id for item in find_items(["chen2018"])} == {id for id in items() if id.startswith("chen2018/")}
    with pytest.raises(UnbraidError, match="Did you mean 'chen2018/table2'"):
        find_items(["chen2018/tabel2"])


def test_one_item_is_found_without_importing_other_papers(monkeypatch) -> None:
    asked = []
    really = importlib.import_module
    registry.paper.cache_clear()
    monkeypatch.setattr(importlib, "import_module", lambda name: asked.append(name) or really(name))
    assert find_items(["chen2018/table2", "chen2018/table1"])
    assert asked == ["unbraid.papers.chen2018"]


def test_every_paper_is_found_by_its_id() -> None:
    assert all(paper.id == name for name, paper in papers().items())


def test_the_figure_of_an_item_is_drawn_from_scores(tmp_path) -> None:
    pytest.importorskip("matplotlib")
    from unbraid.papers.page import _draw

    run_item(FIGURE1, "quick", tmp_path, OPTIONS)
    _draw(FIGURE1, best_evidence(FIGURE1, tmp_path / "evidence"), tmp_path / "page")
    assert (tmp_path / "page" / "figures" / "made2000-figure1.svg").stat().st_size > 1000


def test_a_metric_that_is_the_only_one_of_its_kind_is_called_by_its_kind() -> None:
    short = short_names(["rmig:quantised", "mig", "sap:num_bins=20", "sap"])
    assert short == {"rmig:quantised": "rmig"}
    assert with_short_names("rmig:quantised:scale is 0.5, sap:num_bins=20 0.1", short) == (
        "rmig:scale is 0.5, sap:num_bins=20 0.1"
    )


def test_a_note_in_the_evidence_is_on_the_page(found) -> None:
    evidence = found[TABLE1.id]
    noted = replace(evidence, made_by=tuple({**made, "note": "in two parts"} for made in evidence.made_by))
    assert "(in two parts)" in paper_page(PAPER, {**found, TABLE1.id: noted})
    assert "(in two parts)" not in paper_page(PAPER, found)
