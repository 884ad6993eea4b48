"""The images of each value of each factor, from which pairs and batches that share a value are drawn."""

from collections.abc import Sequence

from unbraid.errors import SpecError
from unbraid.metrics.statistics import Statistics
from unbraid.sampling import ImagesByValue


def varying_factors(statistics: Statistics) -> tuple[int, ...]:
    """The numbers of the factors that take more than one value."""
    return tuple(k for k, varies in enumerate(statistics.varies) if varies)


def value_groups(statistics: Statistics) -> tuple[ImagesByValue, ...]:
    """The images by value of each factor that varies."""
    codes = statistics.codes

    def compute() -> tuple[ImagesByValue, ...]:
        return tuple(ImagesByValue.of(codes.factors[k].assignment(), codes.weights) for k in varying_factors(statistics))

    return statistics.once("value_groups", compute)


def chunks(num_points: int, num_each: int) -> Sequence[slice]:
    """Slices of the points that hold about half a million images each: memory stays small whatever is asked for."""
    size = max(1, 500_000 // num_each)
    return [slice(start, min(num_points, start + size)) for start in range(0, num_points, size)]


def check_counts(name: str, **counts: int) -> None:
    """Refuse a setting that counts something and is less than 1."""
    for setting, count in counts.items():
        if count < 1:
            raise SpecError(f"{name}: {setting} is {count}; expected at least 1.")
