"""What benchmarks share beside their sheets (`benchmarks.sheet`): flags, small data, clocks."""

import argparse
import contextlib
import fcntl
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import torch

from unbraid import DSprites

SMALL_SPRITES = DSprites(resolution=32, num_orientations=2, num_positions=3)
"""324 images in which every factor varies: to see that a benchmark runs."""


def flags(
    description: str | None, *, out: str = "write what is printed to OUT.md, and the numbers to OUT.json"
) -> argparse.ArgumentParser:
    """The flags that all of these benchmarks have."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", "--smoke", action="store_true", help="small settings, to see that it runs")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--out", type=Path, help=out)
    parser.add_argument("--commit", default="", help="what to call the code, where git cannot say")
    return parser


@contextlib.contextmanager
def one_at_a_time() -> Iterator[None]:
    """Lets one process at a time into the block, of all that a benchmark started: the one that is timed."""
    with (Path(tempfile.gettempdir()) / "unbraid-benchmark.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def now(device: str) -> float:
    """Seconds, once all work given to the device is done."""
    if device.startswith("cuda"):
        torch.cuda.synchronize()
    return time.perf_counter()


def complain(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)
