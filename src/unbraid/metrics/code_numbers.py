"""What the numbers of codes may be: too large to square, or whole and given as measurements."""

from unbraid.codes import Codes
from unbraid.errors import CodesError

# The squares of larger numbers, summed over a dataset, would overflow.
_LARGEST = 1e150


def check_magnitude(codes: Codes) -> None:
    """Raises if squares of the numbers overflow: every metric would see infinities."""
    for what, table in (("mean", codes.mean), ("std", codes.marginal_std), ("draw", codes.samples)):
        largest = 0.0 if table is None or table.numel() == 0 else float(table.abs().max())
        if largest > _LARGEST:
            raise CodesError(
                f"The largest {what} is {largest:g}, and its square is no float64. Divide the latents by a constant "
                "first."
            )


def whole_floats(codes: Codes) -> list[str]:
    """Returns the factors whose labels are floats, all of them whole numbers, some of which occur more than once."""
    continuous = {labels.name: labels.values[labels.is_known] for labels in codes.factors if labels.is_continuous}
    return [
        name
        for name, values in continuous.items()
        if bool((values == values.round()).all()) and len(values.unique()) < len(values)
    ]
