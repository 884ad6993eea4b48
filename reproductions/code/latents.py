"""Measures of single latents of Do & Tran: ranks, pairs and agreement of runs."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from scipy import stats
from scipy.optimize import linear_sum_assignment

from reproductions.item import Examine, Numbers, of_each
from unbraid import Codes, Run, Scoring, evaluate
from unbraid.metrics import DCI, JEMMIG, MISJED, RMIG, Correlations, Informativeness, Metric, Separability
from unbraid.metrics.estimators import Quantized

BINS = Quantized(masses="rectangle")
UNUSED, REACH, _NARROW, _MOST_IMAGES = 0.01, 3.0, 0.4, 10_000
_PAIRS = ((1, 2), (1, 3), (1, -1), (1, -2), (-1, -2), (-1, -3))


def ranked(name: str, numbers: Sequence[float]) -> Numbers:
    """Returns numbers of latents by rank, the largest first: latents of different models have no common order."""
    found = sorted((number for number in numbers if number == number), reverse=True)
    return {name: sum(found) / len(found), **{f"{name}:{rank}": number for rank, number in enumerate(found, start=1)}}


def score_of(run: Run, metric: Metric, fraction: float = 1.0, factors: tuple[str, ...] = ()) -> Any:
    """Returns a score of the codes of a run."""
    return run.score([metric], Scoring(fraction=fraction, factors=factors), progress=False).scores[0]


def ranks_of(**metrics: Metric) -> Examine:
    """Returns what ranks the latents of a run by each of these metrics."""

    def examine(run: Run) -> Numbers:
        per_latent = {name: score_of(run, metric).per_latent for name, metric in metrics.items()}
        return {key: value for name, numbers in per_latent.items() for key, value in ranked(name, numbers).items()}

    return of_each(examine)


def best_factor_ranks(**metrics: Metric) -> Examine:
    """Returns what ranks latents by the information on the factor they have most of; metrics keep its table."""

    def examine(run: Run) -> Numbers:
        tables = {name: score_of(run, metric).tables["mutual_information"] for name, metric in metrics.items()}
        most = {name: table.amax(dim=1).tolist() for name, table in tables.items()}
        return {key: value for name, numbers in most.items() for key, value in ranked(name, numbers).items()}

    return of_each(examine)


def some_rows(codes: Codes) -> Codes:
    """Returns the codes of at most 10,000 images, evenly spaced: the same images for every run."""
    return codes[torch.arange(0, len(codes.mean), -(-len(codes.mean) // _MOST_IMAGES))]


def nats(run: Run) -> torch.Tensor:
    """Returns what each latent holds of the image."""
    return torch.tensor(Informativeness()(some_rows(run.codes())).per_latent)


def ranked_pairs(**metrics: MISJED) -> Examine:
    """Returns MISJED of pairs of latents by their ranks in informativeness: 1 is the first, -1 the last."""

    def examine(run: Run) -> Numbers:
        found = {}
        for name, metric in metrics.items():
            table = score_of(run, metric).tables["misjed"]
            order = torch.tensor(score_of(run, Informativeness(metric.estimator)).per_latent).argsort(descending=True)
            places = {rank: int(order[rank - 1 if rank > 0 else rank]) for pair in _PAIRS for rank in pair}
            found |= {f"{name}:{a},{b}": float(table[places[a], places[b]]) for a, b in _PAIRS}
        return found

    return of_each(examine)


def groups_of_pairs(metric: MISJED, fraction: float = 1.0) -> Examine:
    """Returns the mean normalized MISJED of pairs of informative latents, of those with one unused latent, of unused
    ones, and of those among the upper and the lower half of latents.
    """

    def examine(run: Run) -> Numbers:
        table = score_of(run, metric, fraction).tables["misjed_normalized"].double()
        told = nats(run).to(table.device)
        row, column = torch.triu_indices(len(table), len(table), offset=1, device=table.device)
        pairs, num_dead = table[row, column], (told <= UNUSED).long()[row] + (told <= UNUSED).long()[column]
        upper = told >= told.median()
        chosen = {"informative": num_dead == 0, "one unused": num_dead == 1, "two unused": num_dead == 2}
        chosen |= {"upper half": upper[row] & upper[column], "lower half": ~upper[row] & ~upper[column]}
        return {f"pairs:{name}": float(pairs[which].mean()) for name, which in chosen.items() if bool(which.any())}

    return of_each(examine)


def _excess(run: Run) -> Numbers:
    """Returns by how much |correlation| of means exceeds that of draws, over pairs with an unused latent, and others."""
    tables = score_of(run, Correlations()).tables
    excess = tables["deterministic"].double().abs() - tables["stochastic"].double().abs()
    dead = (nats(run) <= UNUSED).to(excess.device)
    row, column = torch.triu_indices(len(excess), len(excess), offset=1, device=excess.device)
    pairs, with_dead = excess[row, column], dead[row] | dead[column]
    chosen = {"with an unused latent": with_dead, "of latents in use": ~with_dead}
    return {f"excess:{name}": float(pairs[which].mean()) for name, which in chosen.items() if bool(which.any())}


excess_of_means = of_each(_excess)


def weights_on_dead(raw: DCI, standardized: DCI, factors: tuple[str, ...]) -> Examine:
    """Returns whether the largest weight of a LASSO is that of an unused latent, and how large it is."""

    def examine(run: Run) -> Numbers:
        dead, found = nats(run) <= UNUSED, {}
        for part, metric in (("", raw), (":standardized", standardized)):
            weights = score_of(run, metric, factors=factors).tables["importance"].abs()
            latent = int(weights.max(dim=1).values.argmax())
            found |= {f"largest-on-unused{part}": float(dead[latent]), f"largest-weight{part}": float(weights.max())}
        return found

    return of_each(examine)


def joint_entropies(counts: Sequence[int]) -> Examine:
    """Returns the mean over factors of H(z*, y) by the number of bins: JEMMIG and RMIG without their divisions."""

    def examine(run: Run) -> Numbers:
        found = {}
        for count in counts:
            bins = Quantized(count, masses="rectangle")
            both = (score_of(run, kind(bins)).parts["unnormalized"].value for kind in (RMIG, JEMMIG))
            found[f"joint-entropy:{count}"] = sum(both)
        return found

    return of_each(examine)


def others_less_joint(floored: Separability, plain: Separability, **metrics: Metric) -> Examine:
    """Returns the mean over latents of H(z_others) - H(z) with a floor under densities and without, and ranks."""
    ranks = ranks_of(**metrics)

    def examine(runs: Mapping[int, Run], device: torch.device) -> Mapping[int, Numbers]:
        found = {seed: dict(numbers) for seed, numbers in ranks(runs, device).items()}
        for seed, run in runs.items():
            for part, metric in (("", floored), (":plain", plain)):
                tables = score_of(run, metric).tables
                difference = tables["entropy_of_others"] - tables["joint_entropy"]
                found[seed][f"others-less-joint{part}"] = float(difference.mean())
        return found

    return examine


def _rescaled(run: Run) -> Numbers:
    """Returns RMIG and JEMMIG with every latent divided by its std in q(z)."""
    codes = run.codes()
    mean, std = codes.mean.double(), codes.std.double()
    width = (mean.var(dim=0, correction=0) + std.square().mean(dim=0)).sqrt()
    width = torch.where(width > 0, width, torch.ones_like(width))
    same = replace(codes, mean=mean / width, std=std / width, prior=None)
    rmig, jemmig = evaluate(same, metrics=[RMIG(BINS), JEMMIG(BINS)], progress=False).scores
    return {"rmig-rescaled": rmig.value, "jemmig-rescaled": jemmig.value}


rescaled = of_each(_rescaled)


def gaps(attribute: str) -> Examine:
    """Returns what the five latents with most information on an attribute have, and by how much its RMIG differs from
    the difference of the first two over the entropy of the attribute.
    """

    def examine(run: Run) -> Numbers:
        score = score_of(run, RMIG(BINS))
        place = list(score.per_factor).index(attribute)
        told = score.tables["mutual_information"][:, place].sort(descending=True).values
        gap = float(told[0] - told[1]) / float(score.tables["factor_entropy"][place])
        ranks = {f"told:{attribute} {rank}": float(value) for rank, value in enumerate(told[:5], start=1)}
        return {"told": float(told[0]), "gap-residual": abs(gap - score.per_factor[attribute]), **ranks}

    return of_each(examine)


def distance_to_data(num_starts: int, num_images: int = 20_000) -> Examine:
    """Returns how far decoded images are from the nearest images of the data when one of the ten most informative
    latents is moved by 3 to either side: root mean squared difference of pixels.
    """

    def examine(run: Run) -> Numbers:
        images, codes, model = run.spec.training_data.open(), run.codes(), run.model()
        order = torch.randperm(len(images), generator=torch.Generator().manual_seed(0))
        starts = codes.mean[order[:num_starts]]
        moved = [starts]
        for latent in nats(run).argsort(descending=True)[:10].tolist():
            for step in (-REACH, REACH):
                there = starts.clone()
                there[:, latent] += step
                moved.append(there)
        frames = torch.cat([model.decode(each) for each in moved]).flatten(1)
        nearest = torch.full((len(frames),), torch.inf)
        for rows in order[:num_images].split(1024):
            nearest = torch.minimum(nearest, torch.cdist(frames, images.batch(rows).flatten(1)).min(dim=1).values)
        rms = nearest / frames.shape[1] ** 0.5
        return {"distance": float(rms[num_starts:].mean()), "distance:unmoved": float(rms[:num_starts].mean())}

    return of_each(examine)


def _spread(run: Run) -> Numbers:
    std = run.codes().mean.double().std(dim=0, correction=0)
    return {"std-of-means": float(std.median())}


spread_of_means = of_each(_spread)


def agreement(runs: Mapping[int, Run], device: torch.device) -> dict[int, Numbers]:
    """Returns how the latents of each run agree with those of the others: mean |correlation| of matched means, rank
    correlation of their places by informativeness and by variance, and how many posteriors are narrow.
    """
    codes = {seed: some_rows(run.codes()) for seed, run in runs.items()}
    places = {}
    for seed, each in codes.items():
        orders = torch.tensor(Informativeness()(each).per_latent), each.mean.var(dim=0)
        places[seed] = [stats.rankdata(-order.double().numpy()) for order in orders]
    found = {seed: {"narrow-posteriors": float((each.std.mean(dim=0) < _NARROW).sum())} for seed, each in codes.items()}
    for seed, ours in codes.items():
        rows = []
        for other, theirs in codes.items():
            if other != seed:
                size = ours.mean.shape[1]
                table = torch.corrcoef(torch.cat([ours.mean, theirs.mean], dim=1).double().T)[:size, size:].abs().nan_to_num()
                left, right = linear_sum_assignment(-table.numpy())
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", stats.ConstantInputWarning)  # where no latent holds anything
                    orders = [stats.spearmanr(places[seed][k][left], places[other][k][right]).statistic for k in (0, 1)]
                rows.append([float(table.numpy()[left, right].mean()), *orders])
        if rows:
            names = ("agreement", "agreement:informativeness_order", "agreement:variance_order")
            found[seed] |= dict(zip(names, torch.tensor(rows).double().mean(dim=0).tolist(), strict=True))
    return found
