"""Metrics that are functions of joint entropies, averaged over draws from the aggregate posterior."""

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

# A smaller change is rounding: sums of float32 terms are exact to 1e-5 nats.
_ROUNDING = 1e-5

# What a metric accepts that does not read labels.
ANY_LABELS: frozenset[Feature] = frozenset(OF_FACTORS)

Conditional = Literal["analytic", "mc"]

# The sets of latents with entropies: each alone, all, all but one, and the groups of the codes.
_SETS = ("each", "joint", "without", "groups")


@final
@dataclass(frozen=True)
class _Average:
    """An average over draws or images, with its influences.

    `half` is the average over the first half of the draws. `of_draws` is the influence of each draw on an average over
    draws. `of_images` holds two estimates of the influence of each draw's image: the closed form of the image and the
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

    The averages are "each" for H(z_i), "joint" for H(z), "without" for H(z_not_i), "groups" for H(z_group), and
    for example "each_given_image" for H(z_i | x).
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

        Its variance is the sum of the Monte-Carlo variance of the draws and the variance of the images.
        """
        of_draws = {name: entry.of_draws for name, entry in self.entries.items() if entry.of_draws is not None}
        error = standard_error(function, self.averages, of_draws, float(self.num_draws))
        return (error.square() + self.standard_error_of_images(function).square()).sqrt()

    def standard_error_of_images(self, function: Callable[[Averages], Tensor]) -> Tensor:
        """Returns an upper estimate of the error of the images.

        The influence of an image is a mean over its posterior; a single draw estimates this mean with noise. Closed
        forms lower the noise for some functions (the KL) and raise it for others (I(x, z), where it would cancel).
        Both estimates are too large, so the smaller is returned.
        """
        known = {name: entry.of_images for name, entry in self.entries.items() if entry.of_images is not None}
        closed, at_draws = ({name: pair[way] for name, pair in known.items()} for way in (0, 1))
        errors = [standard_error(function, self.averages, rows, self.num_images) for rows in (closed, at_draws)]
        return torch.minimum(*errors)

    def with_mean_of(self, name: str, terms: Tensor) -> "SampledEntropies":
        """Adds the average over draws of `terms`, one row per draw."""
        away = _deviations(terms)
        half = terms[: (len(terms) + 1) // 2].mean(dim=0)
        return self._with(name, _Average(terms.mean(dim=0), half, away, (away, away)))

    def with_closed_form(self, name: str, average: Tensor, of_images: Tensor, at_draws: Tensor) -> "SampledEntropies":
        """Adds an average over all images; `of_images` are terms of the images of draws, `at_draws` terms at draws."""
        return self._with(name, _Average(average, average, None, (_deviations(of_images), _deviations(at_draws))))

    def with_constant(self, name: str, value: Tensor) -> "SampledEntropies":
        """Adds a constant without a standard error."""
        return self._with(name, _Average(value, value))

    def beside(self, other: "SampledEntropies", prefix: str) -> "SampledEntropies":
        """Adds the entropies of an equal number of independent draws of the same codes, with prefixed names."""
        others = {f"{prefix}{name}": entry for name, entry in other.entries.items()}
        return replace(self, entries={**self.entries, **others})

    def _with(self, name: str, entry: _Average) -> "SampledEntropies":
        return replace(self, entries={**self.entries, name: entry})


def _deviations(terms: Tensor) -> Tensor:
    """Returns the terms minus their mean, one row per term."""
    return (terms - terms.mean(dim=0)).reshape(len(terms), -1)


def sampled_entropies(
    statistics: Statistics,
    estimator: Sampled,
    conditional: Conditional,
    density_floor: float | None = None,
    groups: Groups | None = None,
) -> SampledEntropies:
    """Returns the entropies of these codes (Do & Tran, arXiv:1908.09961v4, appendix A.10).

    H(. | x) is in closed form over all images ("analytic") or averaged over the same draws ("mc"). `groups` defaults to
    the groups of the codes. `density_floor` reproduces the values of the authors' code (`log_densities`).
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
    """A metric computed from `SampledEntropies`: averages over the draws of `estimator`.

    Densities are those of the mixture of all images. With `conditional="mc"` the noise of H(. | x) cancels in I(x, z),
    which is at most log N for every draw. All metrics with equal settings share one pass over draws and images.
    """

    estimator: Sampled = Sampled()
    """The number of draws, and their seed."""
    conditional: Conditional = "analytic"
    """The computation of H(. | x): in closed form over all images, or over the same draws as in Do & Tran's code."""

    @property
    def accepts(self) -> frozenset[Feature]:
        return ANY_LABELS | {"weights", "correlated posteriors", "discrete latents"}

    @abstractmethod
    def entropies(self, statistics: Statistics) -> SampledEntropies:
        """Returns the averages for `numbers`."""

    @abstractmethod
    def numbers(self, averages: Averages) -> dict[str, Tensor]:
        """Returns all values of the score, as differentiable tensors.

        The keys are "value" and the parts (scalars), "per_latent" (a vector), and the tables.
        """

    def notes(self, codes: Codes) -> tuple[str, ...]:
        """Returns notes on these codes, by default none."""
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
    """Returns the score with the values computed by `numbers` from sampled entropies.

    The score is settled if half of the draws give a value within its interval.
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
    """Returns the statistics without continuous factors, which estimators reject and the metric does not read."""
    if any(labels.is_continuous for labels in statistics.codes.factors):
        return statistics.restricted(lambda labels: not labels.is_continuous)
    return statistics
