"""How long data take: drawing and opening them, and feeding them to a fleet from memory and from the disk.

    python -m benchmarks.data_speed [--device cuda] [--members 64] [--images 200000]

The first table has drawing dSprites and opening it, and opening a converted set of color images of the size of
CelebA's; medians of five openings, each by a process of its own. The second has a training step of the conv net (batch
64) on those color images: with one batch that stays (nothing is fed), with batches from the device's memory, and
streamed from the disk, right after the file's pages were dropped from the system's cache and once they are back. Ways
take turns, and medians are compared: the share is what a step takes longer than with nothing fed.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import final

import numpy as np
import torch
from torch import Tensor

from unbraid import Autoencoder, BetaTCVAE, Conv, DSprites, RunSpec
from unbraid.datasets.dataset import Factor, FactorDataset, FactorImages
from unbraid.datasets.image_store import ImageStore, Plan
from unbraid.training import Fleet, Member
from unbraid.training.batches import Feed

BATCH_SIZE, STEPS_A_TURN, NUM_TURNS, NUM_OPENINGS = 64, 10, 7, 5
IMAGE_SHAPE = (3, 64, 64)


@final
@dataclass(frozen=True)
class Patches(FactorDataset):
    """Color images of nothing, in a store as converted sets have it."""

    folder: str
    count: int

    @property
    def factors(self) -> tuple[Factor, ...]:
        return ()

    @property
    def num_images(self) -> int:
        return self.count

    @property
    def image_shape(self) -> tuple[int, int, int]:
        return IMAGE_SHAPE

    @property
    def store(self) -> ImageStore:
        return ImageStore(Path(self.folder))

    def open(self, *, verify: bool = False) -> FactorImages:
        block = np.random.default_rng(0).integers(0, 256, (1000, *IMAGE_SHAPE), dtype=np.uint8)
        factors = np.empty((self.count, 0), dtype=np.int64)
        plan = Plan(IMAGE_SHAPE, (), factors, lambda _: iter([block] * (self.count // 1000)))
        return self.store.ensure(lambda: plan, "making patches", verify=verify)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--members", type=int, default=8)
    parser.add_argument("--images", type=int, default=200_000)
    parser.add_argument(
        "--open",
        choices=("dsprites", "patches"),
        help="(used by the benchmark itself: open once, and print the seconds)",
    )
    parser.add_argument("--folder", help="(used by the benchmark itself)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        patches = Patches(options.folder or folder, options.images)
        if options.open:
            print(_seconds(DSprites().open if options.open == "dsprites" else patches.open))
            return
        os.environ["UNBRAID_CACHE"] = str(Path(folder) / "cache")
        machine = torch.cuda.get_device_name() if options.device == "cuda" else f"{torch.get_num_threads()} threads"
        print(f"torch {torch.__version__}, {machine}\n\n| | seconds |\n|---|---|")
        print(f"| draw all of dSprites and keep it | {_seconds(DSprites().open):.2f} |", flush=True)
        patches.open()
        for name in ("dsprites", "patches"):
            print(
                f"| open {name} | {statistics.median(_opening(name, patches) for _ in range(NUM_OPENINGS)):.3f} |",
                flush=True,
            )
        _print_feeding(patches, options.device, options.members)


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _opening(name: str, patches: Patches) -> float:
    arguments = ["--open", name, "--folder", patches.folder, "--images", str(patches.count)]
    return float(
        subprocess.run(
            [sys.executable, "-m", __spec__.name, *arguments], check=True, capture_output=True, text=True
        ).stdout
    )


def _print_feeding(patches: Patches, device: str, num_members: int) -> None:
    spec = RunSpec(patches, Autoencoder(Conv()), BetaTCVAE(beta=4.0), num_steps=10**6, batch_size=BATCH_SIZE)
    members = [Member(spec, seed) for seed in range(num_members)]
    loaded, streamed = patches.open().to(device), patches.open().streamed_to(device)
    ways = {
        "nothing fed": _Way(_unfed(members, loaded)),
        "from memory": _Way(Fleet(members, loaded)),
        "from disk, pages dropped": _Way(Fleet(members, streamed), before=lambda: _drop_pages(patches)),
        "from disk": _Way(Fleet(members, streamed)),
    }
    times: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(1 + NUM_TURNS):
        for name, way in ways.items():
            taken = way.step(device)
            if turn:  # the first warms up
                times[name].append(taken)
    medians = {name: statistics.median(taken) for name, taken in times.items()}
    print(f"\n{num_members} models, conv, batch {BATCH_SIZE}, {patches.count:,} images of 3 x 64 x 64\n")
    print("| batches | ms a step | more than with nothing fed |\n|---|---|---|")
    for name, taken in medians.items():
        print(f"| {name} | {1e3 * taken:.1f} | {taken / medians['nothing fed'] - 1:+.1%} |", flush=True)


@dataclass
class _Way:
    fleet: Fleet
    before: Callable[[], None] = lambda: None

    def __post_init__(self) -> None:
        self.fleet.prepare()

    def step(self, device: str) -> float:
        """Seconds a step, over a few."""
        self.before()
        _wait(device)
        began = time.perf_counter()
        for _ in range(STEPS_A_TURN):
            self.fleet.advance()
        _wait(device)
        return (time.perf_counter() - began) / STEPS_A_TURN


def _unfed(members: list[Member], images: FactorImages) -> Fleet:
    """A fleet that sees one batch for ever."""
    fleet = Fleet(members, images)
    feeds = fleet._steps.feeds
    feeds["first"] = _Still(feeds["first"])
    return fleet


class _Still:
    """A feed that brings its first batch again and again."""

    def __init__(self, feed: Feed) -> None:
        rows, images = feed.batch(0)
        self._supplied = {"rows": rows, "images": images}

    def supply(self, step: int) -> dict[str, Tensor]:
        return self._supplied

    def rows(self, supplied: Mapping[str, Tensor], step: Tensor) -> Tensor:
        return supplied["rows"]

    def images(self, supplied: Mapping[str, Tensor], rows: Tensor) -> Tensor:
        return supplied["images"]


def _wait(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


def _drop_pages(patches: Patches) -> None:
    with (patches.store.folder / "images.npy").open("rb") as stream:
        os.fsync(stream.fileno())
        os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


if __name__ == "__main__":
    main()
