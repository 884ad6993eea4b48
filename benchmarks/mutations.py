"""Sixty one-line mistakes in the numerical core, and which of them the tests catch.

    python -m benchmarks.mutations                      all of them, about half an hour on one core
    python -m benchmarks.mutations --only 3 17 --out /tmp/some.json
    python -m benchmarks.mutations --than benchmarks/results/mutations_252fbdb.json   names what was caught there alone

Each mutation replaces the text after `-` by that after `+`, in a copy of the tree, and runs the tests that its lines
`@` and `#` name, in tests/. What was run before is read from the file of results and not run again. The list was
written before the tests were looked at: a mutation that survives stays in it. Where code moves on, its text here does.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
_CACHES = {".git", ".venv", "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis"}
_OUTPUTS = {"runs", "site", "dist"}
_MOST_SECONDS = 600

# A line `#` begins an area and names the tests of all of it; `@` names a file of src/unbraid and further tests, which
# run first.
LIST = """
# information: information golden/test_golden.py
@ information/aggregate.py:
- return weights.log() - log_b, weights.log() - log_b
+ return weights.log(), weights.log()
- return weights.log(), torch.log1p(-weights) - log_m
+ return weights.log(), torch.log1p(-weights) - log_b
- math.log(dataset_size - batch_size + 1)
+ math.log(dataset_size - batch_size + 2)
- total_correlation=log_q - log_prior - by_group,
+ total_correlation=log_q - by_group,
@ information/latent_information.py:
- return total.log() - torch.xlogy(masses, masses).sum(dim=-1) / total
+ return total.log() - torch.xlogy(masses, masses).sum(dim=-1)
@ information/exact.py:
- (std.double().log() + 0.5 * math.log(2 * math.pi * math.e))
+ (std.double().log() + 0.5 * math.log(2 * math.pi))
- (shift * coefficients[-1] + excess * coefficients[-2]) / order)
+ (shift * coefficients[-1] + excess * coefficients[-2]) / (order - 1))
@ information/gaussian_mixture.py:
- (slope * (u.square() - _HALF))
+ (slope * (u.square() + _HALF))
@ information/mixture_entropy.py:
- torch.addcmul(before * (1 - order), deviation, hermite)
+ torch.addcmul(before * (order - 1), deviation, hermite)
@ information/posteriors.py:
- joint = shared + 0.5 * log_det + gaussian.shape[1] * _HALF_LOG_TWO_PI_E
+ joint = shared + log_det + gaussian.shape[1] * _HALF_LOG_TWO_PI_E
@ information/quantized.py:
- += _upper_tail((edges[-1] - mean) / std)
+ += _upper_tail((mean - edges[-1]) / std)
- torch.searchsorted(edges, points.double().contiguous(), right=True)
+ torch.searchsorted(edges, points.double().contiguous(), right=False)
@ information/sampled.py:
- = own[num_latents] + constant[:, None]
+ = own[num_latents] - constant[:, None]
@ information/sampled_factors.py:
- average = torch.where(known[:, None], terms, 0.0).mean(dim=0) / share
+ average = torch.where(known[:, None], terms, 0.0).mean(dim=0)
@ information/delta_method.py:
- / math.sqrt(num_rows) if spreads
+ / math.sqrt(num_rows - 1) if spreads

# metrics: golden/test_golden.py
@ metrics/mig.py: metrics/test_mig.py metrics/test_information_metric.py
- top_two(table.clamp(min=0)).gap
+ top_two(table).gap
@ metrics/reductions/gaps.py: metrics/test_gaps.py metrics/test_mig.py
- second = ranked[1] if len(table) > 1 else torch.zeros_like(ranked[0])
+ second = ranked[1] if len(table) > 1 else ranked[0]
@ metrics/sap.py: metrics/test_sap.py
- features, train_labels, seed, class_weight="balanced", dual=False
+ features, train_labels, seed, dual=False
@ metrics/dci.py: metrics/test_dci.py metrics/test_dci_on_all_rows.py
- (math.log(num_columns) if num_columns > 1 else 1.0)
+ (math.log2(num_columns) if num_columns > 1 else 1.0)
- return _weighted_mean(disentanglement_of_latents(importance), importance.sum(dim=1))
+ return disentanglement_of_latents(importance).mean()
@ metrics/modularity.py: metrics/test_modularity.py metrics/test_information_metric.py
- num_others = table.shape[1] - 1
+ num_others = table.shape[1]
@ metrics/irs.py: metrics/test_irs.py
- place = quantile * (counts - 1).clamp(min=0).double()
+ place = quantile * counts.clamp(min=0).double()
@ metrics/factor_vae_score.py: metrics/test_factor_vae_score.py
- return torch.cat(within) / variance
+ return torch.cat(within) / variance.sqrt()
@ metrics/mcc.py: metrics/test_mcc.py
- standardized((masses.cumsum(dim=0) - masses / 2).gather(0, columns), weights)
+ standardized(masses.cumsum(dim=0).gather(0, columns), weights)
@ metrics/info_mec.py: metrics/test_info_mec.py
- return (share * num_columns - 1) / (num_columns - 1) if
+ return (share * num_columns - 1) / num_columns if
@ metrics/elbo_decomposition.py: metrics/test_elbo_decomposition.py
- continuous = 0.5 * precision * statistics.std[rows].double().square() -
+ continuous = 0.5 * precision * statistics.std[rows].double() -
@ metrics/separation_metric.py: metrics/test_sepin.py metrics/test_indin.py metrics/test_separability.py
- positive = self.each.clamp(min=0)
+ positive = self.each.abs()
@ metrics/explicitness.py: metrics/test_roc_auc.py metrics/test_explicitness.py
- return (below + not_above).double() / (2 * len(others))
+ return below.double() / len(others)
@ metrics/intervals.py: metrics/test_intervals.py metrics/test_factor_vae_score.py
- middle = (share + z2 / (2 * num_points)) / (1 + z2 / num_points)
+ middle = (share + z2 / num_points) / (1 + z2 / num_points)
@ metrics/reductions/statistics.py: metrics/test_statistics.py metrics/test_weights.py metrics/test_sap.py
- return float(1 / self.weights.square().sum())
+ return float(len(self.codes))
@ metrics/estimators/neighbors.py: metrics/estimators/test_neighbors.py
- total.digamma() + joint.digamma() - first.digamma() - second.digamma(),
+ total.digamma() + joint.digamma() - (first + 1).digamma() - (second + 1).digamma(),
@ metrics/latent_readings.py: metrics/test_latent_readings.py
- ((shares - chance) / (1 - chance)
+ ((shares - chance) / (1 + chance)
@ metrics/unused_latents.py: metrics/test_unused_latents.py metrics/test_evaluate.py
- (spread < _LEAST_SHARE * largest) | (largest < _LEAST_SPREAD)
+ (spread < _LEAST_SHARE * largest) & (largest < _LEAST_SPREAD)

# objectives: objectives golden/test_golden.py
@ objectives/terms/adversary.py:
- return softplus(-real).mean() + softplus(fake).mean()
+ return softplus(real).mean() + softplus(-fake).mean()
@ objectives/factor_vae.py:
- both_logits(step.critic_in_training, step.z, permuted)
+ both_logits(step.critic_in_training, permuted, step.z)
@ objectives/terms/covariance.py:
- return centered.T @ centered / len(centered)
+ return centered.T @ centered / (len(centered) - 1)
@ objectives/dip_vae.py:
- decay = self.decay * step.state["started"]
+ decay = self.decay
@ objectives/terms/mmd.py:
- / (size * (size - 1))
+ / size**2
@ objectives/terms/adversary.py:
- order = noise.argsort(dim=0)
+ order = noise.argsort(dim=1)
@ objectives/annealed_vae.py:
- penalty = above.relu() + self.upward * (-above).relu()
+ penalty = above.relu() + (-above).relu()
@ objectives/decomposed_elbo.py:
- + (1 - num_groups)
+ - num_groups
@ objectives/beta_tcvae.py:
- dimension_wise_kl=shifted(self.gamma, -rate),
+ dimension_wise_kl=self.gamma,
@ objectives/info_vae.py:
- (self.alpha + self.weight - 1) * discrepancy
+ (self.alpha + self.weight) * discrepancy

# training: training/test_fleet.py training/test_two_losses.py training/test_critics_and_state.py
@ training/step.py: training/test_sharing_a_fleet.py
- progress=(counted.double() / max(1, spec.num_steps - 1))
+ progress=(counted.double() / spec.num_steps)
- old.copy_(torch.where(over_members(alive, new), new, old))
+ old.copy_(new)
@ training/optimizers/adam.py: training/optimizers/test_adam.py
- addcmul_(gradient, gradient, value=1 - beta2)
+ addcmul_(gradient, gradient, value=1 - beta1)
- scale = (second / share2).sqrt_().add_(self.epsilon)
+ scale = (second / share2).add_(self.epsilon).sqrt_()
@ training/step.py: training/test_step.py
- return (max_norm / norm).clamp(max=1)
+ return max_norm / norm
- return torch.linalg.vector_norm(torch.stack(lengths), dim=0)
+ return torch.stack(lengths).sum(dim=0)
@ training/batches.py: training/test_batches.py
- epoch = step // self.steps_per_epoch
+ epoch = (step + 1) // self.steps_per_epoch
@ training/member_loss.py:
- self._through(critic, weights, seen.detach() if in_training else seen)
+ self._through(critic, weights, seen)
- weights = learned["critic"] if in_training else _detached(learned["critic"])
+ weights = learned["critic"]
@ training/history_columns.py: training/test_history_columns.py
- rows = batches.rows(fleet.step - 1)
+ rows = batches.rows(fleet.step)

# codes: codes
@ codes/conversions.py:
- return (as_floats("log_var", log_var).double() / 2).exp()
+ return as_floats("log_var", log_var).double().exp()
@ codes/concat.py: metrics/test_fitted_elsewhere.py
- return (codes.weights.double() / codes.weights.double().sum() * len(codes)).to(codes.mean)
+ return (codes.weights.double() / codes.weights.double().sum()).to(codes.mean)
@ codes/latents.py:
- (std.double().square() @ directions.square()).sqrt()
+ (std.double() @ directions.abs())
@ codes/latent_prior.py:
- torch.log1p(u * w * (1 - bend.square()))
+ torch.log1p(u * w * (1 - bend))
- "laplace": -math.sqrt(2) * away.abs() - 0.5 * math.log(2),
+ "laplace": -math.sqrt(2) * away.abs() - math.log(2),
@ codes/labels.py:
- places = (halves - low) / width * num_bins if
+ places = (halves - low) / width * (num_bins - 1) if
@ codes/matching.py:
- return deviation[:, places] / std[places], places
+ return deviation[:, places] / std[places].square(), places
"""


@dataclass(frozen=True)
class Mutation:
    """A mistake: in a file of src/unbraid, `old` becomes `new`. `tests` are those that should notice, in tests/."""

    number: int
    area: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]


class NotApplicableError(Exception):
    """The list is not that of this tree."""


def mutations(text: str = LIST) -> tuple[Mutation, ...]:
    """Returns the list, numbered from 1."""
    found: list[Mutation] = []
    area, file, old, of_area, of_file = "", "", "", "", ""
    for line in filter(None, text.splitlines()):
        mark, _, rest = line.partition(" ")
        match mark:
            case "#":
                area, _, of_area = rest.partition(":")
            case "@":
                file, _, of_file = rest.partition(":")
            case "-":
                old = rest
            case _:
                tests = (*of_file.split(), *of_area.split())
                found.append(Mutation(len(found) + 1, area, file, old, rest, tests))
    return tuple(found)


def place(mutation: Mutation, root: Path = ROOT) -> Path:
    """Returns the file that holds the old text exactly once: the one that is named, or, where code was moved, the only
    one of the package that does.
    """
    package = root / "src" / "unbraid"
    named = package / mutation.file
    if named.exists() and named.read_text(encoding="utf-8").count(mutation.old) == 1:
        return named
    holding = {path: path.read_text(encoding="utf-8").count(mutation.old) for path in sorted(package.rglob("*.py"))}
    match [path for path, count in holding.items() if count]:
        case [path] if holding[path] == 1:
            return path
        case paths:
            names = ", ".join(str(path.relative_to(package)) for path in paths) or "no file"
            raise NotApplicableError(
                f"Mutation {mutation.number}: {mutation.old!r} is in {names}; expected exactly once in {mutation.file}."
            )


def paths_of_tests(mutation: Mutation, root: Path = ROOT) -> list[str]:
    """Returns the paths of the tests; one that was moved is found by its name."""
    found = []
    for test in mutation.tests:
        paths = [path] if (path := root / "tests" / test).exists() else sorted((root / "tests").rglob(Path(test).name))
        if len(paths) != 1:
            raise NotApplicableError(f"Mutation {mutation.number}: tests/{test} is not there, or in several places.")
        found.append(str(paths[0].relative_to(root)))
    return found


def run(mutation: Mutation, tree: Path) -> dict[str, Any]:
    """Returns what became of the mutation in a copy of the tree, which is as it was before afterwards."""
    began = time.monotonic()
    try:
        path, tests = place(mutation, tree), paths_of_tests(mutation, tree)
    except NotApplicableError as error:
        return asdict(mutation) | {"outcome": "not applicable", "detail": str(error)}
    text, times = path.read_text(encoding="utf-8"), path.stat()
    path.write_text(text.replace(mutation.old, mutation.new), encoding="utf-8")
    # Compiled files are known by the second of their source and its size: both may be those of another mutation.
    os.utime(path, (times.st_atime, times.st_mtime - 10 * mutation.number))
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "-p", "no:cacheprovider", "-m", "not slow"]
    environment = os.environ | {"PYTHONPATH": f"{tree / 'src'}{os.pathsep}{tree}"}
    try:
        done = subprocess.run(
            [*command, *tests],
            cwd=tree,
            env=environment,
            capture_output=True,
            text=True,
            timeout=_MOST_SECONDS,
            check=False,
        )
        # Of a file of tests that cannot be read there is no test, whose name has "::" in it.
        failed = re.findall(r"^(?:FAILED|ERROR) (\S+::.+?)(?: - .*)?$", done.stdout, re.M)
        outcome = "survived" if done.returncode == 0 else "caught" if done.returncode == 1 and failed else "error"
        detail = "" if outcome == "survived" else failed[0] if failed else f"{done.stdout}{done.stderr}"[-500:]
    except subprocess.TimeoutExpired:
        outcome, detail = "caught", f"the tests took more than {_MOST_SECONDS} s"
    finally:
        path.write_text(text, encoding="utf-8")
        os.utime(path, (times.st_atime, times.st_mtime))
    seconds = round(time.monotonic() - began, 1)
    return asdict(mutation) | {"outcome": outcome, "detail": detail, "seconds": seconds}


def _left_out(folder: str, names: Sequence[str]) -> set[str]:
    """Returns what is not copied: caches, and at the top what the package writes."""
    return {name for name in names if name in _CACHES or (name in _OUTPUTS and Path(folder) == ROOT)}


def run_all(chosen: Sequence[Mutation], out: Path) -> Iterator[dict[str, Any]]:
    """Yields the result of each, and keeps it in the file; those that it holds already are not run."""
    kept = {each["number"]: each for each in json.loads(out.read_text(encoding="utf-8"))} if out.exists() else {}
    with tempfile.TemporaryDirectory(prefix="unbraid-mutations-") as folder:
        tree = Path(folder) / "tree"
        shutil.copytree(ROOT, tree, ignore=_left_out, symlinks=True)
        for mutation in chosen:
            done = kept.get(mutation.number, {})
            if done.get("outcome") not in ("caught", "survived") or done["old"] != mutation.old:
                done = run(mutation, tree)
                kept[mutation.number] = done
                rows = [json.dumps(kept[number]) for number in sorted(kept)]
                out.write_text("[\n" + ",\n".join(rows) + "\n]\n", encoding="utf-8")
            yield done


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", type=int, nargs="+", metavar="N", help="the mutations to run, by number")
    parser.add_argument("--out", type=Path, default=Path("mutations.json"), help="results: read if there, and written")
    parser.add_argument("--than", type=Path, help="earlier results, to name what is caught there and not here")
    given = parser.parse_args(arguments)
    chosen = [each for each in mutations() if not given.only or each.number in given.only]
    counts: Counter[tuple[str, str]] = Counter()
    results = {}
    for done in run_all(chosen, given.out):
        results[done["number"]] = done["outcome"]
        counts[done["area"], done["outcome"]] += 1
        print(
            f"{done['number']:3} {done['outcome']:9} {done['file']:38} {done['detail'].splitlines()[-1:]}", flush=True
        )
    print("\narea         caught  of")
    for area in dict.fromkeys(each.area for each in chosen):
        print(f"{area:12} {counts[area, 'caught']:6} {sum(n for (of, _), n in counts.items() if of == area):3}")
    if given.than:
        before = {each["number"]: each["outcome"] for each in json.loads(given.than.read_text(encoding="utf-8"))}
        lost = [n for n, outcome in results.items() if before.get(n) == "caught" != outcome]
        print(f"caught before and not now: {lost or 'none'}")
    return int(any(outcome not in ("caught", "survived") for outcome in results.values()))


if __name__ == "__main__":
    sys.exit(main())
