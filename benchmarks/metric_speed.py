"""How long every metric takes on codes of the shape of dSprites (737,280 images, 10 latents, 5 factors), against the
plain way to compute it.

    python -m benchmarks.metric_speed                 the table, on the GPU if there is one
    python -m benchmarks.metric_speed --rows exact quantized
    python -m benchmarks.metric_speed --rows scorecard by_metric   the scorecard, and what takes the time in it
    python -m benchmarks.metric_speed --images 50000  a smaller one, to see that it runs

Each row runs in a process of its own; the median of three is printed (of one where a run takes over a minute), with the
most memory that it held. "plain" is the formula as one would first write it, in float64, on a part of the work and
scaled up to the whole; the ratio is plain over ours. Four tables follow: errors, exponents (the slope of log time over
log size), the seconds of each metric of the scorecard, where what several share counts for the first of them, and those
of functions beside classes and plain code.
"""

import argparse
import json
import math
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial

import torch

from benchmarks import plain_metrics
from benchmarks.dsprites_codes import NUM_IMAGES, dsprites_codes
from unbraid import functional
from unbraid.codes import Codes
from unbraid.errors import CodesError
from unbraid.information.exact import exact_information
from unbraid.information.quantized import Bins
from unbraid.metrics import (
    DCI,
    INDIN,
    IRS,
    JEMMIG,
    MIG,
    MISJED,
    RMIG,
    SAP,
    SEPIN,
    ELBODecomposition,
    Explicitness,
    Informativeness,
    Metric,
)
from unbraid.metrics.estimators import Exact, MeansHistogram, Quantized, Sampled
from unbraid.metrics.evaluate import evaluate
from unbraid.metrics.reductions.statistics import Statistics
from unbraid.metrics.selection import select

QUANTIZED: tuple[Metric, ...] = (RMIG(), JEMMIG(), Informativeness(Quantized()))
SAMPLED: tuple[Metric, ...] = (SEPIN(), INDIN(), MISJED(), ELBODecomposition())


def exact(codes: Codes) -> None:
    statistics_ = Statistics(codes)
    Exact().information(statistics_)


def scores(metrics: tuple[Metric, ...]) -> Callable[[Codes], None]:
    def run(codes: Codes) -> None:
        shared = Statistics(codes)
        for metric in metrics:
            metric.of(shared)

    return run


def scorecard(codes: Codes) -> None:
    evaluate(codes, progress=False)


ROWS: dict[str, tuple[str, Callable[[Codes], None]]] = {
    "exact": ("exact mutual information, 10 latents by 5 factors", exact),
    "mig": ("MIG, exact, with its interval", scores((MIG(),))),
    "quantized": ("RMIG + JEMMIG + informativeness, 100 bins", scores(QUANTIZED)),
    "sampled": ("SEPIN + INDIN + MISJED + ELBO decomposition, 10,000 draws", scores(SAMPLED)),
    "scorecard": ("the whole scorecard", scorecard),
    "boosted_trees": (
        "DCI with gradient-boosted trees, no refits for an interval",
        scores((DCI(predictor="boosted_trees", num_refits=0),)),
    ),
}

EXTRAS = {
    "errors": ("exact against the direct sum", "nats"),
    "exponents": ("time grows with", "exponent"),
    "by_metric": ("metric of the scorecard, in its order", "seconds"),
    "functions": ("15,008 deterministic codes, 10 latents, 6 factors", "seconds"),
}


def plain_exact(codes: Codes) -> float:
    """Seconds for Chen et al.'s estimate: 10,000 draws of each latent against every image, and for each value again; 20
    draws are timed.
    """
    mean, std = codes.mean.double(), codes.std.double()
    began = _now(codes)
    for draw in mean[:20] + std[:20]:
        log_density = -0.5 * ((draw - mean) / std).square() - std.log()
        log_density.logsumexp(dim=0)
        for labels in codes.factors:
            log_density[labels.values == labels.values[0]].logsumexp(dim=0)
    return (_now(codes) - began) / 20 * 10_000


def plain_quantized(codes: Codes) -> float:
    """Seconds for erf at every edge, a table for each value: a hundredth of the images is timed."""
    part = len(codes) // 100
    mean, std, edges = codes.mean[:part].double(), codes.std[:part].double(), Bins().edges(codes.mean.device)
    began = _now(codes)
    masses = torch.erf((edges - mean[:, :, None]) / std[:, :, None] / math.sqrt(2)).diff(dim=2) / 2
    torch.xlogy(masses, masses).sum()
    for labels in codes.factors:
        for value in range(int(labels.values.max()) + 1):
            masses[labels.values[:part] == value].sum(dim=0)
    return (_now(codes) - began) * 100


def plain_sampled(codes: Codes) -> float:
    """Seconds for logsumexp over the images of all eleven sums: 10 draws are timed."""
    mean, std = codes.mean.double(), codes.std.double()
    began = _now(codes)
    for draw in mean[:10] + std[:10]:
        log_density = -0.5 * ((draw - mean) / std).square() - std.log()
        log_density.logsumexp(dim=0)
        log_density.sum(dim=1).logsumexp(dim=0)
        (log_density.sum(dim=1, keepdim=True) - log_density).logsumexp(dim=0)
    return (_now(codes) - began) / 10 * 10_000


PLAIN: dict[str, Callable[[Codes], float]] = {
    "exact": plain_exact,
    "mig": plain_exact,
    "quantized": plain_quantized,
    "sampled": plain_sampled,
}


def exponents(codes_of: Callable[[int, int], Codes], num_images: int) -> dict[str, float]:
    """Slopes of log time over log size, from a quarter of the size to the whole."""

    def slope(times: list[float]) -> float:
        return math.log(times[-1] / times[0]) / math.log(4)

    def seconds(work: Callable[[Codes], None], codes: Codes) -> float:
        work(codes)
        return statistics.median(_seconds(work, codes) for _ in range(3))

    few = (SEPIN(Sampled(num_samples=256)),)
    sizes = [num_images // 4, num_images]
    return {
        "exact, images": slope([seconds(exact, codes_of(n, 10)) for n in sizes]),
        "exact, latents": slope([seconds(exact, codes_of(num_images // 4, d)) for d in (5, 20)]),
        "quantized, images": slope([seconds(scores(QUANTIZED), codes_of(n, 10)) for n in sizes]),
        "quantized, latents": slope([seconds(scores(QUANTIZED), codes_of(num_images // 8, d)) for d in (5, 20)]),
        "quantized, bins": slope(
            [seconds(scores((RMIG(Quantized(num_bins=b)),)), codes_of(num_images // 8, 10)) for b in (50, 200)]
        ),
        "sampled, images": slope([seconds(scores(few), codes_of(n, 10)) for n in sizes]),
        "sampled, latents": slope([seconds(scores(few), codes_of(num_images // 4, d)) for d in (5, 20)]),
        "sampled, draws": slope(
            [seconds(scores((SEPIN(Sampled(num_samples=s)),)), codes_of(num_images // 4, 10)) for s in (256, 1024)]
        ),
    }


def measure(row: str, num_images: int) -> dict[str, float]:
    """Seconds, gigabytes and the plain way's seconds, in this process."""
    codes = dsprites_codes(num_images, device=_device())
    _, work = ROWS[row]
    if _device() == "cuda":
        work(dsprites_codes(num_images // 8, device="cuda"))  # libraries load, kernels compile
        torch.cuda.reset_peak_memory_stats()
    times = [_seconds(work, codes)]
    while len(times) < 3 and times[0] < 60:
        times.append(_seconds(work, codes))
    held = (
        torch.cuda.max_memory_allocated()
        if _device() == "cuda"
        else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    )
    return {
        "seconds": statistics.median(times),
        "gigabytes": held / 1e9,
        "plain": PLAIN[row](codes) if row in PLAIN else math.nan,
    }


def errors(num_images: int) -> dict[str, float]:
    """The largest error of the exact matrix against the direct sum over all images, in nats, on 20,000 images and on
    all.
    """
    found = {}
    for size in (min(20_000, num_images), num_images):
        statistics_ = Statistics(dsprites_codes(size, device=_device()))
        binned, direct = (
            exact_information(statistics_.codes.mean, statistics_.std, statistics_.values, way).mutual_information
            for way in ("binned", "direct")
        )
        found[f"{size:,} images"] = float((binned - direct).abs().max())
    return found


def seconds_by_metric(codes: Codes) -> dict[str, float]:
    """Returns the seconds of each metric of the scorecard in its order, from the same statistics."""
    shared, found = Statistics(codes), {}
    for name, metric in select("all").metrics.items():
        began = _now(codes)
        with suppress(CodesError):  # those that take two values of a factor only are not in the scorecard
            metric.of(shared)
            found[name] = _now(codes) - began
    return found


# Function, class, and the metric as one would first write it with NumPy and scikit-learn.
FUNCTIONS: dict[str, tuple[Callable[..., object], Metric, Callable[..., float]]] = {
    "mig": (functional.mig, MIG(MeansHistogram()), plain_metrics.mig),
    "sap": (functional.sap, SAP(), plain_metrics.sap),
    "irs": (functional.irs, IRS(), plain_metrics.irs),
    "explicitness": (
        partial(functional.explicitness, classifier="multinomial"),
        Explicitness("multinomial"),
        plain_metrics.explicitness,
    ),
    "dci, boosted trees": (
        partial(functional.dci, predictor="boosted_trees"),
        DCI(predictor="boosted_trees"),
        plain_metrics.dci,
    ),
}


def deterministic_codes(num_images: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns ten latents and six factors, of which six latents follow one each, with noise."""
    generator, sizes = torch.Generator().manual_seed(0), (3, 6, 40, 32, 32, 4)
    factors = torch.stack([torch.randint(size, (num_images,), generator=generator) for size in sizes], dim=1)
    mean = 0.3 * torch.randn(num_images, 10, generator=generator)
    mean[:, :6] += 3 * factors / torch.tensor(sizes)
    return mean, factors


def seconds_of_functions(num_images: int = 15_008) -> dict[str, float]:
    """Returns the seconds of each function, of its class with intervals, and of plain code, for deterministic codes.

    The fastest of three runs, or of one that takes over 10 seconds.
    """
    mean, factors = deterministic_codes(num_images)
    codes, found = Codes.from_arrays(mean, factors=factors), {}
    for name, (function, metric, plain) in FUNCTIONS.items():
        ways = {
            "function": partial(function, mean, None, factors),
            "class": partial(metric, codes),
            "plain": partial(plain, mean.numpy(), factors.numpy()),
        }
        for way, work in ways.items():
            times = [_seconds(lambda _, work=work: work(), codes)]
            while len(times) < 3 and times[0] < 10:
                times.append(_seconds(lambda _, work=work: work(), codes))
            found[f"{name}: {way}"] = min(times)
    return found


def _seconds(work: Callable[[Codes], None], codes: Codes) -> float:
    began = _now(codes)
    work(codes)
    return _now(codes) - began


def _now(codes: Codes) -> float:
    if codes.mean.is_cuda:
        torch.cuda.synchronize()
    return time.perf_counter()


def _device() -> str:
    return "cuda" if torch.cuda.is_available() else "cpu"


def _in_own_process(arguments: list[str]) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.metric_speed", *arguments], stdout=subprocess.PIPE, text=True, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", nargs="*", default=[*ROWS, *EXTRAS], choices=[*ROWS, *EXTRAS])
    parser.add_argument("--images", type=int, default=NUM_IMAGES)
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    given = parser.parse_args()
    match given.measure:
        case None:
            _print_tables(given.rows, given.images)
        case "errors":
            print(json.dumps(errors(given.images)))
        case "exponents":
            print(json.dumps(exponents(lambda n, d: dsprites_codes(n, d, device=_device()), given.images)))
        case "functions":
            print(json.dumps(seconds_of_functions()))
        case "by_metric":
            print(json.dumps(seconds_by_metric(dsprites_codes(given.images, device=_device()))))
        case row:
            print(json.dumps(measure(row, given.images)))


def _print_tables(rows: list[str], num_images: int) -> None:
    where = torch.cuda.get_device_name() if _device() == "cuda" else f"CPU, {torch.get_num_threads()} threads"
    print(f"{num_images:,} images, 10 latents, 5 factors; {where}; torch {torch.__version__}\n")
    print("| what | seconds | GB held | plain, seconds | ratio |\n|---|---|---|---|---|")
    for row in [row for row in rows if row in ROWS]:
        found = _in_own_process(["--measure", row, "--images", str(num_images)])
        plain = (
            f"{found['plain']:.0f} | {found['plain'] / found['seconds']:.0f}"
            if found["plain"] == found["plain"]
            else " | "
        )
        print(f"| {ROWS[row][0]} | {found['seconds']:.2f} | {found['gigabytes']:.2f} | {plain} |", flush=True)
    for extra, (title, unit) in EXTRAS.items():
        if extra in rows:
            print(f"\n| {title} | {unit} |\n|---|---|")
            for name, value in _in_own_process(["--measure", extra, "--images", str(num_images)]).items():
                print(f"| {name} | {value:.2g} |", flush=True)


if __name__ == "__main__":
    main()
