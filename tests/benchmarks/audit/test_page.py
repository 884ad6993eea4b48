"""What the page says of itself: what to report, how large the audit was, and how to read it."""

import dataclasses

import pytest

from benchmarks.audit import Audit, Size, write_audit_page
from tests.benchmarks.audit.made_audits import SEEN, UNMOVED, made, together
from tests.browser import overflow, texts_of_low_contrast
from tests.discovery import ROOT
from unbraid.metrics import MED

WHOLE = dataclasses.replace(together(made(SEEN | UNMOVED), made(UNMOVED, MED())), size=dataclasses.asdict(Size()))


def test_writing_replaces_a_file_that_is_there(tmp_path):
    (tmp_path / "audit.html").write_text("another")
    assert "unbraid-audit" in write_audit_page(WHOLE, tmp_path / "audit.html").read_text()


def every_metric() -> Audit:
    """The audit that the docs rest on."""
    return Audit.from_json((ROOT / "benchmarks" / "results" / "metric_audit.json").read_text(encoding="utf-8"))


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_column_of_every_metric_is_seen_on_a_laptop(open_page, tmp_path, scheme):
    page = open_page(write_audit_page(every_metric(), tmp_path / "audit.html"), width=1280, scheme=scheme)
    hidden = "[...document.querySelectorAll('.scroll')].map((box) => box.scrollWidth - box.clientWidth)"
    assert set(page.evaluate(hidden)) == {0}
    assert not page.locator(".cue").first.is_visible()
    assert overflow(page) == 0
    assert not texts_of_low_contrast(page)


@pytest.mark.browser
def test_on_a_narrow_screen_it_says_that_there_is_more(open_page, tmp_path):
    page = open_page(write_audit_page(every_metric(), tmp_path / "audit.html"), width=420)
    assert page.locator(".cue").first.is_visible()
    assert overflow(page) == 0
