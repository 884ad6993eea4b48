"""Does it learn? Every objective on real data small enough for the CPU, with a table of what came out and a sentence
for each claim.

    python -m benchmarks.it_learns                         all of it: hours on two cores, minutes with --device cuda
    python -m benchmarks.it_learns --only sprites          one table
    python -m benchmarks.it_learns --scale 0.05 --seeds 2  to see that it runs

MNIST and Fashion-MNIST are read from the folder `UNBRAID_DATA`; sprites are drawn. All seeds of a setting, and
objectives that are kin, are trained side by side in one fleet. Numbers are means over seeds with the standard deviation
between seeds behind, in nats per image over all images, not over a batch.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import final

import torch

from benchmarks import learning_settings
from benchmarks.learning_scores import Learned, k_means_accuracy, learned, quantized_conditional_entropy
from benchmarks.learning_settings import Settings
from benchmarks.sheet import Check
from unbraid._internal.memory import keep_freed_memory
from unbraid.datasets import MNIST, FashionMNIST
from unbraid.datasets.dataset import FactorDataset, FactorImages
from unbraid.training import TrainingOptions, train
from unbraid.training.runs.run import Run
from unbraid.training.runs.spec import RunSpec

COLUMNS = {
    "ELBO": "elbo",
    "distortion": "distortion",
    "rate": "rate",
    "MI": "mutual_information",
    "TC": "total_correlation",
    "DWKL": "dimension_wise_kl",
    "MIG": "mig",
    "held-out ELBO": "held_out_elbo",
    "held-out bound, K = 64": "held_out_bound",
    "accuracy": "accuracy",
    "held-out accuracy": "held_out_accuracy",
}
DIGITS = {
    "elbo": 1,
    "distortion": 1,
    "rate": 1,
    "held_out_elbo": 1,
    "held_out_bound": 1,
    "mig": 3,
    "accuracy": 3,
    "held_out_accuracy": 3,
}


@final
@dataclass(frozen=True)
class Options:
    """How much of it, and where."""

    device: str
    scale: float
    seeds: int
    num_held_out: int
    num_samples: int
    folder: Path

    def steps(self, full: int) -> int:
        return max(2, round(self.scale * full))


Results = dict[str, list[Learned]]
"""By the name of a setting, one entry a seed."""


# ---- the parts


def sprites(options: Options) -> list[Check]:
    """Every objective on one heart; then codes with a discrete latent on three shapes."""
    steps = options.steps(1600)
    base = learning_settings.sprites(steps)
    runs = trained(learning_settings.every_objective(base, None), options)
    results = scored(runs, options, has_factors=True)
    show(f"Sprites: one heart, 6 sizes, 16 x 16 places, 32 pixels; {steps:,} steps of 32 images", results)
    entropy = max(
        quantized_conditional_entropy(run.codes())
        for name in runs
        if name.endswith("deterministic")
        for run in runs[name]
    )
    shapes = scored(
        trained(learning_settings.on_discrete_codes(replace(base, dataset=learning_settings.SHAPES), 3), options),
        options,
        has_factors=True,
    )
    show(
        "Sprites: three shapes, 6 sizes, 16 x 16 places, one discrete latent; accuracy is that of the shape; "
        f"{steps:,} steps",
        shapes,
    )
    return [
        *_lower_tc(results, "sprites"),
        Check(
            entropy == 0,
            f"the deterministic AAE has a quantized H(z|x) of {entropy:g} nats (the greatest of all latents, seeds "
            "and weights); expected 0.",
        ),
    ]


def encoders(options: Options) -> list[Check]:
    """What correlated noise, shared kernels and split branches do to MIG."""
    steps = options.steps(1600)
    results = scored(trained(learning_settings.encoders(steps), options), options, has_factors=True)
    show(f"Encoders on the same sprites; {steps:,} steps", results)
    return [
        _lower(
            f"{kind}: MIG of the {objective} falls",
            results,
            f"{objective}, {kind}",
            f"{objective}, baseline",
            "mig",
            "",
        )
        for kind in ("noise of rho 0.9", "sharing")
        for objective in learning_settings.WITH_ENCODERS
    ]


def digits(options: Options) -> list[Check]:
    """Every objective on MNIST, with bounds on images that were not trained on."""
    steps = options.steps(1500)
    fewer = replace(options, seeds=min(4, options.seeds))
    settings = learning_settings.every_objective(learning_settings.digits(steps), 10)
    results = scored(trained(settings, fewer), fewer, has_factors=False)
    show(f"MNIST; {steps:,} steps of 128 images", results)
    return _lower_tc(results, "MNIST")


def categories(options: Options) -> list[Check]:
    """Does HFVAE's discrete variable find the classes of MNIST and Fashion-MNIST?"""
    claims: list[Check] = []
    sets: dict[str, FactorDataset] = {"MNIST": MNIST(), "Fashion-MNIST": FashionMNIST()}
    for name, dataset in sets.items():
        spec = learning_settings.categories(dataset, options.steps(3000))
        results = scored(trained({"HFVAE": spec}, options), options, has_factors=False)
        best = max(results["HFVAE"], key=lambda each: each.elbo)
        show(
            f"{name}: {spec.objective}; {spec.num_steps:,} steps of {spec.batch_size} images",
            results | {"HFVAE, the seed of best ELBO": [best]},
        )
        k_means = k_means_accuracy(dataset.load(), 10)
        print(
            "\nAccuracies by ELBO, best first: "
            f"{', '.join(f'{each.accuracy:.3f}' for each in sorted(results['HFVAE'], key=lambda e: -e.elbo))}."
        )
        print(f"k-means on pixels: {k_means:.3f}. Chance: 0.1.", flush=True)
        claims.append(
            Check(
                best.accuracy > k_means > 0.1,
                f"{name}: HFVAE's discrete variable finds labels better than k-means on pixels: {best.accuracy:.3f} "
                f"(best of {options.seeds} seeds by ELBO) "
                f"against {k_means:.3f}; chance is 0.1.",
            )
        )
    return claims


PARTS: Mapping[str, Callable[[Options], list[Check]]] = {
    "sprites": sprites,
    "encoders": encoders,
    "digits": digits,
    "categories": categories,
}


# ---- work and show


def trained(settings: Settings, options: Options) -> dict[str, list[Run]]:
    """The runs of each setting, one a seed. A spec that has two names is trained once."""
    specs = list(dict.fromkeys(settings.values()))
    seeds = range(options.seeds)
    runs = train(
        specs,
        seeds,
        folder=options.folder,
        device=options.device,
        resume=True,
        options=TrainingOptions(checkpoint_every=10**9),
    )
    return {
        name: [run for run in runs if run.spec == spec and run.status == "finished"] for name, spec in settings.items()
    }


def scored(runs: Mapping[str, Sequence[Run]], options: Options, *, has_factors: bool) -> Results:
    """Everything that can be said of these runs."""
    results: Results = {}
    for name, of_setting in runs.items():
        spec = of_setting[0].spec
        images, held_out = spec.dataset.load(options.device), _held_out(spec, options)
        results[name] = [
            learned(
                run.model().to(options.device),
                run.codes().to(options.device),
                images,
                held_out,
                num_samples=options.num_samples,
                has_factors=has_factors,
            )
            for run in of_setting
        ]
    return results


def show(title: str, results: Results) -> None:
    """A table with a row for each setting. Columns in which nothing is defined are left out."""
    everyone = [each for of_setting in results.values() for each in of_setting]
    columns = {
        title: name
        for title, name in COLUMNS.items()
        if any(getattr(each, name) == getattr(each, name) for each in everyone)
    }
    print(f"\n## {title}\n")
    print(f"| setting | {' | '.join(columns)} | seeds |\n|---{'|---' * len(columns)}|---|")
    for name, of_setting in results.items():
        cells = [
            _cell([getattr(each, column) for each in of_setting], DIGITS.get(column, 2)) for column in columns.values()
        ]
        print(f"| {name} | {' | '.join(cells)} | {len(of_setting)} |", flush=True)


def _cell(values: Sequence[float], digits: int) -> str:
    known = [value for value in values if value == value]
    if not known:
        return ""
    return f"{statistics.mean(known):.{digits}f}" + (
        f" ± {statistics.stdev(known):.{digits}f}" if len(known) > 1 else ""
    )


def _lower_tc(results: Results, where: str) -> list[Check]:
    return [
        _lower(f"{where}: TC of {name} is below the VAE's", results, name, "VAE", "total_correlation", " nats")
        for name in ("FactorVAE 10", "beta-TCVAE 4")
    ]


def _lower(sentence: str, results: Results, name: str, baseline: str, column: str, unit: str) -> Check:
    ours, theirs = ([getattr(each, column) for each in results[key]] for key in (name, baseline))
    low, high = statistics.mean(ours), statistics.mean(theirs)
    wins = sum(a < b for a, b in zip(ours, theirs, strict=False))
    return Check(
        low < high,
        f"{sentence}: {low:.3f} against {high:.3f}{unit}, means over seeds; lower in {wins} of {len(ours)} pairs of "
        "the same seed.",
    )


def _held_out(spec: RunSpec, options: Options) -> FactorImages | None:
    """Images of the test split, where there is one. Sprites have none: the grid is all there is."""
    if not isinstance(spec.dataset, MNIST | FashionMNIST):
        return None
    images = replace(spec.dataset, split="test").load(options.device)
    return replace(
        images,
        pixels=images.pixels[: options.num_held_out],
        factors=tuple(labels[: options.num_held_out] for labels in images.factors),
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), help="which tables")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--scale", type=float, default=1.0, help="times the number of steps of every run")
    parser.add_argument("--seeds", type=int, default=8, help="runs of each setting (at most 4 in the table of digits)")
    parser.add_argument("--held-out", type=int, default=1000, help="how many images of a test split")
    parser.add_argument("--samples", type=int, default=1000, help="draws for MI, TC and DWKL")
    parser.add_argument(
        "--folder", type=Path, help="keep the runs there, and go on with those that are there (else they are not kept)"
    )
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as scratch:
        options = Options(
            given.device, given.scale, given.seeds, given.held_out, given.samples, given.folder or Path(scratch)
        )
        claims = []
        for part in given.only:
            began = time.perf_counter()
            claims += PARTS[part](options)
            print(
                f"\n{part}: {time.perf_counter() - began:.0f} s on {options.device}, torch {torch.__version__}.",
                flush=True,
            )
    print("\n## Claims\n")
    print("\n".join(map(str, claims)))


if __name__ == "__main__":
    keep_freed_memory()
    main()
