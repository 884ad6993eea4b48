"""The report as a reader sees it, in Chromium."""

from pathlib import Path

import pytest

from tests.browser import OpenPage, overflow, texts_of_low_contrast
from unbraid.report import write_report
from unbraid.runs import Run

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def page_file(trained: list[Run], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(trained, tmp_path_factory.mktemp("report") / "report.html")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [420, 1600])
def test_it_reads_well_at_any_width_and_asks_for_nothing(
    page_file: Path, open_page: OpenPage, width: int, scheme: str
) -> None:
    page = open_page(page_file, width=width, scheme=scheme)
    assert page.locator("h1").is_visible()
    assert overflow(page) == 0
    assert not texts_of_low_contrast(page)
