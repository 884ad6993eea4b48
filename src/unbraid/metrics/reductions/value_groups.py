"""Images grouped by factor value, for draws of pairs and batches with a common value."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from unbraid._internal.row_draws import ImagesByValue
from unbraid.errors import SpecError
from unbraid.metrics.reductions.statistics import Statistics

Groups = tuple[ImagesByValue, ...]

# Maximum number of drawn images: their indices take 8 GB.
_MAX_DRAWN = 10**9


def varying_factors(statistics: Statistics) -> tuple[int, ...]:
    """Returns the indices of the factors with more than one value."""
    return tuple(k for k, varies in enumerate(statistics.varies) if varies)


def drawn_points(
    statistics: Statistics, num_train: int, num_test: int, draw: Callable[[Groups, int, str], tuple[Tensor, ...]]
) -> tuple[Tensor, ...]:
    """Draws training points, then test points. A point is the index of a varying factor, and rows of images.

    The arguments of `draw` are the images by value of each varying factor, the number of points, and a suffix of the
    random stream. If there are separate test images, the test points are drawn from these images.
    """
    num_fitted, varying = statistics.num_fitted, varying_factors(statistics)

    def groups(part: Statistics) -> Groups:
        codes = part.codes
        key = ("value_groups", varying)
        return part.once(
            key,
            lambda: tuple(ImagesByValue.from_assignment(codes.factors[k].assignment(), codes.weights) for k in varying),
        )

    if num_fitted is None:
        return draw(groups(statistics), num_train + num_test, "")
    factor, *rows = draw(groups(statistics.fitted_part), num_train, "/train")
    test_factor, *test_rows = draw(groups(statistics.tested_part), num_test, "/test")
    below = (torch.cat([ours, num_fitted + theirs]) for ours, theirs in zip(rows, test_rows, strict=True))
    return torch.cat([factor, test_factor]), *below


def chunks(num_points: int, num_each: int) -> Sequence[slice]:
    """Returns slices of the points with about half a million images each, to limit memory."""
    size = max(1, 500_000 // num_each)
    return [slice(start, min(num_points, start + size)) for start in range(0, num_points, size)]


def check_num_drawn(name: str, num_points: int, setting: str, num_each: int) -> None:
    """Raises SpecError if too many images would be drawn."""
    if num_points * num_each > _MAX_DRAWN:
        raise SpecError(
            f"{name}: {num_points:,} points with {setting}={num_each:,} need {num_points * num_each:,} images; "
            f"expected at most {_MAX_DRAWN:,}. Use a smaller {setting}."
        )


def of_one_factor(varying: Sequence[int]) -> tuple[str, ...]:
    """Returns a note if only one factor varies, for scores that predict the factor."""
    return ("Only one factor varies, so the score is 1 by construction.",) if len(varying) == 1 else ()
