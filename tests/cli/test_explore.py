"""`unbraid explore`."""

import pytest


def test_a_page_is_written_and_said_where(unbraid, trained, tmp_path):
    outcome = unbraid("explore", trained, "-o", tmp_path / "page.html", "--title", "Two objectives")
    assert outcome.code == 0, outcome.err
    assert outcome.out.endswith(f"The explorer is in {(tmp_path / 'page.html').as_uri()}\n")
    page = (tmp_path / "page.html").read_text()
    assert "<h1>Two objectives</h1>" in page
    assert page.count('"precision":"half"') == 4


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["nowhere"], "folder nowhere"),
        (["."], "nothing to explore"),
        ([".", "-o", "page.pdf"], ".html"),
        ([".", "--precision", "double"], "'double' is not one of"),
    ],
)
def test_a_mistake_is_told_in_a_line(unbraid, tmp_path, monkeypatch, arguments, complaint):
    monkeypatch.chdir(tmp_path)
    outcome = unbraid("explore", *arguments)
    assert outcome.code == 2
    assert complaint in outcome.err
    assert list(tmp_path.iterdir()) == []
