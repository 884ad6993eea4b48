"""`unbraid report`."""

import pytest


def test_a_page_is_written_and_said_where(unbraid, trained, tmp_path):
    outcome = unbraid("report", trained, "--out", tmp_path / "page.html", "--title", "Two objectives")
    assert outcome.code == 0, outcome.err
    assert outcome.out.endswith(f"The report is in {(tmp_path / 'page.html').as_uri()}\n")
    assert "Two objectives" in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["nowhere"], "folder nowhere"),
        (["."], "nothing to report"),
        ([".", "--out", "page.pdf"], ".html"),
    ],
)
def test_a_mistake_is_told_in_a_line(unbraid, tmp_path, monkeypatch, arguments, complaint):
    monkeypatch.chdir(tmp_path)
    outcome = unbraid("report", *arguments)
    assert outcome.code == 2
    assert complaint in outcome.err
    assert list(tmp_path.iterdir()) == []


def test_the_factors_that_scores_are_over_are_chosen_and_named(unbraid, trained, tmp_path):
    outcome = unbraid("report", trained, "--out", tmp_path / "page.html", "--factors", "scale, position_x")
    assert outcome.code == 0, outcome.err
    page = (tmp_path / "page.html").read_text()
    assert "position_x" in page
    assert "scale, position_x." in page
    assert "gap of position_y" not in page
    outcome = unbraid("report", trained, "--out", tmp_path / "page.html", "--factors", "scales")
    assert (outcome.code, "'scale'" in outcome.err) == (2, True)


def test_figures_are_written_where_they_were_asked_for(unbraid, trained, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr("unbraid.show.report.report_figures.write_figures", lambda page, folder: asked.append(folder))
    folder = tmp_path / "figures"
    outcome = unbraid("report", trained, "--out", tmp_path / "page.html", "--by", "training-elbo", "--figures", folder)
    assert outcome.code == 0, outcome.err
    assert asked == [folder]
    assert outcome.out.endswith(f" {folder}\n")
    assert '<span class="sorted-by">training-elbo' in (tmp_path / "page.html").read_text()
