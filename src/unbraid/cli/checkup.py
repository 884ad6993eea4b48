"""What of this machine and its installation unbraid depends on, looked at piece by piece.

Nothing is imported here that may itself be what is broken: each look imports what it needs, and whatever it raises is
what is found.
"""

import platform
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import final

from unbraid._internal.amounts import size_text
from unbraid._internal.version import __version__

_LITTLE_DISK = 2 * 10**9
_LITTLE_MEMORY = 2 * 10**9
_FOR_DEVELOPERS = ("test", "lint", "docs", "dev")
_REQUIREMENT = re.compile(r"([\w.-]+)(?:\[.*?\])?>=([\d.]+)(?:.*extra == ['\"](\w+)['\"])?")
_DEVICES = Path("/dev")


@final
@dataclass(frozen=True)
class CheckupResult:
    """Holds what one look found, and what is wrong with it and what to do, if anything is."""

    about: str
    found: str
    wrong: str | None = None


def check_up(folder: Path, device: str) -> Iterator[CheckupResult]:
    """Looks at one thing after the other. `folder` is where runs would be kept, `device` where models would train."""
    looks: dict[str, Callable[[], CheckupResult]] = {
        "unbraid": look_at_unbraid,
        "packages": look_at_packages,
        "extras": look_at_extras,
        "device": lambda: look_at_device(device),
        "threads": look_at_threads,
        "cache": look_at_cache,
        "disk": lambda: look_at_disk(folder),
        "memory": look_at_memory,
        "test run": lambda: make_test_run(folder, device),
    }
    for about, look in looks.items():
        try:
            yield look()
        except Exception as error:  # noqa: BLE001 (whatever is broken is what was asked for)
            yield CheckupResult(about, "it failed", f"{type(error).__name__}: {error}")


def look_at_unbraid() -> CheckupResult:
    """Returns the version, the place it is installed in, and the Python and system that it runs on."""
    place = Path(__file__).parents[1]
    system = f"{platform.system()} {platform.release()} {platform.machine()}"
    found = f"{__version__} in {place}; Python {platform.python_version()} ({sys.executable}), {system}"
    if sys.platform == "win32":
        return CheckupResult("unbraid", found, "Windows is not supported: use WSL (docs/versions.md).")
    return CheckupResult("unbraid", found)


def look_at_packages() -> CheckupResult:
    """Returns the versions of what unbraid needs. Wrong are those that are missing or too old."""
    needed = {name: bound for name, bound, extra in _requirements() if extra is None}
    versions = {name: _version(name) for name in needed}
    found = ", ".join(f"{name} {version or 'missing'}" for name, version in versions.items())
    bad = [
        f"{name}>={bound}"
        for name, bound in needed.items()
        if (version := versions[name]) is None or _numbers(version) < _numbers(bound)
    ]
    asked = " ".join(f"'{requirement}'" for requirement in bad)
    return CheckupResult("packages", found, f"Missing or too old. Mend it: pip install {asked}" if bad else None)


def look_at_extras() -> CheckupResult:
    """Returns which packages that some features need are installed. One that is missing is not wrong."""
    versions = {name: _version(name) for name, _, extra in _requirements() if extra not in (None, *_FOR_DEVELOPERS)}
    there = [f"{name} {version}" for name, version in versions.items() if version is not None]
    missing = [name for name, version in versions.items() if version is None]
    return CheckupResult(
        "extras", "; ".join(filter(None, [", ".join(there), f"not installed: {', '.join(missing)}" if missing else ""]))
    )


def look_at_device(name: str) -> CheckupResult:
    """Returns where models would be trained. Wrong is a GPU of this machine that torch cannot use."""
    import torch

    from unbraid._internal.device import resolve_device
    from unbraid._internal.memory import free_memory

    device = resolve_device(name)
    if device.type == "cuda":
        gpu, free = torch.cuda.get_device_name(device), size_text(free_memory(device))
        return CheckupResult("device", f"{gpu}, {free} free; torch is built for CUDA {torch.version.cuda}")
    wrong = None
    if any(_DEVICES.glob("nvidia[0-9]*")) and not torch.cuda.is_available():
        reason = "is built without CUDA" if torch.version.cuda is None else "cannot use it with this driver"
        wrong = f"There is an NVIDIA GPU, and torch {torch.__version__} {reason}. See https://pytorch.org/get-started."
    return CheckupResult("device", f"the CPU ({'as asked' if name == 'cpu' else 'torch finds no GPU'})", wrong)


def look_at_threads() -> CheckupResult:
    """Returns how many threads torch has on a CPU. Wrong are more of them than this process may use cores."""
    import torch

    from unbraid._internal.cpu import others_are_running, usable_cores

    threads, cores = torch.get_num_threads(), usable_cores()
    found = f"{threads} for {cores} cores"
    if others_are_running():
        found += "; other programs are busy, which slows training down"
    wrong = (
        f"{threads} threads share {cores} cores and wait for each other. Mend it: export OMP_NUM_THREADS={cores}"
        if threads > cores
        else None
    )
    return CheckupResult("threads", found, wrong)


def look_at_cache() -> CheckupResult:
    """Returns where drawn and converted data sets are kept. Wrong is a folder that cannot be written."""
    from unbraid._internal import files

    folder = files.cache_folder()
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    found = f"{folder}, {size_text(size)}"
    return CheckupResult("cache", found, _trouble_of(folder, "Set UNBRAID_CACHE to a folder on another disk."))


def look_at_disk(folder: Path) -> CheckupResult:
    """Returns how much room there is for runs. Wrong is little of it, or a folder that cannot be written."""
    return CheckupResult(
        "disk",
        f"{size_text(_free_disk(folder))} free in {folder.absolute()}",
        _trouble_of(folder, "Name another folder with --out."),
    )


def _trouble_of(folder: Path, fix: str) -> str | None:
    """Returns what is wrong with a folder to write to."""
    from unbraid._internal import files

    files.check_writable(folder / "doctor")
    free = _free_disk(folder)
    return f"Only {size_text(free)} are free. {fix}" if free < _LITTLE_DISK else None


def _free_disk(folder: Path) -> int:
    absolute = folder.absolute()
    return shutil.disk_usage(next(place for place in (absolute, *absolute.parents) if place.exists())).free


def look_at_memory() -> CheckupResult:
    """Returns how much memory is free. Wrong is less than imports, images and a small fleet take."""
    import torch

    from unbraid._internal.memory import free_memory

    free = free_memory(torch.device("cpu"))
    fix = "Close other programs, or give the container more."
    wrong = f"Only {size_text(free)} are free. {fix}" if free < _LITTLE_MEMORY else None
    return CheckupResult("memory", f"{size_text(free)} free", wrong)


def make_test_run(folder: Path, device: str) -> CheckupResult:
    """Trains, reads back, scores and shows a tiny model, in a temporary folder where runs would be kept."""
    from unbraid.datasets import DSprites
    from unbraid.models import MLP, Autoencoder
    from unbraid.models.distributions import GaussianLatents
    from unbraid.show.report import write_report
    from unbraid.training import train
    from unbraid.training.runs import Run, RunSpec

    began = time.monotonic()
    images = DSprites(resolution=8, shapes=("heart", "square"), num_scales=2, num_orientations=2, num_positions=4)
    spec = RunSpec(
        dataset=images,
        model=Autoencoder(MLP((8,), (8,)), latents=GaussianLatents(2)),
        num_steps=5,
        batch_size=8,
    )
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="unbraid-doctor-", dir=folder) as place:
        [run] = train([spec], [0], folder=Path(place), device=device, progress=False)
        Run.open(run.folder).score("mig", device=device, progress=False)
        write_report([run], Path(place) / "report.html")
    return CheckupResult("test run", f"trained, read back, scored and shown in {time.monotonic() - began:.1f} s")


def _requirements() -> Iterator[tuple[str, str, str | None]]:
    """Gives each package that unbraid asks for, its lower bound, and the extra that it belongs to."""
    for text in metadata.requires("unbraid") or ():
        if (match := _REQUIREMENT.match(text)) and match[1] != "unbraid":
            yield match[1], match[2], match[3]


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _numbers(version: str) -> tuple[int, ...]:
    """Returns the numbers that a version begins with: (2, 13, 0) of "2.13.0+cpu"."""
    match = re.match(r"[\d.]*\d", version)
    return tuple(int(part) for part in match[0].split(".")) if match else ()
