"""A real browser for the tests of pages: Chromium of the system, without a screen and without a network."""

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

OpenPage = Callable[..., "Page"]


def chromium_path() -> str | None:
    """Where Chromium is: where UNBRAID_CHROMIUM says, or on the path."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return os.environ.get("UNBRAID_CHROMIUM") or next(filter(None, map(shutil.which, names)), None)


@contextlib.contextmanager
def running_chromium() -> Iterator["Browser"]:
    """Chromium, started; it is closed at the end of the block. As root it has no sandbox: there it would not start."""
    from playwright.sync_api import sync_playwright

    as_root = ["--no-sandbox"] if os.getuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path(), headless=True, args=as_root)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def chromium() -> Iterator["Browser"]:
    pytest.importorskip("playwright", reason="needs playwright: pip install 'unbraid[dev]'")
    if chromium_path() is None:
        pytest.skip("needs Chromium: apt-get install chromium, or name one in UNBRAID_CHROMIUM")
    with running_chromium() as browser:
        yield browser


@pytest.fixture
def open_page(chromium: "Browser") -> Iterator[OpenPage]:
    """Opens an HTML file as a double click does. When the test ends, the page must have written no error to its console
    and asked for nothing but itself.

    `fragment` is what comes after # in the address, `allowed` a part of errors that are meant; other `options` are
    those of a context of Playwright.
    """
    with contextlib.ExitStack() as stack:
        seen: list[tuple[Page, list[str]]] = []

        def opened(
            path: Path,
            *,
            width: int = 1280,
            scheme: Literal["light", "dark"] = "light",
            fragment: str = "",
            allowed: str | None = None,
            **options: Any,
        ) -> "Page":
            context = chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, **options)
            stack.callback(context.close)
            page = context.new_page()
            found: list[str] = []
            seen.append((page, found))

            def note(line: Any) -> None:
                if line.type in {"error", "warning"} and (allowed is None or allowed not in line.text):
                    found.append(line.text)

            page.on("console", note)
            page.on("pageerror", lambda error: found.append(str(error)))
            own = path.resolve().as_uri()
            page.on(
                "request",
                lambda request: None if _is_own(request.url, own) else found.append(f"asked for {request.url}"),
            )
            page.goto(own + (f"#{fragment}" if fragment else ""))
            return page

        yield opened
        for page, found in seen:
            assert not found, f"{page.url}: {found}"


def _is_own(address: str, own: str) -> bool:
    """Whether this is the page itself or what it holds; a data address and a blob leave no page."""
    return address.split("#", maxsplit=1)[0] == own or address.startswith(("data:", "blob:"))


CONTRAST = """() => {
  // The contrast of every text with what is behind it (WCAG 2.2, 1.4.3); texts over pictures are not seen.
  const channels = (color) => color.match(/[\\d.]+/g).map(Number);
  const over = (top, below) => { const a = top[3] ?? 1; return [0, 1, 2].map((i) => a * top[i] + (1 - a) * below[i]); };
  const luminance = (color) => {
    const [r, g, b] = color.map((c) => c / 255).map((c) => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    const layers = [];
    for (let e = element; e; e = e.parentElement) layers.push(channels(getComputedStyle(e).backgroundColor));
    const dark = matchMedia("(prefers-color-scheme: dark)").matches;
    return layers.reverse().reduce((below, layer) => over(layer, below), dark ? [18, 18, 18] : [255, 255, 255]);
  };
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    const text = walker.currentNode.textContent.trim();
    if (!text || !element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
    if (["SCRIPT", "STYLE", "OPTION", "TEMPLATE"].includes(element.tagName) || element.closest(":disabled")) continue;
    const style = getComputedStyle(element);
    const below = behind(element);
    const ink = over(channels(element.closest("svg") ? style.fill : style.color), below);
    const [dim, bright] = [luminance(ink), luminance(below)].sort((a, b) => a - b);
    const contrast = (bright + 0.05) / (dim + 0.05);
    if (contrast < 4.5) found.push(`${text.slice(0, 40)}: ${contrast.toFixed(2)}`);
  }
  return found;
}"""


def texts_of_low_contrast(page: "Page") -> list[str]:
    """The texts of the page whose contrast with what is behind them is below 4.5, each with its contrast."""
    found: list[str] = page.evaluate(CONTRAST)
    return found


def overflow(page: "Page") -> int:
    """By how many pixels the page is wider than its window; 0 if nothing must be scrolled sideways."""
    found: int = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    return found
