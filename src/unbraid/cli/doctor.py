"""`unbraid doctor`: checks of the installation.

Each check imports its own dependencies, because an import may fail. A check that raises an exception has failed.
"""

import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import NamedTuple, final

import typer

from unbraid._internal import files
from unbraid._internal.amounts import size_text
from unbraid._internal.version import __version__
from unbraid.cli.console import echo, output, print_error
from unbraid.cli.options import Device, OutFolder

_LITTLE_SPACE = 2 * 10**9  # bytes of disk, and of memory
_FOR_DEVELOPERS = {"test", "lint", "docs", "dev"}
_DEVICES = Path("/dev")


@final
class CheckResult(NamedTuple):
    """Result of a check. `wrong` describes the problem and the fix, or is None without a problem."""

    found: str
    wrong: str | None = None


def doctor(out: OutFolder = Path(), device: Device = "auto") -> None:
    """Check the installation.

    The command lists versions, device, threads, cache, free disk space and memory, then trains, scores and shows a
    small model in a temporary folder. It prints a fix for each problem, and exits with code 1 if there is one. Add the
    output to bug reports.

    Examples:
      unbraid doctor
      unbraid doctor --out runs --device cuda
    """
    checks: dict[str, Callable[[], CheckResult]] = {
        "unbraid": check_unbraid,
        "packages": check_packages,
        "device": lambda: check_device(device),
        "threads": check_threads,
        "cache": lambda: check_disk(files.cache_folder(), "Set UNBRAID_CACHE to a folder on another disk."),
        "disk": lambda: check_disk(out, "Name another folder with --out."),
        "memory": check_memory,
        "test run": lambda: make_test_run(out, device),
    }
    errors = []
    for name, check in checks.items():
        try:
            result = check()
        except Exception as error:  # noqa: BLE001 (any exception is a failed check)
            result = CheckResult("failed", f"{type(error).__name__}: {error}")
        echo(f"{name:9} {result.found}", style="yellow" if result.wrong else "")
        if result.wrong:
            errors.append(f"{name}: {result.wrong}")
    output().print()
    for message in errors:
        print_error(message)
    if errors:
        raise typer.Exit(1)
    echo("No problems found.")


def check_unbraid() -> CheckResult:
    """Returns the versions of unbraid and Python, and the system."""
    place = Path(__file__).parents[1]
    system = f"{platform.system()} {platform.release()} {platform.machine()}"
    found = f"{__version__} in {place}; Python {platform.python_version()} ({sys.executable}), {system}"
    return CheckResult(found)


def check_packages() -> CheckResult:
    """Checks the versions of packages. Outdated packages and missing required packages are reported as problems."""
    from packaging.requirements import Requirement

    extras = set(metadata.metadata("unbraid").get_all("Provides-Extra", ())) - _FOR_DEVELOPERS
    installed, missing, wrong = [], [], []
    for package in map(Requirement, metadata.requires("unbraid") or ()):
        is_optional = package.marker is not None
        if package.name == "unbraid" or (
            package.marker and not any(package.marker.evaluate({"extra": extra}) for extra in extras)
        ):
            continue
        try:
            version = metadata.version(package.name)
        except metadata.PackageNotFoundError:
            missing.append(package.name)
            is_wrong = not is_optional
        else:
            installed.append(f"{package.name} {version}")
            is_wrong = not package.specifier.contains(version, prereleases=True)
        if is_wrong:
            wrong.append(f"'{package.name}{package.specifier}'")
    found = ", ".join(installed) + (f"; not installed: {', '.join(missing)}" if missing else "")
    return CheckResult(found, f"Packages are missing or too old. Run: pip install {' '.join(wrong)}" if wrong else None)


def check_device(name: str) -> CheckResult:
    """Checks the device for training. A GPU of this machine that torch cannot use is reported as a problem."""
    import torch

    from unbraid._internal.device import resolve_device
    from unbraid._internal.memory import free_memory

    device = resolve_device(name)
    if device.type == "cuda":
        gpu, free = torch.cuda.get_device_name(device), size_text(free_memory(device))
        return CheckResult(f"{gpu}, {free} free; torch is built for CUDA {torch.version.cuda}")
    wrong = None
    if any(_DEVICES.glob("nvidia[0-9]*")) and not torch.cuda.is_available():
        reason = "is built without CUDA" if torch.version.cuda is None else "cannot use its driver"
        wrong = f"There is an NVIDIA GPU, but torch {torch.__version__} {reason}. See https://pytorch.org/get-started."
    return CheckResult(f"the CPU ({'requested' if name == 'cpu' else 'torch finds no GPU'})", wrong)


def check_threads() -> CheckResult:
    """Checks the number of CPU threads of torch. More threads than available cores are reported as a problem."""
    import torch

    from unbraid._internal.cpu import others_are_running, usable_cores

    threads, cores = torch.get_num_threads(), usable_cores()
    busy = "; other programs use the CPU, which slows training down" if others_are_running() else ""
    wrong = f"{threads} threads for {cores} cores slow training down. Run: export OMP_NUM_THREADS={cores}"
    return CheckResult(f"{threads} for {cores} cores{busy}", wrong if threads > cores else None)


def check_disk(folder: Path, fix: str) -> CheckResult:
    """Checks that a folder is writable and has free disk space. `fix` is the advice for too little space."""
    files.check_writable(folder / "doctor")
    absolute = folder.absolute()
    free = shutil.disk_usage(next(place for place in (absolute, *absolute.parents) if place.exists())).free
    wrong = f"Only {size_text(free)} are free. {fix}" if free < _LITTLE_SPACE else None
    return CheckResult(f"{size_text(free)} free in {absolute}", wrong)


def check_memory() -> CheckResult:
    """Checks the free memory. Too little memory to train a small fleet is reported as a problem."""
    import torch

    from unbraid._internal.memory import free_memory

    free = free_memory(torch.device("cpu"))
    wrong = f"Only {size_text(free)} are free. Close other programs, or raise the memory limit of the container."
    return CheckResult(f"{size_text(free)} free", wrong if free < _LITTLE_SPACE else None)


def make_test_run(folder: Path, device: str) -> CheckResult:
    """Trains, loads, scores and shows a small model in a temporary folder inside the folder of runs."""
    from unbraid.datasets import DSprites
    from unbraid.models import MLP, Autoencoder
    from unbraid.models.distributions import GaussianLatents
    from unbraid.show.report import write_report
    from unbraid.training import train
    from unbraid.training.runs import Run, RunSpec

    began = time.monotonic()
    images = DSprites(resolution=8, shapes=("heart", "square"), num_scales=2, num_orientations=2, num_positions=4)
    model = Autoencoder(MLP((8,), (8,)), latents=GaussianLatents(2))
    spec = RunSpec(dataset=images, model=model, num_steps=5, batch_size=8)
    existing = next(each for each in (folder, *folder.parents) if each.exists())  # no new folder is left behind
    with tempfile.TemporaryDirectory(prefix="unbraid-doctor-", dir=existing) as place:
        [run] = train([spec], [0], folder=Path(place), device=device, progress=False)
        Run.open(run.folder).score("mig", device=device, progress=False)
        write_report([run], Path(place) / "report.html")
    return CheckResult(f"trained, read back, scored and shown in {time.monotonic() - began:.1f} s")
