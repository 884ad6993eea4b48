"""How often seeds of one setting lie above those of another, over many pairs of settings, with seeds resampled."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float64

from unbraid.studies.statistics.averages import NUM_AVERAGED
from unbraid.studies.statistics.samples import StatisticsError, Values, checked, resamples


def shares_in_order(
    groups: Mapping[str, Values],
    pairs: Sequence[tuple[str, str]],
    *,
    seed: int = 0,
    num_resamples: int = NUM_AVERAGED,
) -> Float64[np.ndarray, " resample"]:
    """Returns the share of pairs of seeds in which the second setting of a pair lies above the first, half of ties
    counted: first as seen, then with seeds resampled within each setting.

    Over all settings of one family with all of another it is the area under the ROC curve of telling them apart; over
    all pairs of an ordered list, the share in order of a Jonckheere-Terpstra test.
    """
    if not pairs:
        raise StatisticsError("There are no pairs of settings; expected at least one.")
    rows = {}
    for name, values in groups.items():
        array = checked(values, f"values of {name}")
        drawn = resamples(array, seed, f"shares of {name}", num_resamples)
        rows[name] = np.concatenate([array[None], drawn])
    above, count = np.zeros(num_resamples + 1), 0
    for low, high in pairs:
        signs = np.sign(rows[high][:, :, None] - rows[low][:, None, :])
        above += (signs.sum(axis=(1, 2)) + signs[0].size) / 2
        count += signs[0].size
    return above / count
