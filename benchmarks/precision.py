"""Does it matter what the nets multiply in? The same seeds at each precision: the ELBO and the MIG that they end with.

    python -m benchmarks.precision --out benchmarks/results/precision_h200
    python -m benchmarks.precision --nets D-dSprites --steps 5000          one of the nets, for fewer steps
    python -m benchmarks.precision --small                                 a few small models, to see that it runs

beta-TCVAE (beta 6) on dSprites, a fleet of 8 seeds at a time. A seed has the same initial weights, batches and noise at
every precision, so precisions are compared seed by seed: the mean difference from float32, its standard error over
seeds, and a Wilcoxon signed-rank test. Beside it stands the spread between seeds, which is what one lives with anyway.
The ELBO is the mean over the last tenth of training, in nats per image.
"""

import statistics
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import final

from scipy.stats import wilcoxon

from benchmarks.evidence import SMALL_SPRITES, flags
from benchmarks.sheet import Sheet, circumstances_of, table
from unbraid import MLP, Autoencoder, BetaTCVAE, Conv, DSprites, RunSpec
from unbraid._internal.precision import Precision
from unbraid.metrics import MIG
from unbraid.training import train

PRECISIONS: tuple[Precision, ...] = ("float32", "tf32", "bf16")
COLUMNS = ("net", "precision", "ELBO, median", "range", "MIG, median", "range", "seconds")


@final
@dataclass(frozen=True)
class Outcome:
    """What the seeds of one net and precision ended with, in their order. `seconds` is all of it but the scoring."""

    net: str
    precision: str
    elbo: tuple[float, ...]
    mig: tuple[float, ...]
    seconds: float


def specs(num_steps: int, num_epochs: int, *, small: bool = False) -> dict[str, RunSpec]:
    """By the name of the net."""
    dataset = SMALL_SPRITES if small else DSprites()
    batch_size = 32 if small else 2048
    conv = Conv(channels=(4, 4), hidden=8) if small else Conv()
    mlp = MLP((16,), (16,)) if small else MLP()
    return {
        "D-dSprites": RunSpec(dataset, Autoencoder(conv), BetaTCVAE(beta=6.0), num_steps=num_steps, batch_size=64),
        "C-mlp": RunSpec(
            dataset,
            Autoencoder(mlp),
            BetaTCVAE(beta=6.0),
            num_steps=num_epochs * (dataset.num_images // batch_size),
            batch_size=batch_size,
        ),
    }


def outcome(net: str, spec: RunSpec, seeds: Sequence[int], folder: Path, device: str) -> Outcome:
    began = time.perf_counter()
    runs = [run for run in train([spec], seeds, folder=folder, device=device, resume=True) if run.status == "finished"]
    seconds = time.perf_counter() - began
    elbo = [-run.history.at_the_end("distortion") - run.history.at_the_end("rate") for run in runs]
    mig = [run.score([MIG()], progress=False, device=device).scores[0].value for run in runs]
    return Outcome(net, spec.precision, tuple(elbo), tuple(mig), seconds)


def line(found: Outcome) -> tuple[str, ...]:
    return (
        found.net,
        found.precision,
        f"{statistics.median(found.elbo):.2f}",
        f"{min(found.elbo):.2f} to {max(found.elbo):.2f}",
        f"{statistics.median(found.mig):.3f}",
        f"{min(found.mig):.3f} to {max(found.mig):.3f}",
        f"{found.seconds:.0f}",
    )


def differences(outcomes: Sequence[Outcome]) -> str:
    """Every precision against float32, seed by seed."""
    exact = {found.net: found for found in outcomes if found.precision == "float32"}
    rows = []
    for found in outcomes:
        reference = exact.get(found.net)
        if reference is None or reference is found or len(reference.elbo) != len(found.elbo):
            continue
        for what, digits in (("elbo", 2), ("mig", 3)):
            rows.append(_difference(found, what.upper(), getattr(found, what), getattr(reference, what), digits))
    columns = (
        "net",
        "precision",
        "of",
        "mean difference from float32",
        "spread between seeds",
        "p of a difference",
        "verdict",
    )
    return table(columns, rows)


def _difference(
    found: Outcome, what: str, values: Sequence[float], reference: Sequence[float], digits: int
) -> tuple[str, ...]:
    pairs = [a - b for a, b in zip(values, reference, strict=True)]
    mean, error = (
        statistics.mean(pairs),
        statistics.stdev(pairs) / len(pairs) ** 0.5 if len(pairs) > 1 else float("nan"),
    )
    spread = statistics.stdev(reference) if len(reference) > 1 else float("nan")
    p = float(wilcoxon(pairs).pvalue) if any(pairs) else 1.0
    return (
        found.net,
        found.precision,
        what,
        f"{mean:+.{digits}f} ± {error:.{digits}f}",
        f"{spread:.{digits}f}",
        f"{p:.2f}",
        "beyond the spread" if abs(mean) > spread else "within the spread",
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = flags(__doc__)
    parser.add_argument("--nets", nargs="+", choices=("D-dSprites", "C-mlp"), default=["D-dSprites", "C-mlp"])
    parser.add_argument("--precisions", nargs="+", choices=PRECISIONS, default=PRECISIONS)
    parser.add_argument("--steps", type=int, default=20_000, help="of the D-dSprites net, with batches of 64")
    parser.add_argument("--epochs", type=int, default=10, help="of the C-mlp net, with batches of 2048")
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument(
        "--folder", type=Path, help="keep the runs there, and go on with those that are there (else they are not kept)"
    )
    given = parser.parse_args(arguments)
    title = "ELBO and MIG at each precision"
    sheet = Sheet(title, circumstances_of(__spec__.name, arguments, given.device, given.commit), given.out)
    nets: Mapping[str, RunSpec] = specs(given.steps, given.epochs, small=given.small)
    lengths = "; ".join(f"{net}: {nets[net].num_steps:,} steps of {nets[net].batch_size} images" for net in given.nets)
    sheet.add(f"beta-TCVAE, {given.seeds} seeds. {lengths}.")
    sheet.begin_table(COLUMNS)
    outcomes: list[Outcome] = []
    with tempfile.TemporaryDirectory() as scratch:
        for net in given.nets:
            for precision in given.precisions:
                spec = replace(nets[net], precision=precision)
                outcomes.append(outcome(net, spec, range(given.seeds), given.folder or Path(scratch), given.device))
                sheet.add_row(*line(outcomes[-1]))
                sheet.keep(outcomes=[asdict(each) for each in outcomes])
    sheet.add(differences(outcomes))


if __name__ == "__main__":
    main()
