"""How many faces a second are read from JPEGs in the form of CelebA's (178 x 218, color), cut to 128 x 128 and made 64
x 64.

    python -m benchmarks.jpeg_decoding                 the table
    python -m benchmarks.jpeg_decoding --images 2048   a smaller one, to see that it runs

The faces are drawn: smooth noise with an oval, eyes and hair on it, a little grain, saved with quality 90, which gives
files a little larger than the official ones (7.1 kB on average). A thousand of them are repeated under as many names as
asked for. "into the cache" is all that a conversion does: decoding, checksum and writing. Each row is the fastest of
three runs. "processor µs" is the time of processors that an image takes, in all threads, and "others" how many cores
were busy with something else meanwhile: on a machine that is not idle they tell what an idle one would do.
"""

import argparse
import io
import math
import os
import resource
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from unbraid._internal.cpu import usable_cores
from unbraid.datasets.formats.archives import Container, Folder, Zip
from unbraid.datasets.image_store import ImageStore, Plan
from unbraid.datasets.pictures import Framing, decode_many

FRAMING = Framing((3, 64, 64), crop=128, picture_size=(218, 178), formats=("JPEG",), follow_exif=False, shrink=2)
NUM_DISTINCT = 1000


def face(number: int) -> bytes:
    """One drawn face as a JPEG file."""
    random = np.random.default_rng(number)
    canvas = Image.fromarray(_noise(random, 7, 60, 200))
    draw = ImageDraw.Draw(canvas)
    skin = tuple(int(value) for value in random.integers(90, 230, 3))
    hair = tuple(int(value) for value in random.integers(10, 120, 3))
    draw.ellipse((35, 25, 143, 150), fill=hair)
    draw.ellipse((45, 55, 133, 175), fill=skin)
    for left in (62, 98):
        draw.ellipse((left, 100, left + 18, 110), fill="white", outline=hair)
        draw.ellipse((left + 6, 101, left + 13, 109), fill=hair)
    draw.arc((68, 120, 110, 155), 30, 150, fill=(150, 40, 40), width=4)
    shaded = np.asarray(canvas).astype(np.float64) + _noise(random, 24, -25, 25) + random.normal(0, 1.5, (218, 178, 1))
    stream = io.BytesIO()
    Image.fromarray(shaded.clip(0, 255).astype(np.uint8)).save(stream, "JPEG", quality=90)
    return stream.getvalue()


def _noise(random: np.random.Generator, cells: int, low: int, high: int) -> np.ndarray:
    coarse = Image.fromarray(random.integers(0, 256, (cells, cells, 3), dtype=np.uint8))
    smooth = np.asarray(coarse.resize((178, 218), Image.Resampling.BICUBIC)).astype(np.float64)
    return (low + smooth * (high - low) / 255).astype(np.uint8 if low >= 0 else np.float64)


def write_faces(folder: Path, num_images: int) -> float:
    """As a zip and as a folder. Returns the mean size of a file in kilobytes."""
    faces = [face(number) for number in range(min(NUM_DISTINCT, num_images))]
    (folder / "faces").mkdir()
    with zipfile.ZipFile(folder / "faces.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(num_images):
            name, content = f"{number + 1:06}.jpg", faces[number % len(faces)]
            archive.writestr(f"img_align_celeba/{name}", content)
            (folder / "faces" / name).write_bytes(content)
    return sum(map(len, faces)) / len(faces) / 1000


def decoded(source: Container, num_threads: int) -> None:
    for _ in decode_many(source, source.members(), FRAMING, num_threads):
        pass


def converted(source: Container, num_threads: int, folder: Path) -> None:
    members = source.members()

    def blocks(start: int) -> Iterator[np.ndarray]:
        return decode_many(source, members[start:], FRAMING, num_threads)

    ImageStore(folder / "store").make(
        Plan(FRAMING.image_shape, (), np.zeros((len(members), 0), np.int8), blocks), "converting"
    )


def measured(work: Callable[[], None], num_images: int) -> tuple[float, float, float]:
    """Images a second, microseconds of processors an image, and how many cores others kept busy."""
    busy, all_busy, began = _processor_seconds(), _busy_seconds(), time.perf_counter()
    work()
    seconds, busy, all_busy = time.perf_counter() - began, _processor_seconds() - busy, _busy_seconds() - all_busy
    return num_images / seconds, busy / num_images * 1e6, max(0.0, all_busy - busy) / seconds


def _processor_seconds() -> float:
    """Of this process and of those that it has seen end."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def _busy_seconds() -> float:
    """Of all cores since the machine was started; not a number where the system does not tell."""
    if not (path := Path("/proc/stat")).exists():
        return math.nan
    user, nice, system, _idle, _waiting, *interrupts = map(int, path.read_text().splitlines()[0].split()[1:9])
    return (user + nice + system + sum(interrupts)) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=20_000)
    parser.add_argument("--tries", type=int, default=3)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        kilobytes = write_faces(folder, given.images)
        print(f"{given.images:,} JPEGs of {kilobytes:.1f} kB on average; {usable_cores()} cores\n")
        print(
            "| from | threads | images a second | minutes for CelebA | processor µs an image | others "
            "|\n|---|---|---|---|---|---|"
        )
        zipped, laid_out = Zip(folder / "faces.zip"), Folder(folder / "faces")
        rows: list[tuple[str, int, Callable[[], None]]] = [
            ("zip", 1, lambda: decoded(zipped, 1)),
            ("zip", 2, lambda: decoded(zipped, 2)),
            ("folder", 2, lambda: decoded(laid_out, 2)),
            ("zip, into the cache", 2, lambda: converted(zipped, 2, folder)),
        ]
        for label, num_threads, work in rows:
            rate, microseconds, others = max(measured(work, given.images) for _ in range(given.tries))
            minutes = 202_599 / rate / 60
            print(
                f"| {label} | {num_threads} | {rate:,.0f} | {minutes:.1f} | {microseconds:.0f} | {others:.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
