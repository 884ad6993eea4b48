"""Writes docs/live/sprites.json, from which the site makes the explorer on its home page.

    python -m examples.sprites_explorer [FOLDER]

It trains one model of the preset beta-tcvae-sprites, which is the quickstart's with more and larger
batches, for a minute; or takes the run in the folder.
"""

import json
import sys
import tempfile
from pathlib import Path

from unbraid import runs_in, train
from unbraid.show.explorer.explorer import page_content
from unbraid.training.presets import preset
from unbraid.training.runs import Run

CONTENT = Path(__file__).parents[1] / "docs" / "live" / "sprites.json"
TITLE = "A heart, taken apart"
SEED = 3


def write(runs: list[Run]) -> None:
    CONTENT.write_text(json.dumps(page_content(runs, title=TITLE), separators=(",", ":")) + "\n")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        given = sys.argv[1:]
        spec = preset("beta-tcvae-sprites")
        write(runs_in(given[0]) if given else train([spec], [SEED], folder=folder))
    print(f"{CONTENT} is written.")


if __name__ == "__main__":
    main()
