"""Entropies averaged over draws from the aggregate posterior, with what each draw adds to them."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, final

import torch
from torch import Tensor

from unbraid.information.delta_method import Averages, standard_error
from unbraid.information.posteriors import Draws
from unbraid.information.sampled import LogDensities, log_densities
from unbraid.metrics.estimators import Sampled
from unbraid.metrics.estimators.sampled import Groups
from unbraid.metrics.reductions.statistics import Statistics

Conditional = Literal["analytic", "mc"]

# The sets of latents whose entropies are known: each alone, all, all but one, and the groups of the codes.
_SETS = ("each", "joint", "without", "groups")


@final
@dataclass(frozen=True)
class SampledEntropies:
    """Holds H(z_i), H(z), H(z_not_i), H(z_group) as averages "each", "joint", "without", "groups", and H(. | x) as
    "each_given_image" and so on, in nats.

    `half` are the averages over the first half of the draws. `of_draws` holds what each draw adds to an average that
    was taken over draws, a row a draw. `of_images` holds, twice, what a draw's image adds to any average: what is known
    in closed form as it is for the image, or as it is at the draw.
    """

    averages: Averages
    half: Averages
    of_draws: Averages
    of_images: tuple[Averages, Averages]
    num_draws: int
    num_images: float

    def standard_error(self, function: Callable[[Averages], Tensor]) -> Tensor:
        """Returns the error of a function of the averages: the Monte-Carlo error of the draws and the error of the
        images, whose variances add up.
        """
        of_draws = standard_error(function, self.averages, self.of_draws, float(self.num_draws))
        return (of_draws.square() + self.standard_error_of_images(function).square()).sqrt()

    def standard_error_of_images(self, function: Callable[[Averages], Tensor]) -> Tensor:
        """Returns the error of the images alone, which errs on the wide side.

        What an image adds is the mean over its posterior; one draw has that mean, and noise besides. Where a closed
        form stands in for part of it, the noise is less for some functions (the KL) and more for others (I(x, z), where
        it would cancel). Both are too wide, so the narrower is right.
        """
        errors = [standard_error(function, self.averages, deviations, self.num_images) for deviations in self.of_images]
        return torch.minimum(*errors)

    def with_mean_of(self, name: str, terms: Tensor) -> "SampledEntropies":
        """Returns these entropies with the average over draws of `terms`, one row per draw."""
        deviations = _deviations(terms)
        return replace(
            self,
            averages={**self.averages, name: terms.mean(dim=0)},
            half={**self.half, name: terms[: (len(terms) + 1) // 2].mean(dim=0)},
            of_draws={**self.of_draws, name: deviations},
            of_images=self._and_of_images(name, deviations, deviations),
        )

    def with_closed_form(self, name: str, average: Tensor, of_images: Tensor, at_draws: Tensor) -> "SampledEntropies":
        """Returns these entropies with an average over all images; `of_images` is the term of each draw's image, and
        `at_draws` the same at the draw, with its noise.
        """
        with_average = self.with_constant(name, average)
        return replace(with_average, of_images=self._and_of_images(name, _deviations(of_images), _deviations(at_draws)))

    def beside(self, other: "SampledEntropies", prefix: str) -> "SampledEntropies":
        """Returns these entropies, and those of as many other draws of the same codes, by names with a prefix. The
        draws of one are independent of those of the other, so the order in which their rows meet does not matter.
        """

        def both(one: Averages, two: Averages) -> Averages:
            return {**one, **{f"{prefix}{name}": number for name, number in two.items()}}

        first, second = (both(one, two) for one, two in zip(self.of_images, other.of_images, strict=True))
        return replace(
            self,
            averages=both(self.averages, other.averages),
            half=both(self.half, other.half),
            of_draws=both(self.of_draws, other.of_draws),
            of_images=(first, second),
        )

    def with_constant(self, name: str, value: Tensor) -> "SampledEntropies":
        """Returns these entropies with a number that is taken as known."""
        return replace(self, averages={**self.averages, name: value}, half={**self.half, name: value})

    def _and_of_images(self, name: str, closed: Tensor, at_draws: Tensor) -> tuple[Averages, Averages]:
        return {**self.of_images[0], name: closed}, {**self.of_images[1], name: at_draws}


def _deviations(terms: Tensor) -> Tensor:
    """Returns how far the terms lie from their mean, in rows."""
    return (terms - terms.mean(dim=0)).reshape(len(terms), -1)


def sampled_entropies(
    statistics: Statistics,
    estimator: Sampled,
    conditional: Conditional,
    density_floor: float | None = None,
    groups: Groups | None = None,
) -> SampledEntropies:
    """Returns the entropies of these codes. "analytic" takes H(. | x) in closed form, over all images; "mc" averages it
    over the same draws. `groups` are those of the codes, unless others are given.

    Do & Tran, arXiv:1908.09961v4, appendix A.10. `density_floor` is for the numbers of their code: see `log_densities`.
    """
    grouped = statistics.codes.groups if groups is None else groups

    def compute() -> SampledEntropies:
        draws = estimator.draws(statistics)
        if density_floor is None:
            logs = estimator.log_densities(statistics, grouped)
        else:
            logs = log_densities(statistics.posteriors, draws, grouped, floor=density_floor)
        found = SampledEntropies({}, {}, {}, ({}, {}), len(draws), statistics.num_effective_images)
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
