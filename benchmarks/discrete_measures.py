"""What the measure of a discrete latent does to what is learned: HFVAE on MNIST with each measure, with relaxed and
with hard decoding, with constant and with falling alpha.

    python -m benchmarks.discrete_measures --device cuda      8 seeds of 12 settings: minutes on an H200
    python -m benchmarks.discrete_measures --smoke            2 seeds of small models on sprites, to see that it runs

The nets are those of Esmaeili et al., with 10 Gaussian latents and one of 10 categories. "Constant" is alpha 1, beta 4,
gamma 3; "falling" is alpha from 10 to 1 with beta 10 and gamma 3, as in the table of categories of `it_learns`. All
seeds of a measure and a decoding, with constant and with falling alpha, are one fleet; the six fleets are trained in
processes side by side, because each has a step of its own to compile. The ELBO is over all images that were trained on,
with hard categories whatever the model was trained with, and so it is a bound. MNIST is read from the folder
`UNBRAID_DATA`, or from `--data`.
"""

import itertools
import os
import statistics
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Literal, final, get_args

import torch
from jaxtyping import Float
from torch import Tensor

from benchmarks.evidence import SMALL_SPRITES, flags
from benchmarks.learning_scores import label_accuracy
from benchmarks.sheet import Sheet, circumstances_of, table
from unbraid.config.schedule import Cosine
from unbraid.datasets import MNIST
from unbraid.models import Autoencoder, EsmaeiliMNIST
from unbraid.models.distributions import ConcreteLatents, GaussianLatents, GroupedLatents
from unbraid.models.distributions.posteriors.concrete import Measure
from unbraid.models.trained.elbo import hard_elbo
from unbraid.objectives import HFVAE
from unbraid.training import TrainingOptions, train
from unbraid.training.runs.run import Run
from unbraid.training.runs.spec import RunSpec

Alpha = Literal["constant", "falling"]
OUT = Path(__file__).parent / "results" / "discrete_measures"
COLUMNS = ("measure", "decoder sees", "alpha", "accuracy", "best", "I(x; c), nats", "ELBO, nats", "best", "seeds")


@final
@dataclass(frozen=True)
class Setting:
    """One of the twelve."""

    measure: Measure
    hard: bool
    alpha: Alpha

    def spec(self, num_steps: int, *, small: bool = False) -> RunSpec:
        categories = ConcreteLatents(10, measure=self.measure, hard=self.hard)
        latents = GroupedLatents((GaussianLatents(10), categories))
        nets = EsmaeiliMNIST((16,), 8, (8, 16)) if small else EsmaeiliMNIST()
        is_falling = self.alpha == "falling"
        return RunSpec(
            SMALL_SPRITES if small else MNIST(),
            Autoencoder(nets, latents=latents),
            HFVAE(alpha=Cosine(10.0, 1.0, finish=0.7), beta=10.0, gamma=3.0)
            if is_falling
            else HFVAE(alpha=1.0, beta=4.0, gamma=3.0),
            num_steps=num_steps,
            batch_size=32 if small else 512,
        )


@final
@dataclass(frozen=True)
class Outcome:
    """What the seeds of a setting ended with, in their order."""

    setting: Setting
    accuracy: tuple[float, ...]
    information: tuple[float, ...]
    elbo: tuple[float, ...]

    def row(self) -> tuple[str, ...]:
        return (
            self.setting.measure,
            "the category" if self.setting.hard else "its relaxation",
            self.setting.alpha,
            _spread(self.accuracy, 3),
            f"{max(self.accuracy):.3f}",
            _spread(self.information, 2),
            _spread(self.elbo, 1),
            f"{max(self.elbo):.1f}",
            str(len(self.elbo)),
        )


def settings() -> list[Setting]:
    every = itertools.product(get_args(Measure), (False, True), get_args(Alpha))
    return [Setting(measure, hard, alpha) for measure, hard, alpha in every]


def train_fleet(specs: Sequence[RunSpec], num_seeds: int, folder: Path, device: str) -> float:
    """Train specs that share a fleet, in a process of their own. Returns the seconds that it took."""
    began = time.perf_counter()
    train(
        specs,
        range(num_seeds),
        folder=folder,
        device=device,
        resume=True,
        options=TrainingOptions(checkpoint_every=10**9),
    )
    return time.perf_counter() - began


def train_all(
    specs: dict[Setting, RunSpec], num_seeds: int, folder: Path, device: str, num_processes: int | None
) -> list[float]:
    """Train every setting, several fleets at a time. Returns the seconds that each fleet took."""
    fleets: dict[tuple[Measure, bool], list[RunSpec]] = {}
    for setting, spec in specs.items():
        fleets.setdefault((setting.measure, setting.hard), []).append(spec)
    num_processes = num_processes or (1 if device == "cpu" else len(fleets))
    if num_processes == 1:
        return [train_fleet(fleet, num_seeds, folder, device) for fleet in fleets.values()]
    with ProcessPoolExecutor(num_processes, get_context("spawn")) as pool:
        begun = [pool.submit(train_fleet, fleet, num_seeds, folder, device) for fleet in fleets.values()]
        return [each.result() for each in begun]


def outcome(setting: Setting, runs: Sequence[Run], device: str) -> Outcome:
    images = runs[0].spec.dataset.load(device)
    accuracy, information, elbo = [], [], []
    for run in runs:
        if run.status == "failed":
            continue
        (probabilities,) = run.codes().to(device).probabilities
        accuracy.append(label_accuracy(probabilities.argmax(dim=1), images.values[:, 0]))
        information.append(category_information(probabilities))
        elbo.append(hard_elbo(run.model().to(device), images, max_images=len(images)).value)
    return Outcome(setting, tuple(accuracy), tuple(information), tuple(elbo))


def category_information(probabilities: Float[Tensor, "image category"]) -> float:
    """I(x; c) = H(c) - H(c | x) over all images, in nats."""
    each = probabilities.double()
    entropy = torch.special.entr(each.mean(dim=0)).sum()
    return float(entropy - torch.special.entr(each).sum(dim=1).mean())


def _spread(values: Sequence[float], digits: int) -> str:
    deviation = f" ± {statistics.stdev(values):.{digits}f}" if len(values) > 1 else ""
    return f"{statistics.mean(values):.{digits}f}{deviation}"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = flags(
        __doc__, out=f"write OUT.md and OUT.json (by default {OUT.name} among the results, with --smoke nothing)"
    )
    parser.add_argument("--data", type=Path, help="the folder that holds mnist/ (else UNBRAID_DATA)")
    parser.add_argument("--steps", type=int, help="of each run (10,000; with --smoke 3)")
    parser.add_argument("--seeds", type=int, help="of each setting (8; with --smoke 2)")
    parser.add_argument("--processes", type=int, help="fleets at a time (6 on a GPU, 1 on a CPU)")
    parser.add_argument("--folder", type=Path, help="keep the runs there, and go on with those that are there")
    given = parser.parse_args(arguments)
    if given.data is not None:
        os.environ["UNBRAID_DATA"] = str(given.data.resolve())
    num_steps, num_seeds = given.steps or (3 if given.small else 10_000), given.seeds or (2 if given.small else 8)
    circumstances = circumstances_of("benchmarks.discrete_measures", arguments, given.device, given.commit)
    title = f"Measures of a discrete latent: HFVAE, {num_steps:,} steps, {num_seeds} seeds"
    sheet = Sheet(title, circumstances, given.out or (None if given.small else OUT))
    specs = {setting: setting.spec(num_steps, small=given.small) for setting in settings()}
    began = time.perf_counter()
    next(iter(specs.values())).dataset.load()  # converted once, and not by every process
    with tempfile.TemporaryDirectory() as scratch:
        folder = given.folder or Path(scratch)
        seconds = train_all(specs, num_seeds, folder, given.device, given.processes)
        trained = time.perf_counter() - began
        outcomes = [
            outcome(setting, [Run.place(folder, spec, seed) for seed in range(num_seeds)], given.device)
            for setting, spec in specs.items()
        ]
    sheet.add(table(COLUMNS, [each.row() for each in outcomes]))
    sheet.add(
        f"{trained:.0f} s to train, {time.perf_counter() - began:.0f} s in all; fleets took "
        f"{', '.join(f'{each:.0f}' for each in seconds)} s side by side. Means ± the standard deviation between seeds."
    )
    sheet.keep(outcomes=[asdict(each) for each in outcomes], seconds=seconds)


if __name__ == "__main__":
    main()
