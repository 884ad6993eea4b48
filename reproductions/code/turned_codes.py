"""Table 1 of Chen et al. and of Do & Tran: what metrics notice, on synthetic codes made for it."""

import functools
import itertools
import math
from typing import Any, Literal

import torch
from torch import Tensor

from reproductions.item import Numbers
from unbraid import MIG, Codes
from unbraid.codes import Labels
from unbraid.errors import CodesError
from unbraid.metrics import DCI, INDIN, JEMMIG, RMIG, SAP, SEPIN, Explicitness, FactorVAEScore, Modularity, ZDiff
from unbraid.metrics.estimators import MeansHistogram, Quantized, Sampled

Grid = tuple[int, int, int]
FACTORS = ("scale", "position_x", "position_y")
DEGREES = (0, 15, 30, 40, 45)
_TURNED = ("position_x", "position_y")
_NUM_UNUSED, _BESIDE, _NUM_CATEGORIES, _REPEATS = 3, 2.0, 8, 30
AXIS, SETTINGS, GENERAL = "axis: loss at 40 degrees", "unbiased: spread over settings", "general: least share kept"
CASES = tuple(f"{experiment}, std {std:g}" for experiment in (AXIS, SETTINGS, GENERAL) for std in (0.05, 0.2))
_GRID: Grid = (6, 32, 32)
_FITTED = (10_000, 5_000)
_LEAST_FALL = "least fall from turn to turn"


def gaussian_codes(degrees: float, std: float, grid: Grid = _GRID) -> Codes:
    """Returns one Gaussian latent for each factor, the last two turned against each other, and unused latents."""
    values = _values(grid)
    cos, sin = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    *others, x, y = _places(values, grid).unbind(dim=1)
    used = torch.stack([*others, cos * x - sin * y, sin * x + cos * y], dim=1)
    unused = torch.zeros(len(used), _NUM_UNUSED, dtype=torch.float64)
    stds = torch.cat([torch.full_like(used, std), unused + 1.0], dim=1)
    return Codes.from_arrays(torch.cat([used, unused], dim=1), stds, factors=dict(zip(FACTORS, values.T, strict=True)))


def drawn_codes(kind: Literal["Laplace", "bimodal"], std: float, num_draws: int, seed: int, grid: Grid = _GRID) -> Codes:
    """Returns draws alone: from Laplace posteriors, or from two narrow modes at v and -v, equally likely."""
    values, generator = _values(grid), torch.Generator().manual_seed(seed)
    at = _places(values, grid)
    shape = (num_draws, *at.shape)
    if kind == "Laplace":
        share = torch.rand(shape, generator=generator, dtype=torch.float64) - 0.5
        used = at - share.sign() * (1 - 2 * share.abs()).clamp(min=1e-12).log() * std / math.sqrt(2)
    else:
        sign = torch.randint(2, shape, generator=generator).double() * 2 - 1
        used = sign * (at + _BESIDE) + std * torch.randn(shape, generator=generator, dtype=torch.float64)
    unused = torch.randn((num_draws, len(at), _NUM_UNUSED), generator=generator, dtype=torch.float64)
    return Codes.from_arrays(samples=torch.cat([used, unused], dim=2), factors=dict(zip(FACTORS, values.T, strict=True)))


def categorical_codes(grid: Grid = _GRID) -> Codes:
    """Returns one categorical latent for each factor, certain of its value, and uniform ones."""
    values = _values(grid)
    used = [torch.nn.functional.one_hot(values[:, place], size).double() for place, size in enumerate(grid)]
    unused = [torch.full((len(values), _NUM_CATEGORIES), 1 / _NUM_CATEGORIES).double() for _ in range(_NUM_UNUSED)]
    return Codes.from_arrays(probabilities=[*used, *unused], factors=dict(zip(FACTORS, values.T, strict=True)))


def folded_codes(*, folded: bool = False, std: float = 0.1) -> Codes:
    """Returns codes of two factors. The first latent has four places, of which two belong to each value of the first
    factor: side by side, or `folded` the outer two and the inner two, which no straight line parts.
    """
    place, other = torch.arange(20 * _REPEATS) % 4, torch.arange(20 * _REPEATS) // 4 % 5
    value = torch.tensor([1, 0, 0, 1] if folded else [0, 0, 1, 1])[place]
    noise = torch.rand(len(place), 3, generator=torch.Generator().manual_seed(0)) - 0.5
    mean = torch.stack([2.0 * place - 3, other - 2.0, torch.zeros(len(place))], dim=1).double() + 0.05 * noise
    width = torch.tensor([std, std, 1.0], dtype=torch.float64).expand(len(place), 3).contiguous()
    return Codes(mean, width, factors=(Labels("value", value), Labels("other", other)))


def _values(grid: Grid) -> Tensor:
    return torch.cartesian_prod(*(torch.arange(size) for size in grid))


def _places(values: Tensor, grid: Grid) -> Tensor:
    return 2 * math.sqrt(3) * ((values.double() + 0.5) / torch.tensor(grid) - 0.5)


def compute_cells(label: str, seed: int) -> dict[str, float]:
    """Computes one of the three experiments at one std."""
    experiment, _, std = label.rpartition(", std ")
    compute = {AXIS: _turned, SETTINGS: _under_settings, GENERAL: functools.partial(_in_general, seed=seed)}[experiment]
    return compute(float(std))


def _turned(std: float) -> dict[str, float]:
    """Returns the loss of each metric at 40 degrees, its score of the two factors at every turn, and its least fall."""
    metrics: dict[str, Any] = {"zdiff": ZDiff(num_train=_FITTED[0], num_test=_FITTED[1]), "mig": MIG()}
    metrics["factor-vae-score"] = FactorVAEScore(num_train=_FITTED[0], num_test=_FITTED[1])
    found: dict[str, float] = {}
    for degrees in DEGREES:
        codes = gaussian_codes(degrees, std)
        for name, metric in metrics.items():
            per_factor = metric(codes).per_factor
            found[f"{name}:{degrees} degrees"] = sum(per_factor[each] for each in _TURNED) / len(_TURNED)
    losses = {name: found[f"{name}:0 degrees"] - found[f"{name}:40 degrees"] for name in metrics}
    falls = {
        f"{name}:{_LEAST_FALL}": min(found[f"{name}:{a} degrees"] - found[f"{name}:{b} degrees"] for a, b in itertools.pairwise(DEGREES))
        for name in metrics
    }
    return {**losses, **found, **falls}


def _under_settings(std: float) -> dict[str, float]:
    """Returns how far each metric moves with its settings, on codes turned by 0 or 30 degrees, and every value."""
    metrics: dict[str, dict[str, Any]] = {
        "zdiff": {
            f"{count} pairs, {classifier}, {latents}": ZDiff(classifier, latents, count, *_FITTED)
            for count in (1, 4, 16, 64, 200)
            for classifier in ("logistic", "svm")
            for latents in ("means", "samples")
        },
        "factor-vae-score": {f"batches of {b}, {v} votes": FactorVAEScore(b, v, _FITTED[1]) for b in (4, 16, 64) for v in (100, 800, 10_000)},
        "mig": {"exact": MIG(), **{f"{count} draws": MIG(Sampled(count)) for count in (1_000, 10_000)}},
    }
    found: dict[str, float] = {}
    spreads = dict.fromkeys(metrics, 0.0)
    for degrees in (0, 30):
        codes = gaussian_codes(degrees, std)
        for name, settings in metrics.items():
            values = {text: metric(codes).value for text, metric in settings.items()}
            spreads[name] = max(spreads[name], max(values.values()) - min(values.values()))
            found |= {f"{name}:{text}, {degrees} degrees": value for text, value in values.items()}
        found[f"mig:100 bins, {degrees} degrees"] = MIG(Quantized())(codes).value  # another quantity: not counted
    return {**spreads, **found}


def _in_general(std: float, seed: int) -> dict[str, float]:
    """Returns the least share that each metric keeps of its score when posteriors of the same information are Laplace,
    bimodal or categorical, and the share of each kind.
    """
    plain, found = gaussian_codes(0, std), dict[str, float]()
    kinds = {kind: drawn_codes(kind, std, 16, seed) for kind in ("Laplace", "bimodal")}
    metrics: dict[str, Any] = {
        "zdiff": ZDiff(num_train=_FITTED[0] // 5, num_test=_FITTED[1]),
        "factor-vae-score": FactorVAEScore(num_train=_FITTED[0] // 5, num_test=_FITTED[1]),
        "mig": MIG(Quantized(num_bins=200)),
    }
    for name, metric in metrics.items():
        whole = metric(plain).value
        values = {kind: _at_best(metric, codes) for kind, codes in kinds.items()}
        values["categorical"] = _of_categories(metric)
        shares = {kind: min(1.0, value / whole) for kind, value in values.items()}
        found |= {name: min(shares.values()), **{f"{name}:{kind}": share for kind, share in shares.items()}}
    return found


@functools.cache
def _of_categories(metric: Any) -> float:
    return _at_best(metric, categorical_codes())


def _at_best(metric: Any, codes: Codes) -> float:
    """Returns the score of the codes or, where the metric reads points, that of columns of probabilities or of a draw;
    0 if the metric takes none of them.
    """
    readings = [codes]
    if codes.probabilities:
        readings.append(codes.with_discrete_as_columns())
    if codes.samples is not None:
        readings.append(Codes.from_arrays(codes.samples[0], factors=codes.factors))
    found = [0.0]
    for reading in readings:
        try:
            found.append(metric(reading).value)
        except CodesError:  # the metric does not take them
            continue
    return max(found)


_DRAWS = Sampled(num_samples=500)
_METRICS: dict[str, Any] = {
    "Z-diff": ZDiff(num_train=500, num_test=300),
    "SAP": SAP(),
    "MIG": MIG(_DRAWS),
    "DCI, LASSO": DCI("lasso", num_refits=0),
    "DCI, forest": DCI("forest", num_refits=0),
    "Modularity": Modularity(MeansHistogram()),
    "Explicitness": Explicitness(),
    "WSEPIN": SEPIN(_DRAWS),
    "WINDIN": INDIN(_DRAWS),
    "RMIG": RMIG(),
    "JEMMIG": JEMMIG(),
}
FACTS = tuple(_METRICS)
"""The metrics, by their labels."""


def _quality(label: str, codes: Codes) -> float:
    """Returns the score, higher for better codes; of DCI how well the factors are predicted."""
    metric = _METRICS[label]
    score = metric(codes)
    if label.startswith("DCI"):
        return max(0.0, 1 - score.parts["test_error"].value)
    if label == "Explicitness" or not metric.needs_factors:
        return float(score.value)
    return float(1 - score.value if label == "JEMMIG" else score.value)


def compute_facts(label: str, seed: int) -> Numbers:
    """Returns 1 or 0 for every column, and what was measured for those that are measured."""
    metric = _METRICS[label]
    plain, folded = _quality(label, folded_codes()), _quality(label, folded_codes(folded=True))
    kept, moved = folded / plain, abs(metric(folded_codes(std=0.5)).value - metric(folded_codes()).value)
    return {
        "classifier": metric.fits_predictor,
        "nonlinear": kept >= 0.9,
        "nonlinear:share of the score kept": kept,
        "posterior": moved > 1e-3,
        "posterior:change with the width of q(z | x)": moved,
        "continuous": "continuous factors" in metric.accepts,
        "no_factors": not metric.needs_factors,
    }
