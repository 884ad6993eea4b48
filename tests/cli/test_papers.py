"""`unbraid papers`: list, show, run and page."""

import pytest


def test_items_are_listed_with_cost_and_verdict(unbraid) -> None:
    outcome = unbraid("papers")
    assert outcome.code == 0
    assert "chen2018/table2" in outcome.out
    assert "paper 1 s" in outcome.out


def test_an_item_is_run_shown_and_written_as_a_page(unbraid, tmp_path) -> None:
    out = tmp_path / "papers"
    ran = unbraid("papers", "run", "chen2018/table2", "--out", out)
    assert ran.code == 0
    assert "Verdict: reproduced." in ran.out
    assert (out / "evidence" / "chen2018" / "table2-paper.json").exists()
    shown = unbraid("papers", "show", "chen2018/table2", "--out", out)
    assert "values:orientation" in shown.out
    assert f"Your evidence in {out / 'evidence'}: reproduced (paper)." in shown.out
    paged = unbraid("papers", "page", "--to", tmp_path / "pages", "--evidence", out / "evidence")
    assert paged.code == 0
    assert "## table2" in (tmp_path / "pages" / "chen2018.md").read_text()


def test_smoke_gives_no_verdict(unbraid, tmp_path) -> None:
    outcome = unbraid("papers", "run", "chen2018/table2", "--scale", "smoke", "--out", tmp_path)
    assert "Smoke: no verdict." in outcome.out
    assert not (tmp_path / "evidence").exists()


def test_a_name_that_is_none_gets_a_suggestion(unbraid) -> None:
    outcome = unbraid("papers", "run", "chen2018/tabel2")
    assert outcome.code != 0
    assert "Did you mean 'chen2018/table2'?" in outcome.err


def test_a_setting_that_an_item_lacks_is_named(unbraid, tmp_path) -> None:
    outcome = unbraid("papers", "run", "chen2018/table2", "--setting", "3D Fases", "--out", tmp_path)
    assert outcome.code == 2
    assert "has no setting '3D Fases'. Its settings are " in outcome.err


def test_a_scale_that_an_item_lacks_is_named(unbraid, tmp_path) -> None:
    outcome = unbraid("papers", "run", "chen2018/table2", "--scale", "long", "--out", tmp_path)
    assert "has no scale 'long'; it has smoke, paper" in outcome.err


@pytest.mark.slow
def test_an_item_that_trains_and_tunes_shows_its_losses(unbraid, tmp_path) -> None:
    outcome = unbraid("papers", "run", "chen2018/figure3a", "--scale", "smoke", "--device", "cpu", "--out", tmp_path)
    assert outcome.code == 0
    assert "step 10 of 10" in outcome.out
    assert "Smoke: no verdict." in outcome.out
