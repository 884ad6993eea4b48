"""How large an explorer is, how soon it is ready, and how long a slider takes to move the picture, in Chromium.

    python -m benchmarks.explorer_speed [--quickstart FOLDER]

Ready is from the beginning of the navigation until all controls work; checked is until the page has compared itself
with torch. Slider to picture is from the event of a slider until the pixels are on the canvas; the median of many,
after some to warm up. Eight models of the quickstart's kind are taken from the folder, or else trained for two steps,
which makes weights of the same size. Half a minute without training; it needs Chromium.
"""

import argparse
import os
import statistics
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tests.browser import running_chromium
from unbraid import runs_in, train
from unbraid.cli.quickstart import config
from unbraid.models import MLP, Architecture, Autoencoder, Conv, SpatialBroadcast
from unbraid.objectives import VAE, BetaTCVAE
from unbraid.show.explorer import write_explorer
from unbraid.training.runs import Run

if TYPE_CHECKING:
    from playwright.sync_api import Browser

NUM_OPENINGS = 5
NUM_MOVES = 60
NETS = {
    "`Conv()`, 64 pixels": Conv(),
    "`MLP()` of Chen et al., 64 pixels": MLP(),
    "`SpatialBroadcast()`": SpatialBroadcast(),
}
# What was promised: megabytes, seconds until ready, milliseconds from slider to picture.
PROMISES = {
    "8 models of the quickstart's kind": (1.5, 1.0, None),
    "`Conv()`, 64 pixels": (None, None, 16.0),
    "`MLP()` of Chen et al., 64 pixels": (12.0, None, 60.0),
}

MOVE = """(count) => {
  const range = document.querySelector("input[type=range]"), times = [];
  for (let i = 0; i < count + 10; i++) {
    range.value = 3 * Math.sin(i);
    const began = performance.now();
    range.dispatchEvent(new Event("input", { bubbles: true }));
    times.push(performance.now() - began);
  }
  return times.slice(10);
}"""


@dataclass(frozen=True)
class Timing:
    """What was measured of one page."""

    name: str
    megabytes: float
    ready: float
    checked: float
    move: float

    @property
    def broken(self) -> list[str]:
        """The promises that are not kept."""
        limits = PROMISES.get(self.name, (None, None, None))
        found = zip(("MB", "s until ready", "ms a move"), (self.megabytes, self.ready, self.move), limits, strict=True)
        return [f"{self.name}: {value:.2f} {unit} > {limit}" for unit, value, limit in found if limit and value > limit]


def pages(folder: Path, quickstart: Path | None) -> Iterator[tuple[str, Path]]:
    """The pages to measure, by name."""
    yield (
        "8 models of the quickstart's kind",
        write_explorer(quickstart_runs(folder, quickstart), folder / "quickstart.html"),
    )
    for number, (name, net) in enumerate(NETS.items()):
        yield name, page_of(net, folder / f"{number}.html")


def page_of(net: Architecture, path: Path) -> Path:
    model = Autoencoder(net).build((1, 64, 64), seed=0).eval()
    codes = np.random.default_rng(0).standard_normal((64, 10))
    return write_explorer(path=path, decoder=model, codes=codes)


def quickstart_runs(folder: Path, given: Path | None) -> list[Run]:
    if given is not None:
        return runs_in(given)
    specs = [config(objective, 2) for objective in (VAE(), BetaTCVAE(beta=4.0))]
    return train(specs, [0, 1, 2, 3], folder=folder / "runs", progress=False)


def timing(browser: "Browser", name: str, path: Path) -> Timing:
    ready, checked, moves = [], [], []
    for _ in range(NUM_OPENINGS):
        page = browser.new_page()
        page.goto(path.resolve().as_uri())
        page.wait_for_selector("html[data-checked=yes]", timeout=60_000)
        for mark, times in (("ready", ready), ("checked", checked)):
            times.append(page.evaluate(f"performance.getEntriesByName('{mark}')[0].startTime") / 1000)
        moves += page.evaluate(MOVE, NUM_MOVES // NUM_OPENINGS)
        page.close()
    medians = (statistics.median(times) for times in (ready, checked, moves))
    return Timing(name, path.stat().st_size / 1e6, *medians)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quickstart", type=Path, help="a folder with such runs")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, running_chromium() as browser:
        written = list(pages(Path(folder), asked.quickstart))
        timings = [timing(browser, name, path) for name, path in written]
        print(f"Chromium {browser.version}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}\n")
    print("| decoder | file | ready | checked | slider to picture |")
    print("|---|---|---|---|---|")
    for each in timings:
        times = f"{each.ready:.2f} s | {each.checked:.2f} s | {each.move:.1f} ms"
        print(f"| {each.name} | {each.megabytes:.2f} MB | {times} |")
    broken = [promise for each in timings for promise in each.broken]
    print("\nAll promises are kept." if not broken else "\nNot kept: " + "; ".join(broken))


if __name__ == "__main__":
    main()
