"""The report as a reader sees it, in Chromium."""

import shutil
from pathlib import Path

import pytest

from tests.browser import OpenPage, overflow, texts_of_low_contrast
from tests.told import warned
from unbraid.objectives import BetaVAE
from unbraid.show.report import write_report
from unbraid.training import train
from unbraid.training.runs import Run

pytestmark = pytest.mark.browser

OPEN_ALL = "document.querySelectorAll('details').forEach((each) => { each.open = true; })"


@pytest.fixture(scope="module")
def page_file(trained: list[Run], spec, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two objectives, a sweep of a third and two scores beside MIG."""
    folder = tmp_path_factory.mktemp("report")
    swept = train([spec(BetaVAE(beta)) for beta in (1.0, 4.0, 16.0)], [0, 1], folder=folder)
    runs = [Run.open(shutil.copytree(run.folder, folder / run.name)) for run in trained]
    with warned("constant in these codes"):
        for run in (*runs, *swept):
            run.score("sap,modularity", progress=False)
    (folder / "explorer.html").write_text("<!doctype html><title>explorer</title>")
    return write_report([*runs, *swept], folder / "report.html")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [420, 1600])
def test_it_reads_well_at_any_width_and_asks_for_nothing(
    page_file: Path, open_page: OpenPage, width: int, scheme: str
) -> None:
    page = open_page(page_file, width=width, scheme=scheme)
    assert page.locator("h1").is_visible()
    page.evaluate(OPEN_ALL)
    assert overflow(page) == 0
    assert not texts_of_low_contrast(page)


def column(page, head: str) -> list[str]:
    """The cells of the table of models below this head."""
    heads = page.locator("#every thead th").all_inner_texts()
    place = next(number for number, text in enumerate(heads) if text.startswith(head))
    return page.locator(f"#every tbody tr > :nth-child({place + 1})").all_inner_texts()


def test_a_click_on_the_head_of_a_column_sorts_and_another_turns_it_round(page_file: Path, open_page: OpenPage) -> None:
    page = open_page(page_file)
    button = page.locator("#every thead button", has_text="sap")
    button.click()
    values = [float(text) for text in column(page, "SAP")]
    assert len(values) == 10
    assert values == sorted(values, reverse=True)
    assert page.locator("#every th[aria-sort=descending]").inner_text().startswith("SAP")
    button.press("Enter")
    assert [float(text) for text in column(page, "SAP")] == sorted(values)


def test_the_metric_that_is_chosen_sorts_and_colors(page_file: Path, open_page: OpenPage) -> None:
    page = open_page(page_file)
    assert page.locator(".by:visible").count() == 1
    assert page.locator(".by:visible .strip svg").first.get_attribute("aria-label").startswith("MIG of")
    page.locator("#measure").select_option(label="modularity ↑")
    assert page.locator(".by:visible .strip svg").first.get_attribute("aria-label").startswith("modularity of")
    values = [float(text) for text in column(page, "modularity")]
    assert values == sorted(values, reverse=True)
    heated = page.locator("#every td.heated").all_inner_texts()
    assert [float(text) for text in heated] == values
    cards = page.locator(".card summary .number").all_inner_texts()
    assert [float(text) for text in cards] == values


def test_a_figure_is_enlarged_by_a_click_or_a_key_and_closed_again(page_file: Path, open_page: OpenPage) -> None:
    page = open_page(page_file, reduced_motion="reduce")
    page.evaluate(OPEN_ALL)
    dialog = page.locator("dialog")
    for kind in (".frames.enlarge", "img.enlarge", "svg.enlarge"):
        small = page.locator(f"{kind}:visible").first
        width = small.bounding_box()["width"]
        small.click(position={"x": 3, "y": 3})
        assert dialog.is_visible()
        assert dialog.locator(".enlarged > :first-child").bounding_box()["width"] > 1.5 * width
        page.keyboard.press("Escape")
        assert not dialog.is_visible()
    page.locator("img.enlarge").first.press("Enter")
    assert dialog.is_visible()
    dialog.get_by_role("button").click()
    assert not dialog.is_visible()


def test_every_model_is_reached_from_its_row_and_from_its_dot(page_file: Path, open_page: OpenPage) -> None:
    page = open_page(page_file, reduced_motion="reduce")
    page.locator("#every a[href='#m7']").click()
    assert page.locator("#m7").evaluate("card => card.open")
    page.locator("circle[data-m='3']:visible").first.dispatch_event("click", {"bubbles": True})
    assert page.locator("#m3").evaluate("card => card.open")
    assert page.url.endswith("#m3")
    assert open_page(page_file, fragment="m9").locator("#m9").evaluate("card => card.open")


def test_frames_move_unless_less_motion_is_preferred(page_file: Path, open_page: OpenPage) -> None:
    moving = "document.querySelector('.move').getAnimations().length"
    assert open_page(page_file).evaluate(moving) == 1
    assert open_page(page_file, reduced_motion="reduce").evaluate(moving) == 0


def test_without_scripts_the_page_still_reads(page_file: Path, open_page: OpenPage) -> None:
    page = open_page(page_file, java_script_enabled=False)
    assert page.locator(".by:visible").count() == 1
    assert not page.locator(".chooser").is_visible()
    assert page.locator("#every tbody tr").count() == 10
    page.locator("#m5 summary").click()
    assert page.locator("#m5 .frames, #m5 a").first.is_visible()


def test_the_explorer_beside_it_is_one_click_away(page_file: Path, open_page: OpenPage) -> None:
    assert open_page(page_file).locator("a.explorer").get_attribute("href") == "explorer.html"
