"""Arrays in files, for the tests of data of one's own."""

import numpy as np

from unbraid.datasets import FromArrays

IMAGES = np.arange(4 * 5 * 6, dtype=np.uint8).reshape(4, 5, 6)


def saved(path, **content):
    np.savez(path, **content)
    return FromArrays(str(path))
