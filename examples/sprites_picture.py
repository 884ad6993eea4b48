"""Draws docs/images/traversal.png, the picture on the home page of the site: the effect of three latents.

    python -m examples.sprites_picture

The frames are those that the explorer of the home page (examples/sprites_explorer.py) shows in Chromium.
"""

import json
import tempfile
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from examples.sprites_explorer import CONTENT
from tests.browser import running_chromium
from unbraid.show.explorer.explorer import render_explorer

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "traversal.png"
# One color for each latent, as of the strands of the logo, legible on light and on dark.
COLORS = ((224, 122, 31), (18, 150, 137), (190, 75, 140))
VALUES = np.linspace(-1.5, 1.5, 9)
TILE, GAP = 96, 8


def main() -> None:
    content = json.loads(CONTENT.read_text(encoding="utf-8"))
    (model,) = content["models"]
    latents = model["latents"]
    best = sorted(range(len(latents)), key=lambda index: latents[index]["place"])[: len(COLORS)]
    with tempfile.TemporaryDirectory() as folder, running_chromium() as browser:
        file = Path(folder, "page.html")
        file.write_text(render_explorer(content), encoding="utf-8")
        rows = [
            np.hstack([tile(browser, file, len(latents), latent, value, color) for value in VALUES])
            for latent, color in zip(best, COLORS, strict=True)
        ]
    Image.fromarray(np.vstack(rows)[GAP:, GAP:]).save(PICTURE, optimize=True)
    print(f"{PICTURE} is written.")


def tile(browser: Any, file: Path, num_latents: int, latent: int, value: float, color: tuple[int, ...]) -> np.ndarray:
    """Returns a frame in a color, transparent where it is black, with a gap above and to the left of it."""
    code = ["0"] * num_latents
    code[latent] = f"{value:.2f}"
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(f"{file.as_uri()}#z={','.join(code)}")
    page.wait_for_selector("html[data-checked=yes]", timeout=20_000)
    shown = Image.open(BytesIO(page.locator("canvas").first.screenshot())).convert("L")
    page.close()
    ink = np.asarray(shown.resize((32, 32)).resize((TILE, TILE), Image.Resampling.BICUBIC))
    framed = np.zeros((TILE + GAP, TILE + GAP, 4), np.uint8)
    framed[GAP:, GAP:, :3] = color
    framed[GAP:, GAP:, 3] = np.maximum(ink, 28)  # the frame itself is a faint square
    return framed


if __name__ == "__main__":
    main()
