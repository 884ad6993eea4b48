"""Seeds, whichever library's integers they are."""

import operator
from typing import Any

from unbraid.errors import SpecError


def whole_seed(seed: Any) -> int:
    """Returns the seed as a plain integer from 0 to 2**63 - 1, whichever library's integer it is."""
    try:
        number = None if isinstance(seed, bool) else operator.index(seed)
    except TypeError:
        number = None
    if number is None or not 0 <= number < 2**63:
        raise SpecError(f"A seed is {seed!r}; expected a whole number from 0 to 2**63 - 1, such as in seeds=[0, 1, 2].")
    return number
