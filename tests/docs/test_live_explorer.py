"""The explorer on the home page of the site."""

import json
import re
from pathlib import Path

import pytest

from examples.sprites_explorer import CONTENT
from tests.browser import OpenPage
from tests.discovery import ROOT
from unbraid.show.explorer.explorer import render_explorer


def test_the_home_page_shows_it():
    home = (ROOT / "docs" / "index.md").read_text()
    assert re.findall(r'<iframe src="(.*?)"', home) == [f"live/{CONTENT.stem}.html"]
    assert "docs/hooks/live.py" in (ROOT / "mkdocs.yml").read_text()
    (model,) = json.loads(CONTENT.read_text())["models"]
    followed = [latent["follows"] for latent in sorted(model["latents"], key=lambda each: each["place"])]
    assert followed[:3] == [["position y"], ["position x"], ["scale"]]


@pytest.mark.browser
def test_what_is_kept_of_it_fits_the_scripts_of_today(open_page: OpenPage, tmp_path: Path) -> None:
    """If this fails, what pages hold has changed: `python -m examples.sprites_explorer` writes it anew."""
    (tmp_path / "page.html").write_text(render_explorer(json.loads(CONTENT.read_text())))
    page = open_page(tmp_path / "page.html")
    page.wait_for_selector("html[data-checked=yes]", timeout=20_000)
    assert "16 codes" in page.inner_text(".status")
