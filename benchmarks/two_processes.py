"""Does the same command give the same model in another process, and how soon does a second process begin to train?

    python -m benchmarks.two_processes --out benchmarks/results/two_processes_h200
    python -m benchmarks.two_processes --small      one small fleet of few steps, to see that it runs

Each fleet is trained by processes of their own: one with an empty compile cache, one that finds that cache, and one
with another empty cache, with `deterministic` and without. Printed are the seconds from the fleet to its first step
and whether all weights end as the same bits. The processes that compile run side by side, so that their seconds are
those of a busy machine; those that find a cache run alone. Milliseconds are per model and step, one fleet at a time.
"""

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, final

from benchmarks.evidence import SMALL_SPRITES, flags, now, one_at_a_time
from benchmarks.sheet import Sheet, circumstances_of
from unbraid import MLP, Autoencoder, BetaTCVAE, Conv, DSprites, RunSpec
from unbraid.objectives import FactorVAE
from unbraid.training import Fleet, Member
from unbraid.training.compilation import CompileCache, Inductor

COLUMNS = (
    "fleet",
    "deterministic",
    "first step, cache empty, s",
    "cache found, s",
    "same bits, cache found",
    "same bits, cache empty",
    "ms per model and step",
)


@final
@dataclass(frozen=True)
class Kind:
    """A fleet that is trained in each process."""

    net: str
    objective: str
    precision: str
    num_members: int
    batch_size: int

    @property
    def title(self) -> str:
        return f"{self.objective}, {self.net}, {self.precision}, batch {self.batch_size}, {self.num_members} models"

    def spec(self, num_steps: int, *, small: bool) -> RunSpec:
        net = {"MLP": MLP(hidden=(8,)) if small else MLP(), "Conv": Conv()}[self.net]
        objective = {"beta-TCVAE": BetaTCVAE(beta=6.0), "FactorVAE": FactorVAE(gamma=35.0)}[self.objective]
        dataset = SMALL_SPRITES if small else DSprites()
        model, batch_size = Autoencoder(net), 8 if small else self.batch_size
        return RunSpec(dataset, model, objective, num_steps=num_steps, batch_size=batch_size, precision=self.precision)


KINDS = (
    Kind("MLP", "beta-TCVAE", "float32", 4, 2048),
    Kind("MLP", "beta-TCVAE", "bf16", 16, 2048),
    Kind("Conv", "beta-TCVAE", "bf16", 64, 64),
    Kind("Conv", "FactorVAE", "bf16", 64, 64),
)
MLPS = [kind for kind in KINDS if kind.net == "MLP"]
"""Where `deterministic` costs most."""


def train_here(kind: Kind, *, deterministic: bool, num_steps: int, device: str, small: bool) -> dict[str, Any]:
    """What one process does and prints."""
    spec = kind.spec(4 * num_steps, small=small)
    images = spec.training_data.load(device)
    members = [Member(spec, seed) for seed in range(2 if small else kind.num_members)]
    fleet = Fleet(members, images, cache=CompileCache(Inductor(deterministic)))
    began = now(device)
    fleet.prepare()
    fleet.advance(log=False)
    seconds = now(device) - began
    for _ in range(num_steps - 1):
        fleet.advance(log=False)
    digest = hashlib.sha256(fleet.weights.cpu().numpy().tobytes()).hexdigest()
    with one_at_a_time():
        began = now(device)
        for _ in range(num_steps):
            fleet.advance(log=False)
        milliseconds = 1000 * (now(device) - began) / num_steps / len(members)
    return {"seconds": seconds, "weights": digest, "milliseconds": milliseconds}


@final
class Process:
    """A process that trains one fleet, with the compile cache in this folder."""

    def __init__(self, kind: Kind, cache: Path, options: Sequence[str]) -> None:
        caches = {"TORCHINDUCTOR_CACHE_DIR": str(cache), "TRITON_CACHE_DIR": str(cache / "triton")}
        command = [sys.executable, "-m", "benchmarks.two_processes", "--child", json.dumps(asdict(kind)), *options]
        self._process = subprocess.Popen(command, env=os.environ | caches, stdout=subprocess.PIPE, text=True)

    def result(self) -> dict[str, Any]:
        printed, _ = self._process.communicate()
        if self._process.returncode:
            raise SystemExit(f"A process ended with {self._process.returncode}.")
        return json.loads(printed.splitlines()[-1])


def started(kind: Kind, deterministic: bool, cache: Path, options: Sequence[str]) -> Process:
    """A process under way."""
    name = hashlib.sha256(f"{kind}{deterministic}".encode()).hexdigest()[:8]
    return Process(kind, cache / name, [*options, *(["--deterministic"] if deterministic else [])])


def main(arguments: Sequence[str] | None = None) -> None:
    parser = flags(__doc__)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--child", help="a fleet as JSON, to train here")
    parser.add_argument("--deterministic", action="store_true")
    given = parser.parse_args(arguments)
    num_steps = 2 if given.small else given.steps
    if given.child:
        kind = Kind(**json.loads(given.child))
        options = {"num_steps": num_steps, "device": given.device, "small": given.small}
        print(json.dumps(train_here(kind, deterministic=given.deterministic, **options)))
        return
    circumstances = circumstances_of(__spec__.name, arguments, given.device, given.commit)
    sheet = Sheet("The same fleet in two processes", circumstances, given.out)
    sheet.begin_table(COLUMNS)
    options = ["--device", given.device, "--steps", str(num_steps), *(["--small"] if given.small else [])]
    ways = (
        [(KINDS[0], False)] if given.small else [*((kind, False) for kind in KINDS), *((kind, True) for kind in MLPS)]
    )
    with tempfile.TemporaryDirectory() as folder:
        rows = measured(ways, Path(folder), options)
        for row in rows:
            sheet.add_row(*row)
        sheet.keep(rows=[dict(zip(COLUMNS, row, strict=True)) for row in rows])


def measured(ways: Sequence[tuple[Kind, bool]], folder: Path, options: Sequence[str]) -> list[tuple[object, ...]]:
    under_way = [[started(*way, folder / cache, options) for cache in ("first", "other")] for way in ways]
    empty = [[process.result() for process in processes] for processes in under_way]
    found = [started(*way, folder / "first", options).result() for way in ways]
    return [
        (
            kind.title,
            "yes" if deterministic else "no",
            f"{max(first['seconds'], other['seconds']):.0f}",
            f"{again['seconds']:.1f}",
            "yes" if first["weights"] == again["weights"] else "NO",
            "yes" if first["weights"] == other["weights"] else "NO",
            f"{again['milliseconds']:.4f}",
        )
        for (kind, deterministic), (first, other), again in zip(ways, empty, found, strict=True)
    ]


if __name__ == "__main__":
    main()
