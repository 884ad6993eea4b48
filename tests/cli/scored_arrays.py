"""Arrays that are scored, for the tests of `unbraid score`."""

import numpy as np

FACTORS = np.stack([np.arange(60) % 3, np.arange(60) // 30], axis=1)


def rows(outcome) -> list[list[str]]:
    return [line.split() for line in outcome.out.splitlines()]
