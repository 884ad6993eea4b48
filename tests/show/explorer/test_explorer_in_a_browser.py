"""The explorer as a reader uses it, in Chromium."""

import re
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from PIL import Image
from torch import nn

from tests.browser import OpenPage, overflow, texts_of_low_contrast
from tests.show.explorer.conftest import HOSTILE, decoded
from unbraid.codes import Codes

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

pytestmark = pytest.mark.browser


@pytest.fixture
def explore(open_page: OpenPage) -> OpenPage:
    """Opens an explorer and waits until it is ready."""

    def opened(path: Path, **options: object) -> "Page":
        page = open_page(path, **options)
        page.wait_for_selector("html[data-checked=yes]", timeout=20_000)
        return page

    return opened


def picture(page: "Page", selector: str = "#models canvas") -> np.ndarray:
    """The intensities of a canvas, from 0 to 255, one for each pixel."""
    pixels = page.evaluate(
        """(selector) => {
          const canvas = document.querySelector(selector);
          return Array.from(canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data);
        }""",
        selector,
    )
    return np.array(pixels).reshape(-1, 4)[:, :3].mean(axis=1)


def slider(page: "Page", latent: int) -> "Locator":
    return page.locator(f"[data-latent='{latent}'] input[type=range]")


def drag_to(page: "Page", latent: int, value: float) -> None:
    slider(page, latent).evaluate(
        "(range, value) => { range.value = value; range.dispatchEvent(new Event('input', { bubbles: true })); }", value
    )


def values(page: "Page") -> list[float]:
    found: list[float] = page.evaluate("explorer.then(({ state }) => Array.from(state.values))")
    return found


def columns(found: list[float]) -> list[float]:
    """A code as the decoder takes it: the category as three columns."""
    return [*found[:3], *np.eye(3)[int(found[3])].tolist()]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [420, 1600])
def test_it_reads_well_at_any_width_and_asks_for_nothing(
    page_file: Path, runs_file: Path, frames_file: Path, explore: OpenPage, width: int, scheme: str
) -> None:
    for path in (page_file, runs_file, frames_file):
        page = explore(path, width=width, scheme=scheme)
        assert overflow(page) == 0, path
        assert not texts_of_low_contrast(page), path


def test_it_compares_itself_with_python_and_says_so(page_file: Path, explore: OpenPage) -> None:
    said = explore(page_file).inner_text(".status")
    found = re.search(r"on 16 codes: pixels differ by ([\d.]+)/255 at most \(half precision\)\. A picture takes", said)
    assert found, said
    assert float(found[1]) < 1


def test_it_warns_where_it_decodes_otherwise_than_python(page_file: Path, explore: OpenPage, tmp_path: Path) -> None:
    text = page_file.read_text()
    changed = text.replace('"kind":"tanh"', '"kind":"relu"')
    assert changed != text
    (tmp_path / "page.html").write_text(changed)
    page = explore(tmp_path / "page.html")
    assert "decode as Python" in page.inner_text("#proof.warning")


def test_a_slider_moves_the_picture_to_what_torch_decodes(
    page_file: Path, explore: OpenPage, decoder: nn.Module
) -> None:
    page = explore(page_file)
    before = picture(page)
    drag_to(page, 0, 2.5)
    assert values(page)[0] == 2.5
    assert np.abs(picture(page) - before).max() > 5
    assert np.abs(picture(page) - 255 * decoded(decoder, columns(values(page)))).max() <= 1
    assert page.locator("[data-latent='0'] input[type=number]").input_value() == "2.50"


def test_the_most_informative_latent_comes_first_and_is_named_after_its_factor(
    page_file: Path, explore: OpenPage
) -> None:
    page = explore(page_file)
    rows = page.locator("#latents > .latent")
    assert [rows.nth(place).get_attribute("data-latent") for place in range(3)] == ["0", "1", "3"]
    assert rows.first.locator(".follows").inner_text() == "across"
    assert rows.nth(1).locator(".follows").inner_text() == HOSTILE
    description = rows.first.locator(".bars").get_attribute("aria-label") or ""
    assert re.search("informative about across", description)
    assert rows.first.locator(".nats").inner_text().endswith("nats")
    posterior = rows.first.locator(".band")
    assert "± 0.20" in (posterior.get_attribute("title") or "")  # two standard deviations of 0.1,
    track = rows.first.locator(".track").bounding_box()
    band = posterior.bounding_box()
    assert track
    assert band
    assert band["width"] / track["width"] == pytest.approx(0.4 / 6, rel=0.05)  # on a slider from -3 to 3
    assert page.locator("#unused-latents .latent").count() == 1


def test_hostile_names_stay_text(page_file: Path, explore: OpenPage) -> None:
    page = explore(page_file, allowed="Content Security Policy")
    assert page.title() == "The effect of each latent"
    assert page.locator("img").count() == 0
    policy = page.locator("meta[http-equiv]").get_attribute("content") or ""
    assert re.fullmatch(
        r"default-src 'none'; script-src 'sha256-[\w+/=]+'; style-src 'sha256-[\w+/=]+'; base-uri 'none'; "
        r"form-action 'none'",
        policy,
    )
    refused = page.evaluate(
        """() => {
          const script = document.createElement("script");
          script.textContent = "window.ran = true";
          let refused = false;
          addEventListener("securitypolicyviolation", () => { refused = true; });
          document.body.append(script);
          return new Promise((done) => setTimeout(() => done(refused && window.ran === undefined), 50));
        }"""
    )
    assert refused


def test_the_keyboard_chooses_and_moves(page_file: Path, explore: OpenPage) -> None:
    page = explore(page_file)
    start = values(page)
    page.keyboard.press("1")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Shift+ArrowRight")
    assert values(page)[0] == pytest.approx(start[0] + 1.1)
    page.keyboard.press("3")  # the discrete latent
    page.keyboard.press("ArrowRight")
    assert values(page)[3] == min(2, start[3] + 1)
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowLeft")
    assert values(page)[1] == pytest.approx(start[1] - 0.1)
    page.keyboard.press("Escape")
    assert values(page) == start
    page.keyboard.press("4")  # among those that are folded away
    assert page.locator("#unused").get_attribute("open") is not None


def test_a_number_may_lie_beyond_the_slider_which_then_grows(page_file: Path, explore: OpenPage) -> None:
    page = explore(page_file)
    assert slider(page, 0).get_attribute("max") == "3"
    page.locator("[data-latent='0'] input[type=number]").fill("7.25")
    assert values(page)[0] == 7.25
    assert slider(page, 0).get_attribute("max") == "8"
    assert slider(page, 0).input_value() == "7.25"


def test_categories_are_buttons(page_file: Path, explore: OpenPage, decoder: nn.Module) -> None:
    page = explore(page_file)
    for category in range(3):
        page.locator("[data-latent='3'] .categories button").nth(category).click()
        assert values(page)[3] == category
        assert np.abs(picture(page) - 255 * decoded(decoder, columns(values(page)))).max() <= 1
    assert page.locator("[data-latent='3'] [aria-pressed=true]").inner_text() == "2"


def test_one_can_begin_at_images_at_the_mean_and_at_random_and_go_back(
    page_file: Path, explore: OpenPage, codes: Codes
) -> None:
    page = explore(page_file)
    assert page.locator("#starts button").count() == 36
    page.locator("#starts button").nth(5).click()
    begun = values(page)
    assert np.abs(codes.mean.numpy() - begun[:3]).sum(axis=1).min() < 1e-5
    original = picture(page, "#beside .start canvas")
    assert original.std() == 0  # the image is all of one gray,
    assert picture(page, "#beside .start:nth-of-type(2) canvas").std() > 0 or picture(page).std() > 0
    drag_to(page, 1, -2)
    page.locator("#reset").click()
    assert values(page) == begun
    page.locator("#mean").click()
    assert values(page)[:3] == pytest.approx(codes.mean.mean(dim=0).tolist(), abs=1e-4)
    assert page.locator("#beside .start").first.is_hidden()
    page.locator("#random").click()
    first = values(page)
    page.locator("#random").click()
    assert values(page) != first


def test_the_difference_to_the_start_is_shown(page_file: Path, explore: OpenPage) -> None:
    page = explore(page_file)
    page.locator("#difference").click()
    assert picture(page).std() == 0  # nothing differs yet
    drag_to(page, 0, 3)
    assert picture(page).std() > 1
    assert page.locator("#difference").get_attribute("aria-pressed") == "true"


def test_a_latent_is_swapped_between_two_images(page_file: Path, explore: OpenPage, decoder: nn.Module) -> None:
    page = explore(page_file)
    mine = values(page)
    page.locator("#swap").click()
    page.locator("#starts button").nth(9).click()
    theirs = page.evaluate("explorer.then(({ state }) => Array.from(state.secondValues))")
    page.locator("[data-latent='0'] .swap").click()
    assert values(page) == [theirs[0], *mine[1:]]
    expected = 255 * decoded(decoder, columns([mine[0], *theirs[1:]]))
    assert np.abs(picture(page, ".second canvas") - expected).max() <= 1
    page.locator("#swap").click()
    assert page.locator(".second").is_hidden()


def test_a_latent_plays_until_it_is_stopped(page_file: Path, explore: OpenPage) -> None:
    page = explore(page_file)
    play = page.locator("[data-latent='1'] .play")
    play.click()
    start = values(page)
    page.wait_for_timeout(300)
    assert values(page)[1] != start[1]
    assert values(page)[0] == start[0]
    play.click()
    stopped = values(page)
    page.wait_for_timeout(100)
    assert values(page) == stopped


def test_the_pad_moves_two_latents(page_file: Path, explore: OpenPage) -> None:
    page = explore(page_file)
    box = page.locator("#pad").bounding_box()
    assert box is not None
    page.locator("#pad").scroll_into_view_if_needed()
    page.locator("#pad").click(position={"x": box["width"] * 0.75, "y": box["height"] * 0.25})
    assert values(page)[:2] == pytest.approx([1.5, 1.5], abs=0.06)
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowLeft")
    assert values(page)[:2] == pytest.approx([1.4, 1.6], abs=0.06)


def test_the_pad_begins_with_x_across_and_y_up(page_file: Path, explore: OpenPage, tmp_path: Path) -> None:
    names = iter(["position y", "position x"])
    text = re.sub(
        r'"follows":\["(?:[^"\\]|\\.)*"\]', lambda found: f'"follows":["{next(names, "")}"]', page_file.read_text()
    )
    (tmp_path / "page.html").write_text(text)
    page = explore(tmp_path / "page.html")
    assert (page.locator("#across").input_value(), page.locator("#down").input_value()) == ("1", "0")


def test_the_address_holds_what_is_seen(page_file: Path, explore: OpenPage) -> None:
    page = explore(page_file)
    page.locator("#starts button").nth(7).click()
    drag_to(page, 0, -1.5)
    page.locator("#difference").click()
    page.wait_for_timeout(400)
    fragment = page.evaluate("location.hash.slice(1)")
    again = explore(page_file, fragment=fragment)
    assert values(again) == pytest.approx(values(page), abs=1e-3)
    assert again.locator("#starts button").nth(7).get_attribute("aria-pressed") == "true"
    assert np.abs(picture(again) - picture(page)).max() <= 1
    broken = explore(page_file, fragment="z=1,,NaN,9&start=900&second=-1&swapped=x")
    assert values(broken)[0] != 1
    broken.evaluate("() => { location.hash = '#z=1,1,1,2'; }")
    broken.wait_for_timeout(100)
    assert values(broken) == [1, 1, 1, 2]


def test_the_picture_and_a_sweep_are_saved_as_files(page_file: Path, explore: OpenPage) -> None:
    page = explore(page_file)
    with page.expect_download() as saved:
        page.locator("#png").click()
    png = Image.open(saved.value.path())
    assert saved.value.suggested_filename == "decoder-z0.png"
    assert png.size == (512, 512)
    assert np.abs(np.array(png.convert("L"))[::32, ::32].flatten() - picture(page)).max() <= 1
    start = values(page)
    with page.expect_download() as saved:
        page.locator("#sweep").click()
    gif = Image.open(BytesIO(Path(saved.value.path()).read_bytes()))
    assert (gif.format, gif.n_frames, gif.size) == ("GIF", 46, (128, 128))
    frames = []
    for number in (0, 12, 23):
        gif.seek(number)
        frames.append(np.array(gif.convert("L"))[::8, ::8].astype(float).flatten())
    assert np.abs(frames[0] - frames[2]).max() > 5
    assert values(page) == start
    drag_to(page, 0, 3)
    assert np.abs(frames[2] - picture(page)).max() <= 1  # grays are exact


def test_runs_lie_side_by_side_and_follow_one_set_of_sliders(runs_file: Path, explore: OpenPage) -> None:
    page = explore(runs_file)
    assert page.locator("#models canvas:visible").count() == 2
    assert sorted(page.locator("#models figcaption b").all_inner_texts()) == ["seed 0", "seed 1"]
    before = [picture(page, f"#models .pair:nth-child({n}) canvas") for n in (1, 2)]
    first = int(page.locator("#latents > .latent").first.get_attribute("data-latent") or 0)
    drag_to(page, first, 3)
    for n in (1, 2):
        assert np.abs(picture(page, f"#models .pair:nth-child({n}) canvas") - before[n - 1]).max() > 0
    assert "moves its z" in page.locator("#models .partner").nth(1).inner_text()
    page.locator("#swap").click()
    page.locator("#starts button").nth(3).click()
    assert page.locator("#models canvas:visible").count() == 4


def test_a_net_that_the_page_cannot_compute_is_named_and_shown_in_frames(frames_file: Path, explore: OpenPage) -> None:
    page = explore(frames_file)
    assert "layer Softplus" in page.locator(".note").inner_text()
    before = picture(page)
    drag_to(page, 0, 3)
    after = picture(page)
    assert np.abs(after - before).max() > 5
    drag_to(page, 1, -3)
    assert values(page)[0] != 3  # one latent at a time
    page.locator("#starts button").nth(2).click()
    assert page.locator("#starts button").count() == 8
    assert page.locator("#random").is_hidden()


def test_screen_readers_hear_what_everything_is(page_file: Path, explore: OpenPage) -> None:
    page = explore(page_file)
    assert slider(page, 0).get_attribute("aria-label") == "z0, across"
    drag_to(page, 0, -1.25)
    assert slider(page, 0).get_attribute("aria-valuetext") == "−1.25"
    assert "image 1" in (page.locator("#models canvas").get_attribute("aria-label") or "")
    unnamed = page.evaluate(
        """() => [...document.querySelectorAll("button, input, select, canvas:not([aria-hidden])")].filter((e) =>
          !(e.getAttribute("aria-label") || e.textContent.trim() || e.closest("label"))).map((e) => e.outerHTML)"""
    )
    assert unnamed == []
