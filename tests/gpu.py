"""Runs the tests of what a GPU computes with the packages that this interpreter has: `make test-gpu PYTHON=...`.

Nothing is installed. What is missing is named: without a required package nothing runs, without another one what it
checks is left out.
"""

import importlib.util
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
REQUIRED = (
    *("torch", "numpy", "scipy", "sklearn", "jaxtyping", "einops", "safetensors", "h5py", "PIL"),
    *("rich", "typer", "jinja2", "pytest", "hypothesis"),
)
OPTIONAL = {
    "beartype": "the shapes in the signatures are not checked",
    "xdist": "tests run one after the other",
    "triton": "fleets cannot be compiled",
}
TESTS = (
    *("tests/training", "tests/information", "tests/objectives", "tests/models", "tests/models/distributions"),
    *("tests/functional", "tests/metrics/test_on_the_gpu.py", "tests/diagnose/test_on_the_gpu.py"),
    "tests/datasets/test_pixels.py",
)


def missing(names):
    return [name for name in names if importlib.util.find_spec(name) is None]


def command_line(absent, arguments):
    """What pytest is called with: the settings of the project, less those whose package is absent."""
    options = ["-o", "addopts=", "--import-mode=importlib", "--strict-markers"]
    options += ["-p", "no:benchmark", "-ra", "-q"]  # which warns of xdist, and a warning is an error
    options += [] if "beartype" in absent else ["--jaxtyping-packages=unbraid,beartype.beartype"]
    options += (
        [] if "xdist" in absent else ["--numprocesses", "8", "--dist", "loadfile"]
    )  # tests of a file share compiled steps
    return [*options, *(arguments or TESTS)]


def main(arguments):
    if absent := missing(REQUIRED):
        return f"test-gpu: {sys.executable} lacks {', '.join(absent)}. Install them there, or name another PYTHON."
    import torch

    if not torch.cuda.is_available():
        return f"test-gpu: torch {torch.__version__} of {sys.executable} sees no CUDA device, so nothing was tested."
    absent = missing(OPTIONAL)
    for name in absent:
        print(f"test-gpu: {name} is missing: {OPTIONAL[name]}.", flush=True)
    import pytest

    return int(pytest.main(command_line(absent, arguments)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
