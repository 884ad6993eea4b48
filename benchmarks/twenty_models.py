"""Twenty models of dSprites on one GPU: 4 VAEs, 8 beta-VAEs (beta 4) and 8 beta-TCVAEs (beta 6), 50 epochs each,
trained, encoded and scored.

    python -m benchmarks.twenty_models --folder runs --out benchmarks/results/twenty_models_h200
    python -m benchmarks.twenty_models --folder runs --out ...      again, after it was stopped: it goes on where it was
    python -m benchmarks.twenty_models --small                      a few small models, to see that it runs

The nets are Chen et al.'s (`MLP`, 10 latents, batch 2048, learning rate 0.001). All are one family, so they share one
fleet. The clock runs from the call of `train` to the last MIG; drawing the images, which is done once for all time,
comes before it. Each score is written as soon as it is known, with the verdict so far.
"""

import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import final, get_args

from benchmarks.evidence import SMALL_SPRITES, complain, flags, now
from benchmarks.sheet import Check, Sheet, checks_text, circumstances_of, table
from unbraid import MLP, VAE, Autoencoder, BetaTCVAE, BetaVAE, DSprites, RunSpec, figures
from unbraid._internal.precision import Precision
from unbraid._internal.progress import Event, listening
from unbraid.datasets.dataset import FactorImages
from unbraid.errors import TrainingError, TrainingInterrupted
from unbraid.metrics import MIG
from unbraid.models.trained.encode import encode_all
from unbraid.objectives import Objective
from unbraid.training import train_runs
from unbraid.training.optimizers import Adam
from unbraid.training.runs.run import Run

NUM_EPOCHS = 50
MOST_SECONDS, MOST_ENCODING_SECONDS, LEAST_BEST_MIG = 360, 2, 0.45
GROUPS: Mapping[str, tuple[Objective, int]] = {
    "VAE": (VAE(), 4),
    "β-VAE, β = 4": (BetaVAE(beta=4.0), 8),
    "β-TCVAE, β = 6": (BetaTCVAE(beta=6.0), 8),
}
"""By name: what is trained, and from how many seeds."""


@final
@dataclass
class Stages:
    """Seconds by what they were spent on."""

    device: str
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        began = now(self.device)
        try:
            yield
        finally:
            self.add(name, now(self.device) - began)

    def add(self, name: str, seconds: float) -> None:
        self.seconds[name] = self.seconds.get(name, 0.0) + seconds

    @property
    def total(self) -> float:
        return sum(self.seconds.values())


def specs(precision: Precision, *, small: bool = False, num_epochs: int = NUM_EPOCHS) -> dict[str, RunSpec]:
    """By the name of their group."""
    dataset = SMALL_SPRITES if small else DSprites()
    batch_size = 32 if small else 2048
    return {
        name: RunSpec(
            dataset,
            Autoencoder(MLP((16,), (16,)) if small else MLP()),
            objective,
            num_steps=num_epochs * (dataset.num_images // batch_size),
            batch_size=batch_size,
            optimizer=Adam(1e-3),
            precision=precision,
        )
        for name, (objective, _) in GROUPS.items()
    }


def trained(runs: Mapping[str, Sequence[Run]], stages: Stages) -> dict[str, list[Run]]:
    """Those of the runs that could be finished. All are trained in one call, so that they share a fleet."""
    watch = _Watch(stages)
    try:
        with listening(watch):
            train_runs([run for group in runs.values() for run in group], device=stages.device, resume=True)
    except (TrainingError, TrainingInterrupted) as error:  # stopped, or all have failed: what is finished is scored
        complain(str(error))
    watch.turn("")
    return {name: [run for run in group if run.status == "finished"] for name, group in runs.items()}


@final
class _Watch:
    """Writes down how long each stage of training takes, by what is told of it."""

    def __init__(self, stages: Stages) -> None:
        self._stages, self._stage, self._since = stages, "reading images, measuring memory", time.perf_counter()

    def __call__(self, event: Event) -> None:
        match event.about:
            case "compiling" if event.done == 0:
                self.turn("compiling")
            case "compiling" | "training":
                self.turn("training")
            case "encoding images":
                self.turn("encoding and writing the runs")

    def turn(self, stage: str) -> None:
        """The stage before ends, this one begins."""
        now_ = time.perf_counter()
        self._stages.add(self._stage, now_ - self._since)
        self._stage, self._since = stage, now_


def migs(runs: Mapping[str, Sequence[Run]], stages: Stages) -> Iterator[tuple[str, int, float]]:
    """The group, the seed and the MIG of each run, as soon as it is known."""
    for name, group in runs.items():
        for run in group:
            with stages.timed("MIG"):
                score = run.score([MIG()], progress=False, device=stages.device).scores[0]
            yield name, run.seed, score.value


def encoding_seconds(runs: Mapping[str, Sequence[Run]], images: FactorImages, precision: Precision) -> float:
    """Of all models together, once more and by itself."""
    models = [run.model().to(images.device) for group in runs.values() for run in group]
    began = now(str(images.device))
    encode_all(models, images, precision=precision)
    return now(str(images.device)) - began


def verdict(scores: Mapping[str, Mapping[int, float]], seconds: float | None, num_models: int) -> list[Check]:
    """What the twenty models were to show, and whether they did so far. `seconds` is None where it was not all done in
    one go.
    """
    medians = {name: statistics.median(of.values()) for name, of in scores.items() if of}
    best = max(scores["β-TCVAE, β = 6"].values(), default=0.0)
    found = sum(map(len, scores.values()))
    order = " < ".join(f"{name} ({median:.3f})" for name, median in medians.items())
    return [
        Check(found == num_models, f"{found} of {num_models} models were trained and scored."),
        Check(
            seconds is not None and seconds <= MOST_SECONDS,
            f"all of it took {_shown(seconds)}; at most {MOST_SECONDS} s were to be taken.",
        ),
        Check(
            best > LEAST_BEST_MIG, f"the best beta-TCVAE has a MIG of {best:.3f}; above {LEAST_BEST_MIG} was expected."
        ),
        Check(
            len(medians) == len(GROUPS) and list(medians.values()) == sorted(set(medians.values())),
            f"the medians of MIG are in the expected order: {order}.",
        ),
    ]


def score_table(scores: Mapping[str, Mapping[int, float]]) -> str:
    return table(
        ("model", "MIG over all factors, of each seed", "median", "best"),
        [
            (
                name,
                ", ".join(f"{value:.3f}" for value in of.values()),
                f"{statistics.median(of.values()):.3f}",
                f"{max(of.values()):.3f}",
            )
            for name, of in scores.items()
            if of
        ],
    )


def save_picture(
    path: Path, scores: Mapping[str, Mapping[int, float]], seconds: float | None, machine: str, num_images: int
) -> None:
    """Draws the MIG of each model over the box of its group."""
    groups = {name: list(of.values()) for name, of in scores.items() if of}
    axes = figures.box_plot(groups, label=f"mutual information gap (MIG) over all {num_images:,} images")
    figures.strip_plot(groups, axes=axes)
    axes.set_title(f"{sum(map(len, groups.values()))} models of dSprites in {_shown(seconds)} on one {machine}")
    figures.save(axes, path, overwrite=True)


def _shown(seconds: float | None) -> str:
    return "more than one go" if seconds is None else f"{seconds:.0f} s"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = flags(__doc__, out="write OUT.md, OUT.json and OUT.svg")
    parser.add_argument(
        "--folder", type=Path, help="keep the runs there, and go on with those that are there (else they are not kept)"
    )
    parser.add_argument("--precision", choices=get_args(Precision), default="bf16")
    parser.add_argument("--epochs", type=int, default=NUM_EPOCHS)
    given = parser.parse_args(arguments)
    of = specs(given.precision, small=given.small, num_epochs=given.epochs)
    num_seeds = {name: 2 if given.small else count for name, (_, count) in GROUPS.items()}
    circumstances = circumstances_of(__spec__.name, arguments, given.device, given.commit)
    sheet, stages = Sheet("Twenty models of dSprites", circumstances, given.out), Stages(given.device)
    spec = next(iter(of.values()))
    spec.training_data.open()  # drawn, if they never were, before the clock starts
    with tempfile.TemporaryDirectory() as scratch:
        placed = {
            name: [Run.place(given.folder or Path(scratch), each, seed) for seed in range(num_seeds[name])]
            for name, each in of.items()
        }
        is_new = all(run.status == "new" for group in placed.values() for run in group)
        runs = trained(placed, stages)
        scores: dict[str, dict[int, float]] = {name: {} for name in of}
        for name, seed, mig in migs(runs, stages):
            scores[name][seed] = mig
            sheet.keep(mig=scores, seconds=stages.seconds)
        alone = encoding_seconds(runs, spec.training_data.load(given.device), given.precision)
    sheet.add(f"{spec.num_steps:,} steps of {spec.batch_size} images each, precision {spec.precision}.")
    sheet.add(score_table(scores))
    sheet.add(
        table(
            ("stage", "seconds"),
            [*((name, f"{s:.1f}") for name, s in stages.seconds.items()), ("in all", f"{stages.total:.1f}")],
        )
    )
    seconds = stages.total if is_new else None
    found = [
        *verdict(scores, seconds, sum(num_seeds.values())),
        Check(
            alone <= MOST_ENCODING_SECONDS,
            f"all models encode all images in {alone:.2f} s; at most {MOST_ENCODING_SECONDS} s were to be taken.",
        ),
    ]
    sheet.add(checks_text(found))
    sheet.keep(encoding_alone=alone, claims={claim.sentence: claim.holds for claim in found})
    if given.out is not None and any(scores.values()):
        path = given.out.with_name(f"{given.out.name}.svg")
        save_picture(path, scores, seconds, circumstances.machine, spec.dataset.num_images)


if __name__ == "__main__":
    main()
