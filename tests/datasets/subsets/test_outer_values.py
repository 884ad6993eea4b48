"""Images but those in which something is extreme."""

import pytest
import torch

from unbraid.datasets.dataset import Factor
from unbraid.datasets.subsets import OuterValues
from unbraid.errors import SpecError

FACTORS = (Factor("digit", 3, ordered=False), Factor("thickness", 0))
VALUES = torch.tensor([[0, 9.0], [1, 3.0], [1, 5.0], [1, 1.0], [1, 4.0], [1, 2.0], [2, 8.0]])


@pytest.mark.parametrize(("side", "left_out"), [("high", [2, 4]), ("low", [3, 5])])
def test_the_outer_share_of_the_images_looked_at_is_left_out(side, left_out):
    subset = OuterValues("thickness", "digit", 1, fraction=0.4, side=side)
    kept = subset.rows(FACTORS, VALUES).tolist()
    assert subset.complement().rows(FACTORS, VALUES).tolist() == left_out
    assert sorted(kept + left_out) == list(range(7))


def test_a_factor_without_order_and_a_value_that_is_none_are_refused():
    with pytest.raises(SpecError, match="have no order"):
        OuterValues("digit", "digit", 1).rows(FACTORS, VALUES)
    with pytest.raises(SpecError, match="digit has no value 7; its values are 0 to 2"):
        OuterValues("thickness", "digit", 7).rows(FACTORS, VALUES)
    with pytest.raises(SpecError, match="fraction is 1"):
        OuterValues("thickness", "digit", 7, fraction=1.0)
