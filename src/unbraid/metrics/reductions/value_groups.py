"""The images of each value of each factor, from which pairs and batches that share a value are drawn."""

from collections.abc import Sequence

from unbraid.errors import SpecError
from unbraid.metrics.reductions.statistics import Statistics
from unbraid.sampling import ImagesByValue

# Images in all points together: their numbers take 8 GB.
_MAX_DRAWN = 10**9


def varying_factors(statistics: Statistics) -> tuple[int, ...]:
    """The numbers of the factors that take more than one value."""
    return tuple(k for k, varies in enumerate(statistics.varies) if varies)


def value_groups(statistics: Statistics) -> tuple[ImagesByValue, ...]:
    """The images by value of each factor that varies."""
    codes = statistics.codes

    def compute() -> tuple[ImagesByValue, ...]:
        return tuple(
            ImagesByValue.of(codes.factors[k].assignment(), codes.weights) for k in varying_factors(statistics)
        )

    return statistics.once("value_groups", compute)


def chunks(num_points: int, num_each: int) -> Sequence[slice]:
    """Slices of the points that hold about half a million images each: memory stays small whatever is asked for."""
    size = max(1, 500_000 // num_each)
    return [slice(start, min(num_points, start + size)) for start in range(0, num_points, size)]


def check_num_drawn(name: str, num_points: int, setting: str, num_each: int) -> None:
    """Refuse to draw more images than memory holds."""
    if num_points * num_each > _MAX_DRAWN:
        raise SpecError(
            f"{name}: {num_points:,} points of {setting}={num_each:,} are too many images; expected at most "
            f"{_MAX_DRAWN:,} in all."
        )


def of_one_factor(varying: Sequence[int]) -> tuple[str, ...]:
    """The note of a score that guesses the factor."""
    return (
        ("Only one factor varies: there is nothing to tell apart, and the score is 1 by construction.",)
        if len(varying) == 1
        else ()
    )
