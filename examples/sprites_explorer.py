"""Writes docs/live/sprites.json, from which the site makes the explorer on its home page.

    python -m examples.sprites_explorer [FOLDER]

It trains the best model of the quickstart (a beta-TCVAE, seed 3), which takes a minute or two; or takes the run in the
folder.
"""

import json
import sys
import tempfile
from pathlib import Path

from unbraid import BetaTCVAE, runs_in, train
from unbraid.cli.first_runs import recipe
from unbraid.explorer.explorer import page_content
from unbraid.runs import Run

CONTENT = Path(__file__).parents[1] / "docs" / "live" / "sprites.json"
TITLE = "A heart, taken apart"
NUM_STEPS, SEED = 1600, 3


def write(runs: list[Run]) -> None:
    CONTENT.write_text(json.dumps(page_content(runs, title=TITLE), separators=(",", ":")) + "\n")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        given = sys.argv[1:]
        spec = recipe(BetaTCVAE(beta=4.0), NUM_STEPS)
        write(runs_in(given[0]) if given else train([spec], [SEED], folder=folder))
    print(f"{CONTENT} is written.")


if __name__ == "__main__":
    main()
