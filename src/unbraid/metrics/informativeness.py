"""How much the latents say of the image."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, Literal, assert_never, final, get_args

import torch
from torch import Tensor

from unbraid.errors import SpecError
from unbraid.information.delta import Averages, standard_error
from unbraid.information.exact import Quadrature, uses_cells
from unbraid.information.exact_joint import MAX_JOINT_IMAGES, exact_joint_entropy
from unbraid.information.latent_information import LatentInformation
from unbraid.information.quantised import Bins, Masses
from unbraid.metrics.bin_range import with_range_checked
from unbraid.metrics.metric import Feature, Metric, Score, Value
from unbraid.metrics.sampled_entropies import Conditional, sampled_entropies
from unbraid.metrics.sampled_metric import ANY_LABELS, check_sampling, labels_aside, sampled_score
from unbraid.metrics.separation_metric import Terms, check_floor
from unbraid.metrics.statistics import Statistics

InformativenessEstimator = Literal["sampled", "quantised", "exact"]


@final
@dataclass(frozen=True)
class Informativeness(Metric):
    """I(x, z) = H(z) - H(z | x) and, latent by latent, I(x, z_i) = H(z_i) - H(z_i | x), in nats. Neither good nor bad:
    noise may be memorised.

    Do & Tran, arXiv:1908.09961v4, section 3.1. `estimator` decides what the value is. "sampled": I(x, z) of all latents
    together, from `num_samples` draws made with `seed` (see `SampledMetric` for `conditional`, `SeparationMetric` for
    `density_floor`). "quantised": the mean over latents of I(x, z_i) / log B in B = `num_bins` bins, from 0 to 1.
    "exact": the mean over latents of I(x, z_i), by quadrature; with one or two latents and at most 1,000 images also
    the part "joint", I(x, z).
    """

    bounds: ClassVar[tuple[float, float]] = (-math.inf, math.inf)
    higher_is_better: ClassVar[bool | None] = None
    needs_factors: ClassVar[bool] = False

    estimator: InformativenessEstimator = "sampled"
    num_samples: int = 10_000
    seed: int = 0
    conditional: Conditional = "analytic"
    density_floor: float | None = None
    num_bins: int = 100
    low: float = -4.0
    high: float = 4.0
    masses: Masses = "erf_edge"
    quadrature: Quadrature = "auto"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.estimator not in get_args(InformativenessEstimator):
            raise SpecError(
                f"Informativeness: there is no estimator {self.estimator!r}. Use one of "
                f"{', '.join(get_args(InformativenessEstimator))}."
            )
        if self.quadrature not in get_args(Quadrature):
            raise SpecError(
                f"Informativeness: there is no quadrature {self.quadrature!r}. Use one of "
                f"{', '.join(get_args(Quadrature))}."
            )
        if self.num_bins < 2:
            raise SpecError(
                f"Informativeness: num_bins is {self.num_bins}; with fewer than 2 bins no latent says anything. 100 "
                "is usual."
            )
        if self.density_floor is not None and self.estimator != "sampled":
            raise SpecError(
                f"Informativeness: density_floor is for the sampled estimator, and this is {self.estimator}. Drop it."
            )
        check_sampling("Informativeness", self.num_samples, self.conditional)
        check_floor("Informativeness", self.density_floor, self.conditional)
        _ = self.bins  # refuses a range that is none

    @property
    def bins(self) -> Bins:
        return Bins(self.num_bins, self.low, self.high, self.masses)

    @property
    def accepts(self) -> frozenset[Feature]:
        always: frozenset[Feature] = ANY_LABELS | {"weights", "correlated posteriors", "discrete latents"}
        if self.estimator == "quantised":
            return always | {"draws without densities"}
        return always if self.density_floor is None else always - {"correlated posteriors", "discrete latents"}

    def measure(self, statistics: Statistics) -> Score:
        match self.estimator:
            case "sampled":
                return self._sampled(statistics)
            case "quantised":
                return self._quantised(labels_aside(statistics))
            case "exact":
                return self._exact(labels_aside(statistics))
            case _:
                assert_never(self.estimator)

    def _sampled(self, statistics: Statistics) -> Score:
        entropies = sampled_entropies(statistics, self.num_samples, self.seed, self.conditional, self.density_floor)
        used = ("estimator", "num_samples", "seed", "conditional", "density_floor")
        settings = {name: getattr(self, name) for name in used} | statistics.draws_settings(self.num_samples, self.seed)
        return sampled_score("Informativeness", entropies, self._sampled_numbers, self.bounds, settings)

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

    def _quantised(self, statistics: Statistics) -> Score:
        information = statistics.quantised(self.bins)
        most = _log_values(statistics, self.num_bins)
        error = _error_of_mean(information, statistics.quantised_influences(self.bins), most, len(statistics.codes))
        value = Value.of(_mean(information, most), error, (0.0, 1.0))
        settled, notes = self._settled(value, statistics, most)
        entropy = information.entropy
        score = Score(
            metric="Informativeness",
            value=value.value,
            interval=value.interval,
            per_latent=tuple(_share(information.informativeness, most).tolist()),
            tables=_tables(information) | {"share_of_entropy": _share(information.informativeness, entropy)},
            settled=settled,
            notes=notes,
            settings={"estimator": self.estimator, **asdict(self.bins)},
        )
        return with_range_checked(score, statistics, self.bins)

    def _settled(self, value: Value, statistics: Statistics, most: Tensor) -> tuple[bool | None, tuple[str, ...]]:
        """Whether twice as many bins leave I(x, z_i) within the interval (over the same log B), judged by a subset of
        the images.
        """
        some, finer = statistics.subset(), replace(self.bins, num_bins=2 * self.num_bins)
        change = float(_mean(some.quantised(finer), most) - _mean(some.quantised(self.bins), most))
        if math.isnan(value.value + change):
            return None, ()
        low, high = value.interval or (-math.inf, math.inf)
        if low - 1e-9 <= value.value + change <= high + 1e-9:
            return True, ()
        nats = change * float(most.mean())
        return False, (
            (
                f"{finer.num_bins} bins in place of {self.num_bins} would move I(x, z_i) by {nats:+.2g} nats on average"
                ", beyond the interval."
            ),
        )

    def _exact(self, statistics: Statistics) -> Score:
        information = statistics.exact(self.quadrature)
        one = torch.ones_like(information.entropy)
        value = Value.of(
            _mean(information, one),
            _error_of_mean(information, statistics.density_influences(), one, len(statistics.codes)),
        )
        joint = self._exact_joint(statistics, information, value)
        note = "The exact estimator sees one latent at a time: the value is the mean of I(x, z_i), not I(x, z)."
        quadrature = "binned" if uses_cells(len(statistics.codes), self.quadrature) else "direct"
        return Score(
            metric="Informativeness",
            value=value.value,
            interval=value.interval,
            parts={"joint": joint} if joint is not None else {},
            per_latent=tuple(information.informativeness.tolist()),
            tables=_tables(information),
            notes=() if len(one) == 1 else (note,),
            settings={"estimator": self.estimator, "quadrature": quadrature},
        )

    def _exact_joint(self, statistics: Statistics, information: LatentInformation, value: Value) -> Value | None:
        """I(x, z) where it can be integrated; its error is that of the images, as draws see it."""
        codes = statistics.codes
        if len(information.entropy) == 1:
            return value
        if codes.mean.shape[1] != 2 or codes.probabilities or len(codes) > MAX_JOINT_IMAGES:
            return None
        joint = exact_joint_entropy(statistics.posteriors) - statistics.posteriors.entropy().joint
        entropies = sampled_entropies(statistics, self.num_samples, self.seed, "analytic")
        error = entropies.standard_error_of_images(lambda averages: averages["joint"] - averages["joint_given_image"])
        return Value.of(joint, error)


def _mean(information: LatentInformation, most: Tensor) -> Tensor:
    return _share(information.informativeness, most).mean()


def _share(part: Tensor, whole: Tensor) -> Tensor:
    """part / whole, and 0 where there is no whole."""
    return torch.where(whole > 0, part / torch.where(whole > 0, whole, 1.0), 0.0)


def _log_values(statistics: Statistics, num_bins: int) -> Tensor:
    """log of the number of values that each latent has: its bins, or its categories."""
    codes = statistics.codes
    logs = [math.log(num_bins)] * codes.mean.shape[1] + [math.log(table.shape[1]) for table in codes.probabilities]
    return torch.tensor(logs, dtype=torch.float64, device=codes.mean.device)


def _error_of_mean(
    information: LatentInformation, influences: Mapping[str, Tensor], most: Tensor, num_images: int
) -> Tensor:
    def mean(averages: Averages) -> Tensor:
        return _share(averages["entropy"] - averages["entropy_given_image"], most).mean()

    averages = {"entropy": information.entropy, "entropy_given_image": information.entropy_given_image}
    return standard_error(mean, averages, {name: influences[name] for name in averages}, float(num_images))


def _tables(information: LatentInformation) -> dict[str, Any]:
    return {
        "informativeness": information.informativeness,
        "latent_entropy": information.entropy,
        "latent_entropy_given_image": information.entropy_given_image,
    }
