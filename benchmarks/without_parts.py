"""What two parts that were written by hand are worth to a whole fleet: its step with them, and without.

    python -m benchmarks.without_parts --out benchmarks/results/without_parts_h200
    python -m benchmarks.without_parts --small      two models of small nets, to see that it runs

- The kernels (`information/gaussian_mixture_kernels.py`) sum the densities of all pairs of codes and posteriors as they
  are computed. Without them the table of all pairs is written out and compiled by inductor.
- The matrices (`models/layers/matrix_products.py`) are convolutions as batched products. Without them `vmap` makes
  one convolution of many groups of all members' convolutions.

Fleets are those of `fleet_speed`, in bf16. Each is compiled in a process of its own, all at once; when all
are done, they are timed one after the other. Both parts run on a GPU only.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from torch import Tensor

from benchmarks.evidence import flags, one_at_a_time
from benchmarks.fleet_speed import Length, every_row, milliseconds_per_step
from benchmarks.sheet import Sheet, circumstances_of
from unbraid.information.aggregate import log_aggregate
from unbraid.models.distributions import DiagonalGaussian
from unbraid.models.layers import matrix_products
from unbraid.objectives import decomposed_elbo
from unbraid.training import Fleet, Member

COLUMNS = (
    "fleet",
    "part",
    "with it, ms per model and step",
    "without, ms",
    "times faster",
    "compiling, s",
    "without, s",
)
PARTS = {
    "kernels": ("beta-TCVAE, C-mlp", "beta-TCVAE, D-dSprites"),
    "matrices": ("beta-TCVAE, D-dSprites", "FactorVAE"),
}
"""Of each part, the rows of `fleet_speed` that use it, by the start of their names."""


def table_of_pairs(z: Tensor, loc: Tensor, log_var: Tensor, log_weights: Tensor) -> tuple[Tensor, Tensor]:
    """Stands in for `gaussian_log_aggregate`."""
    pairs = DiagonalGaussian(loc, log_var).pairwise_log_prob(z)
    everything = [range(pairs.shape[2])]
    return log_aggregate(pairs, log_weights, everything)[:, 0], log_aggregate(pairs, log_weights)


def leave_out(part: str) -> None:
    """Replaces the part in this process by what torch has."""
    if part == "kernels":
        decomposed_elbo.gaussian_log_aggregate = table_of_pairs
    if part == "matrices":
        matrix_products.are_used_for = lambda x: False


def wait_for_all(folder: Path) -> None:
    """Returns when as many processes have compiled as the folder's file `count` says: compiling keeps the GPU busy."""
    (folder / f"ready-{os.getpid()}").touch()
    while len(list(folder.glob("ready-*"))) < int((folder / "count").read_text()):
        time.sleep(0.2)


def measured_here(
    row_index: int, without: str, device: str, *, small: bool, folder: str | None = None
) -> dict[str, float]:
    """What one process does and prints."""
    leave_out(without)
    row = every_row(small=small)[row_index]
    spec = row.spec if small else replace(row.spec, precision="bf16")
    fleet = Fleet([Member(spec, seed) for seed in range(row.num_members)], spec.training_data.load(device))
    compile_seconds = fleet.prepare()
    if folder is not None:
        wait_for_all(Path(folder))
    with one_at_a_time():
        step = milliseconds_per_step(lambda: fleet.advance(log=False), device, Length(1, 1, 1) if small else Length())
    return {"milliseconds": step / row.num_members, "compile_seconds": compile_seconds}


def started(row_index: int, without: str, options: Sequence[str]) -> subprocess.Popen[str]:
    command = [
        sys.executable,
        "-m",
        "benchmarks.without_parts",
        "--row",
        str(row_index),
        "--without",
        without,
        *options,
    ]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def result(process: subprocess.Popen[str]) -> dict[str, float]:
    printed, _ = process.communicate()
    if process.returncode:
        raise SystemExit(f"A process ended with {process.returncode}.")
    return json.loads(printed.splitlines()[-1])


def main(arguments: Sequence[str] | None = None) -> None:
    parser = flags(__doc__)
    parser.add_argument("--row", type=int, help="a fleet to measure in this process")
    parser.add_argument("--without", default="")
    parser.add_argument("--folder", help="where processes wait for each other before they are timed")
    given = parser.parse_args(arguments)
    if given.row is not None:
        print(json.dumps(measured_here(given.row, given.without, given.device, small=given.small, folder=given.folder)))
        return
    sheet = Sheet(
        "A fleet's step with and without parts written by hand",
        circumstances_of(__spec__.name, arguments, given.device, given.commit),
        given.out,
    )
    options = ["--device", given.device, *(["--small"] if given.small else [])]
    names = [row.name for row in every_row(small=given.small)]
    titles = {names.index(row.name): row.title for row in reversed(every_row(small=given.small))}  # the first of a name
    pairs = [(i, part) for part, rows in PARTS.items() for i, title in titles.items() if title.startswith(rows)]
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "count").write_text(str(len({index for index, _ in pairs}) + len(pairs)))
        options = [*options, "--folder", folder]
        whole = {index: started(index, "", options) for index, _ in pairs}
        lesser = [started(index, part, options) for index, part in pairs]
        found = {index: result(process) for index, process in whole.items()}
        without_it = [result(process) for process in lesser]
    sheet.begin_table(COLUMNS)
    for (index, part), without in zip(pairs, without_it, strict=True):
        with_it = found[index]
        sheet.add_row(
            titles[index],
            part,
            f"{with_it['milliseconds']:.4f}",
            f"{without['milliseconds']:.4f}",
            f"{without['milliseconds'] / with_it['milliseconds']:.2f}",
            f"{with_it['compile_seconds']:.0f}",
            f"{without['compile_seconds']:.0f}",
        )
    sheet.keep(measured={titles[index]: each for index, each in found.items()})


if __name__ == "__main__":
    main()
