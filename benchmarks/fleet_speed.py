"""How long a training step takes in a fleet, per model, against a textbook loop of the same model in the same process.

    python -m benchmarks.fleet_speed                                      the table in bf16, on the GPU if there is one
    python -m benchmarks.fleet_speed --precisions bf16 tf32 float32       at all precisions: compiling takes longest
    python -m benchmarks.fleet_speed --rows beta-TCVAE --members 16 64    rows by the start of their names, these sizes
    python -m benchmarks.fleet_speed --rows net                           every net of the library, at its paper's batch
    python -m benchmarks.fleet_speed --small                              small settings, to see that it runs

The fleet's step is compiled first, which is timed; then it runs some steps to warm up; then some more in several turns,
of which the median counts. The loop (`benchmarks.textbook`) is plain PyTorch with nothing changed: float32, and
whatever TF32 torch allows by itself. Memory is the most that was allocated on the GPU, images included. The limits are
milliseconds per model and step on one H200; of every net, the loop is asked to take at least 30 times as long.
"TFLOP/s" is how many operations of products and convolutions, counted in the loop, the fleet does in a second: it tells
where the GPU is full.
"""

import functools
import gc
import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import final

import numpy as np
import torch
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.evidence import SMALL_SPRITES, flags, now
from benchmarks.sheet import Sheet, circumstances_of
from benchmarks.textbook import textbook_step
from unbraid import MLP, VAE, Autoencoder, BetaTCVAE, Conv, DSprites, FromArrays, RunSpec
from unbraid._internal.precision import Precision
from unbraid.datasets.dataset import FactorDataset, FactorImages
from unbraid.models import (
    Architecture,
    ChenConv,
    DisentanglementLibConv,
    DoTranCelebA,
    EsmaeiliCelebA,
    EsmaeiliDSprites,
    EsmaeiliMNIST,
    InfoGANConv,
    SharingConv,
    SpatialBroadcast,
    SplitConv,
)
from unbraid.objectives import FactorVAE
from unbraid.training import Fleet, Member

PRECISIONS: tuple[Precision, ...] = ("bf16", "tf32", "float32")
COLUMNS = (
    "fleet",
    "precision",
    "ms per model and step",
    "loop, ms",
    "ratio",
    "TFLOP/s",
    "compiling, s",
    "GPU memory, GB",
    "required",
    "wish",
)
LEAST_RATIO = 30


@final
@dataclass(frozen=True)
class Row:
    """One fleet, and what is asked of it: milliseconds per model and step, or without them a ratio to the loop."""

    name: str
    spec: RunSpec
    num_members: int
    required: float | None = None
    wish: float | None = None

    @property
    def title(self) -> str:
        return f"{self.name}, batch {self.spec.batch_size}, {self.num_members} models"


@final
@dataclass(frozen=True)
class Length:
    """How many steps are taken, and how often."""

    num_warm_up_steps: int = 20
    num_steps: int = 50
    num_turns: int = 5


@final
@dataclass(frozen=True)
class Measured:
    """Milliseconds per model and step, 10^9 operations in these; seconds; gigabytes, 0 on a CPU."""

    row: str
    precision: str
    fleet_ms: float
    loop_ms: float
    gigaflops: float
    compile_seconds: float
    gigabytes: float


def every_row(*, small: bool = False) -> list[Row]:
    """The fleets of the table, or small ones of the same kinds."""
    sprites: FactorDataset = SMALL_SPRITES if small else DSprites()
    tcvae, factor_vae = BetaTCVAE(beta=6.0), FactorVAE(gamma=35.0)
    net, conv, digits = Autoencoder(MLP()), Autoencoder(Conv()), Autoencoder(EsmaeiliMNIST())

    def spec(
        dataset: FactorDataset, model: Autoencoder, objective: BetaTCVAE | FactorVAE | VAE, batch_size: int
    ) -> RunSpec:
        return RunSpec(dataset, model, objective, num_steps=10**6, batch_size=batch_size)

    rows = [
        Row("beta-TCVAE, C-mlp", spec(sprites, net, tcvae, 32 if small else 2048), 16, 0.85, 0.5),
        Row("beta-TCVAE, C-mlp", spec(sprites, net, tcvae, 32 if small else 2048), 20, 0.85, 0.5),
        Row("beta-TCVAE, D-dSprites", spec(sprites, conv, tcvae, 64), 64, 0.15, 0.08),
        Row("FactorVAE, D-dSprites with critic", spec(sprites, conv, factor_vae, 64), 64, 0.30, 0.15),
        Row(
            "VAE, E-mnist",
            spec(random_digits(1000 if small else 60_000), digits, VAE(), 32 if small else 512),
            64,
            0.05,
            0.03,
        ),
    ]
    rows += rows_of_nets(small=small)
    return [replace(row, num_members=2, spec=replace(row.spec, batch_size=32)) for row in rows] if small else rows


def rows_of_nets(*, small: bool) -> list[Row]:
    """Every net of the library, as large as it comes, with the batch and the images of its paper."""
    gray, color = (
        random_images(100 if small else 4096, *shape)
        for shape in (((32, 32), (32, 32, 3)) if small else ((64, 64), (64, 64, 3)))
    )
    digits = random_digits(1000 if small else 60_000)
    nets: list[tuple[Architecture, FactorDataset, int, int]] = [
        (MLP(), gray, 2048, 16),
        (Conv(), gray, 64, 64),
        (ChenConv(), gray, 2048, 16),
        (DisentanglementLibConv(), gray, 64, 64),
        (DoTranCelebA(), color, 64, 64),
        (EsmaeiliMNIST(), digits, 512, 64),
        (EsmaeiliDSprites(), gray, 1024, 16),
        (EsmaeiliCelebA(), color, 512, 16),
        (InfoGANConv(), digits, 128, 16),
        (SplitConv(), gray, 64, 32),
        (SharingConv(), gray, 64, 64),
        (SpatialBroadcast(), color, 16, 16),
    ]
    return [
        Row(
            f"net {type(net).__name__}, beta-TCVAE",
            RunSpec(
                images,
                Autoencoder(net),
                BetaTCVAE(beta=6.0),
                num_steps=10**6,
                batch_size=32 if small else batch_size,
            ),
            num_members,
        )
        for net, images, batch_size, num_members in nets
    ]


def random_digits(count: int) -> FactorDataset:
    """Bytes in the shape of MNIST: how long a step takes does not depend on what they show."""
    return random_images(count, 28, 28)


@functools.cache
def random_images(count: int, *shape: int) -> FactorDataset:
    """Bytes in the shape of images."""
    return FromArrays.from_arrays(np.random.default_rng(0).integers(0, 256, (count, *shape), dtype=np.uint8))


@final
@dataclass(frozen=True)
class Loop:
    """What a step of one model takes in the textbook loop: milliseconds, and 10^9 operations."""

    milliseconds: float
    gigaflops: float


def measure_loop(row: Row, images: FactorImages, length: Length) -> Loop:
    step = textbook_step(row.spec, images)
    with FlopCounterMode(display=False) as counter:
        step()
    return Loop(milliseconds_per_step(step, str(images.device), length), counter.get_total_flops() / 1e9)


def measure(row: Row, precision: Precision, images: FactorImages, length: Length, loop: Loop) -> Measured:
    device = str(images.device)
    if images.device.type == "cuda":
        gc.collect()  # the fleet before this one
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    spec = replace(row.spec, precision=precision)
    fleet = Fleet([Member(spec, seed) for seed in range(row.num_members)], images)
    compile_seconds = fleet.prepare()
    milliseconds = milliseconds_per_step(lambda: fleet.advance(log=False), device, length) / row.num_members
    gigabytes = torch.cuda.max_memory_allocated() / 1e9 if images.device.type == "cuda" else 0.0
    return Measured(row.title, precision, milliseconds, loop.milliseconds, loop.gigaflops, compile_seconds, gigabytes)


def line(row: Row, found: Measured) -> list[str]:
    return [
        found.row,
        found.precision,
        f"{found.fleet_ms:.3f}",
        f"{found.loop_ms:.2f}",
        f"{found.loop_ms / found.fleet_ms:.0f}",
        f"{found.gigaflops / found.fleet_ms:.0f}",
        f"{found.compile_seconds:.0f}",
        f"{found.gigabytes:.1f}",
        *_limits(row, found),
    ]


def _limits(row: Row, found: Measured) -> list[str]:
    """Says of each limit whether it is met."""

    def said(limit: str, *, met: bool) -> str:
        return f"{limit}, {'met' if met else 'NOT met'}"

    if row.required is None or row.wish is None:
        return [said(f"ratio {LEAST_RATIO}", met=found.loop_ms >= LEAST_RATIO * found.fleet_ms), ""]
    return [said(f"{limit:g}", met=found.fleet_ms <= limit) for limit in (row.required, row.wish)]


def milliseconds_per_step(step: Callable[[], object], device: str, length: Length) -> float:
    """A step, the median over turns."""

    def turn(num_steps: int) -> float:
        began = now(device)
        for _ in range(num_steps):
            step()
        return now(device) - began

    turn(length.num_warm_up_steps)
    return 1000 * statistics.median(turn(length.num_steps) for _ in range(length.num_turns)) / length.num_steps


def main(arguments: Sequence[str] | None = None) -> None:
    parser = flags(__doc__)
    parser.add_argument("--rows", nargs="+", default=[""], help="those whose names begin so")
    parser.add_argument("--members", nargs="+", type=int, default=[], help="of those, the fleets of these sizes")
    parser.add_argument("--precisions", nargs="+", choices=PRECISIONS, default=PRECISIONS[:1])
    given = parser.parse_args(arguments)
    length = Length(1, 1, 1) if given.small else Length()
    rows = [
        row
        for row in every_row(small=given.small)
        if row.title.startswith(tuple(given.rows)) and row.num_members in (given.members or [row.num_members])
    ]
    sheet = Sheet(
        "A training step in a fleet", circumstances_of(__spec__.name, arguments, given.device, given.commit), given.out
    )
    images = {row.spec.dataset: row.spec.training_data.load(given.device) for row in rows}
    loops = {row.title: measure_loop(row, images[row.spec.dataset], length) for row in rows}
    found: list[Measured] = []
    sheet.begin_table(COLUMNS)
    for precision in given.precisions:
        for row in rows:
            found.append(measure(row, precision, images[row.spec.dataset], length, loops[row.title]))
            sheet.add_row(*line(row, found[-1]))
            sheet.keep(measured=[asdict(each) for each in found])


if __name__ == "__main__":
    main()
