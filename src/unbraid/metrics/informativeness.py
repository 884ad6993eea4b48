"""Information of latents about the image."""

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, final

import torch
from torch import Tensor

from unbraid.errors import SpecError
from unbraid.information.delta_method import Averages
from unbraid.information.exact_joint import MAX_JOINT_IMAGES, exact_joint_entropy
from unbraid.information.latent_information import LatentInformation
from unbraid.metrics.estimators import Estimator, Sampled
from unbraid.metrics.information_metric import check_entropies, information_score
from unbraid.metrics.metric import Feature, Interval, Metric, Score, Value
from unbraid.metrics.reductions.statistics import Statistics
from unbraid.metrics.sampled_metric import ANY_LABELS, Conditional, labels_aside, sampled_entropies, sampled_score
from unbraid.metrics.separation_metric import Terms, check_floor

_ONE_AT_A_TIME = "The exact estimator is for single latents, so the value is the mean of I(x, z_i) instead of I(x, z)."


@final
@dataclass(frozen=True)
class Informativeness(Metric):
    """Information of the latents about the image, I(x, z) and I(x, z_i) (Do & Tran, arXiv:1908.09961v4, section 3.1).

    I(x, z) = H(z) - H(z | x) and, for each latent, I(x, z_i) = H(z_i) - H(z_i | x), in nats. Neither higher nor
    lower is better, because a code may also contain information about noise.

    The value depends on the estimator. With `Sampled()`, it is I(x, z) of all latents together. With `Quantized()` and
    other estimators with B bins, it is the mean over latents of I(x, z_i) / log B, from 0 to 1. With `Exact()`, it is
    the mean over latents of I(x, z_i) by quadrature. For one or two latents and at most 1,000 images, the part "joint"
    is I(x, z).
    """

    bounds: ClassVar[tuple[float, float]] = (-math.inf, math.inf)
    quantity: ClassVar[str] = "informativeness of all latents"
    higher_is_better: ClassVar[bool | None] = None
    needs_factors: ClassVar[bool] = False

    estimator: Estimator = Sampled()
    """Estimator of information."""
    conditional: Conditional = "analytic"
    """Computation of H(. | x): in closed form, or as an average over draws as in Do & Tran's code (mc)."""
    density_floor: float | None = None
    """Minimum density, as in Do & Tran's code; None for no minimum."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_entropies("Informativeness", self.estimator)
        if self.density_floor is not None and not isinstance(self.estimator, Sampled):
            raise SpecError(
                f"Informativeness: density_floor is {self.density_floor}; expected None for the estimator "
                f"{self.estimator}. Omit density_floor, or use Sampled()."
            )
        check_floor("Informativeness", self.density_floor, self.conditional)

    @property
    def settings(self) -> dict[str, Any]:
        of_draws = () if isinstance(self.estimator, Sampled) else ("conditional", "density_floor")
        return {name: setting for name, setting in super().settings.items() if name not in of_draws}

    @property
    def accepts(self) -> frozenset[Feature]:
        accepted = self.estimator.accepts | ANY_LABELS
        return accepted if self.density_floor is None else accepted - {"correlated posteriors", "discrete latents"}

    def measure(self, statistics: Statistics) -> Score:
        if isinstance(self.estimator, Sampled):
            return self._jointly(statistics, self.estimator)
        return self._by_latent(labels_aside(statistics))

    def _jointly(self, statistics: Statistics, estimator: Sampled) -> Score:
        entropies = sampled_entropies(statistics, estimator, self.conditional, self.density_floor)
        return sampled_score(self, estimator, statistics, entropies, self._sampled_numbers)

    def _sampled_numbers(self, averages: Averages) -> dict[str, Tensor]:
        terms = Terms.of(averages, clip=self.density_floor is not None)
        of_groups = averages["groups"] - averages["groups_given_image"]
        return {
            "value": terms.joint,
            "mean_over_latents": terms.each.mean(),
            **{f"group_{number}": of_group for number, of_group in enumerate(of_groups)},
            "per_latent": terms.each,
            "latent_entropy": averages["each"],
            "latent_entropy_given_image": averages["each_given_image"],
            "joint_entropy": averages["joint"][None],
            "joint_entropy_given_image": averages["joint_given_image"][None],
        }

    def _by_latent(self, statistics: Statistics) -> Score:
        most, bounds = _largest(statistics, self.estimator)
        has_bins = self.estimator.num_bins is not None

        def numbers(information: LatentInformation) -> dict[str, Tensor]:
            each = information.informativeness
            return {
                "value": _share(each, most).mean(),
                "per_latent": _share(each, most),
                "informativeness": each,
                "latent_entropy": information.entropy,
                "latent_entropy_given_image": information.entropy_given_image,
            } | ({"share_of_entropy": _share(each, information.entropy)} if has_bins else {})

        score = information_score(self, self.estimator, statistics, numbers, bounds)
        if has_bins:
            return score
        joint = self._joint(statistics, Value(score.value, score.interval))
        return replace(
            score,
            parts={} if joint is None else {"joint": joint},
            notes=score.notes if len(most) == 1 else (*score.notes, _ONE_AT_A_TIME),
        )

    def _joint(self, statistics: Statistics, value: Value) -> Value | None:
        """Returns I(x, z) by quadrature, with an error estimated from draws, or None if there are too many latents."""
        codes = statistics.codes
        if codes.num_latents == 1:
            return value
        if codes.mean.shape[1] != 2 or codes.probabilities or len(codes) > MAX_JOINT_IMAGES:
            return None
        joint = exact_joint_entropy(statistics.posteriors) - statistics.posteriors.entropy().joint
        if not statistics.with_intervals:
            return Value(float(joint))
        entropies = sampled_entropies(statistics, Sampled(), "analytic")
        error = entropies.standard_error_of_images(lambda averages: averages["joint"] - averages["joint_given_image"])
        return Value.from_standard_error(joint, error)


def _share(part: Tensor, whole: Tensor) -> Tensor:
    """Returns part / whole, or 0 if whole is 0."""
    return torch.where(whole > 0, part / torch.where(whole > 0, whole, 1.0), 0.0)


def _largest(statistics: Statistics, estimator: Estimator) -> tuple[Tensor, Interval]:
    """Returns the divisors of I(x, z_i), and the bounds of the quotients.

    With bins, the divisor is the logarithm of the number of bins or categories of the latent. Otherwise it is 1.
    """
    codes = statistics.codes
    logs = [1.0] * codes.num_latents
    if estimator.num_bins:
        logs = [math.log(estimator.num_bins)] * codes.mean.shape[1]
        logs += [math.log(table.shape[1]) for table in codes.probabilities]
    bounds = (0.0, 1.0) if estimator.num_bins else (-math.inf, math.inf)
    return torch.tensor(logs, dtype=torch.float64, device=codes.mean.device), bounds
