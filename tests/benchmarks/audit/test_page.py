"""What the page says of itself: what to report, how large the audit was, and how to read it."""

import dataclasses
import re

import pytest

from benchmarks.audit import SIZES, Audit, Size, write_audit_page
from benchmarks.audit.page import render
from tests.benchmarks.audit.made_audits import SEEN, UNMOVED, made, together
from tests.browser import overflow, texts_of_low_contrast
from tests.discovery import ROOT
from unbraid.metrics import MED

WHOLE = dataclasses.replace(together(made(SEEN | UNMOVED), made(UNMOVED, MED())), size=dataclasses.asdict(Size()))


def section(page: str, name: str) -> str:
    """The words of a section."""
    found = re.search(f'<section id="{name}">(.*?)</section>', page, re.DOTALL)
    assert found is not None
    return " ".join(re.sub("<[^>]+>", " ", found[1]).split())


def test_the_short_answer_is_at_the_top():
    page = render(WHOLE)
    assert page.index('id="answer"') < page.index('id="table"')
    said = section(page, "answer")
    assert "independent of each other mig mig is good for alignment of latents with factors; compactness" in said
    assert "Does it notice turned axes? mig" in said
    assert "unbraid score RUNS --metrics mig" in said
    assert "Only the metrics of this audit are compared" in said


def test_a_quick_audit_warns_and_lists_the_levels_that_were_measured():
    quick = dataclasses.replace(WHOLE, size=dataclasses.asdict(SIZES["quick"]))
    page = render(quick)
    assert "its verdicts may differ from those of a full one" in page
    assert "degrees: 0, 40 alignment" in section(page, "how")
    assert "its verdicts may differ" not in render(WHOLE)


def test_numbers_are_told_with_their_nouns():
    one = dataclasses.replace(made(SEEN), size={"num_images": 120, "num_seeds": 1, "num_redraws": 6})
    assert "1 metric on codes" in render(one)
    assert "120 images and 1 seed a code, 6 redraws." in render(one)
    parts = tuple(part for one in WHOLE.metrics for part in one.with_parts)
    assert "2 metrics and 1 part of scores on codes" in render(dataclasses.replace(WHOLE, metrics=parts))


def test_the_command_is_that_of_what_the_page_shows():
    assert section(render(WHOLE), "repeat") == "Repeat it python -m benchmarks.audit --metrics mig,med"
    assert section(render(WHOLE, "mine"), "repeat") == "Repeat it mine"


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
