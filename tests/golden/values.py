"""What the files of golden values share: the form of the inputs and of the values, and how codes are read from them."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from unbraid.codes import Codes

Arrays = Mapping[str, Tensor]
Values = dict[str, Any]

# Two latents closer than this, in nats, tie for the top; then there is no top latent to compare.
TIE = 1e-9


def codes_of(arrays: Arrays) -> Codes:
    """The codes of a metric case: mu, sigma and y."""
    return Codes.from_arrays(arrays["mu"], arrays["sigma"], factors=arrays["y"])


def has_densities(arrays: Arrays) -> bool:
    """Whether no sigma is 0, so that every posterior has a density."""
    return bool((arrays["sigma"] > 0).all())


def top_latents(mutual_information: Tensor) -> list[int | None]:
    """The latent that says most about each factor; None where the first two tie."""
    ranked = mutual_information.sort(dim=0, descending=True, stable=True)
    if len(mutual_information) == 1:
        return ranked.indices[0].tolist()
    tied = (ranked.values[0] - ranked.values[1] < TIE).tolist()
    return [None if tie else top for top, tie in zip(ranked.indices[0].tolist(), tied, strict=True)]
