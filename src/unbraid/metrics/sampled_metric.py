"""Base class of metrics that are functions of joint entropies, averaged over draws from the aggregate posterior."""

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal, final

import torch
from torch import Tensor

from unbraid.codes import Codes
from unbraid.information.delta_method import Averages, standard_error
from unbraid.information.posteriors import Draws
from unbraid.information.sampled import LogDensities, log_densities
from unbraid.metrics.estimators import Sampled
from unbraid.metrics.estimators.estimator import settled
from unbraid.metrics.estimators.sampled import FIRST_HALF, Groups
from unbraid.metrics.metric import OF_FACTORS, Feature, Metric, Score, Value, score_fields
from unbraid.metrics.reductions.statistics import Statistics

# Smaller changes are rounding errors of float32 terms.
_ROUNDING = 1e-5

# Properties of labels that are accepted by metrics which do not read labels.
ANY_LABELS: frozenset[Feature] = frozenset(OF_FACTORS)

Conditional = Literal["analytic", "mc"]

# Sets of latents with entropies: single latents, all latents, all latents except one, and the groups of the codes.
_SETS = ("each", "joint", "without", "groups")


@final
@dataclass(frozen=True)
class _Average:
    """Average over draws or images, with influences.

    `half` is the average over the first half of the draws. `of_draws` is the influence of each draw on an average over
    draws. `of_images` contains two estimates of the influence of the image of each draw: in closed form, and from the
    value at the draw.
    """

    mean: Tensor
    half: Tensor
    of_draws: Tensor | None = None
    of_images: tuple[Tensor, Tensor] | None = None


@final
@dataclass(frozen=True)
class SampledEntropies:
    """Entropies of the aggregate posterior and of the posteriors, averaged over draws, in nats.

    The averages are "each" for H(z_i), "joint" for H(z), "without" for H(z_not_i) and "groups" for H(z_group). The
    suffix "_given_image" denotes conditional entropies, e.g. "each_given_image" for H(z_i | x).
    """

    entries: Mapping[str, _Average]
    num_draws: int
    num_images: float

    @property
    def averages(self) -> Averages:
        return {name: entry.mean for name, entry in self.entries.items()}

    @property
    def half(self) -> Averages:
        """Averages over the first half of the draws."""
        return {name: entry.half for name, entry in self.entries.items()}

    def standard_error(self, function: Callable[[Averages], Tensor]) -> Tensor:
        """Returns the standard error of a function of the averages.

        The variance is the sum of the Monte Carlo variance of the draws and the sampling variance of the images.
        """
        of_draws = {name: entry.of_draws for name, entry in self.entries.items() if entry.of_draws is not None}
        error = standard_error(function, self.averages, of_draws, float(self.num_draws))
        return (error.square() + self.standard_error_of_images(function).square()).sqrt()

    def standard_error_of_images(self, function: Callable[[Averages], Tensor]) -> Tensor:
        """Returns an upper estimate of the standard error due to the sampling of images.

        The influence of an image is a mean over its posterior. A single draw is a noisy estimate of this mean. Closed
        forms reduce the noise for some functions, such as the KL, and increase it for others, such as I(x, z), where
        it would cancel. Both estimates are too large, so the smaller estimate is returned.
        """
        known = {name: entry.of_images for name, entry in self.entries.items() if entry.of_images is not None}
        closed, at_draws = ({name: pair[way] for name, pair in known.items()} for way in (0, 1))
        errors = [standard_error(function, self.averages, rows, self.num_images) for rows in (closed, at_draws)]
        return torch.minimum(*errors)

    def with_mean_of(self, name: str, terms: Tensor) -> "SampledEntropies":
        """Adds the average over draws of `terms`, which has one row per draw."""
        away = _deviations(terms)
        half = terms[: (len(terms) + 1) // 2].mean(dim=0)
        return self._with(name, _Average(terms.mean(dim=0), half, away, (away, away)))

    def with_closed_form(self, name: str, average: Tensor, of_images: Tensor, at_draws: Tensor) -> "SampledEntropies":
        """Adds an average over all images, with the terms of the images of the draws and the terms at the draws."""
        return self._with(name, _Average(average, average, None, (_deviations(of_images), _deviations(at_draws))))

    def with_constant(self, name: str, value: Tensor) -> "SampledEntropies":
        """Adds a constant without a standard error."""
        return self._with(name, _Average(value, value))

    def beside(self, other: "SampledEntropies", prefix: str) -> "SampledEntropies":
        """Adds the entropies of independent draws of the same codes, with a prefix of their names."""
        others = {f"{prefix}{name}": entry for name, entry in other.entries.items()}
        return replace(self, entries={**self.entries, **others})

    def _with(self, name: str, entry: _Average) -> "SampledEntropies":
        return replace(self, entries={**self.entries, name: entry})


def _deviations(terms: Tensor) -> Tensor:
    """Returns the deviations of the terms from their mean, one row per term."""
    return (terms - terms.mean(dim=0)).reshape(len(terms), -1)


def sampled_entropies(
    statistics: Statistics,
    estimator: Sampled,
    conditional: Conditional,
    density_floor: float | None = None,
    groups: Groups | None = None,
) -> SampledEntropies:
    """Estimates the entropies of codes from draws (Do & Tran, arXiv:1908.09961v4, appendix A.10).

    H(. | x) is computed in closed form for all images ("analytic") or as an average over the same draws ("mc").
    `groups` defaults to the groups of the codes. `density_floor` reproduces the values of the authors' code; see
    `log_densities`.
    """
    grouped = statistics.codes.groups if groups is None else groups

    def compute() -> SampledEntropies:
        draws = estimator.draws(statistics)
        if density_floor is None:
            logs = estimator.log_densities(statistics, grouped)
        else:
            logs = log_densities(statistics.posteriors, draws, grouped, floor=density_floor)
        found = SampledEntropies({}, len(draws), statistics.num_effective_images)
        for name in _SETS:
            found = found.with_mean_of(name, -getattr(logs, name))
        if conditional == "analytic":
            return _with_closed_forms(found, statistics, draws, logs, grouped)
        for name in _SETS:
            found = found.with_mean_of(f"{name}_given_image", -getattr(logs, f"{name}_given_image"))
        return found

    return statistics.once(("sampled_entropies", estimator, conditional, density_floor, grouped), compute)


def _with_closed_forms(
    found: SampledEntropies, statistics: Statistics, draws: Draws, logs: LogDensities, groups: Groups
) -> SampledEntropies:
    posteriors, weights = statistics.posteriors, statistics.weights
    closed = posteriors.entropy()
    of_groups = [weights @ posteriors.entropy_of_group(group) for group in groups]
    averages = (closed.each, closed.joint, closed.without, torch.stack(of_groups) if groups else weights.new_zeros(0))
    of_groups = [posteriors.entropy_of_group(group, draws.image) for group in groups]
    of_images = (
        *posteriors.entropy_of_images(draws.image),
        torch.stack(of_groups, dim=1) if groups else weights.new_zeros(len(draws), 0),
    )
    for name, average, of_image in zip(_SETS, averages, of_images, strict=True):
        given = f"{name}_given_image"
        found = found.with_closed_form(given, average, of_image, -getattr(logs, given))
    return found


@dataclass(frozen=True)
class SampledMetric(Metric):
    """Base class of metrics computed from `SampledEntropies`.

    Densities refer to the mixture over all images. With `conditional="mc"`, the noise of H(. | x) cancels in I(x, z),
    which is then at most log N. Metrics with equal settings share one pass over draws and images.
    """

    estimator: Sampled = Sampled()
    """Number and seed of the draws."""
    conditional: Conditional = "analytic"
    """Computation of H(. | x): in closed form, or as an average over draws as in Do & Tran's code (mc)."""

    @property
    def accepts(self) -> frozenset[Feature]:
        return ANY_LABELS | {"weights", "correlated posteriors", "discrete latents"}

    @abstractmethod
    def entropies(self, statistics: Statistics) -> SampledEntropies:
        """Returns the averages that are the input of `numbers`."""

    @abstractmethod
    def numbers(self, averages: Averages) -> dict[str, Tensor]:
        """Returns all results of the score by name, as differentiable tensors.

        Scalars are "value" and the parts. Other tensors are "per_latent" and tables.
        """

    def notes(self, codes: Codes) -> tuple[str, ...]:
        """Returns notes on the codes, by default none."""
        del codes
        return ()

    @final
    def measure(self, statistics: Statistics) -> Score:
        score = sampled_score(self, self.estimator, statistics, self.entropies(statistics), self.numbers)
        return replace(score, notes=(*score.notes, *self.notes(statistics.codes)))


def sampled_score(
    metric: Metric,
    estimator: Sampled,
    statistics: Statistics,
    entropies: SampledEntropies,
    numbers: Callable[[Averages], dict[str, Tensor]],
) -> Score:
    """Computes a score from the results of `numbers` for sampled entropies.

    The score is settled if the value from the first half of the draws is within the interval.
    """
    found = numbers(entropies.averages)
    scalars = [key for key, number in found.items() if number.ndim == 0]

    def stacked(averages: Averages) -> Tensor:
        moved = numbers(averages)
        return torch.stack([moved[key] for key in scalars])

    errors = dict.fromkeys(scalars, math.nan)
    if statistics.with_intervals:
        errors = dict(zip(scalars, entropies.standard_error(stacked).tolist(), strict=True))
    value = Value.from_standard_error(found["value"], errors["value"], metric.bounds)
    moved = float(numbers(entropies.half)["value"]) - value.value
    is_settled, notes = settled(value, (moved, FIRST_HALF), _ROUNDING)
    settings = metric.settings | estimator.used(statistics)
    return metric.score(value, **score_fields(found, errors), settled=is_settled, notes=notes, settings=settings)


def labels_aside(statistics: Statistics) -> Statistics:
    """Returns the statistics without continuous factors, for metrics that do not read labels."""
    if any(labels.is_continuous for labels in statistics.codes.factors):
        return statistics.restricted(lambda labels: not labels.is_continuous)
    return statistics
