import pytest
import torch

from unbraid.codes import Codes, Labels
from unbraid.metrics import DCI, SAP, TopAttributes
from unbraid.metrics.reductions.pearson import label_numbers


def test_whole_numbers_count_from_the_least_known():
    labels = Labels("a", torch.tensor([-1, 7, 5]), torch.tensor([False, True, True]))
    assert label_numbers(labels)[1:].tolist() == [2, 0]


def test_numbers_at_either_end_of_64_bits_stay():
    ends = torch.tensor([-(2**63), 2**63 - 1])
    assert label_numbers(Labels("a", ends)).tolist() == ends.tolist()


@pytest.mark.parametrize(
    "metric",
    [DCI(num_refits=0), TopAttributes(), SAP(factors_as="measurements")],
    ids=lambda metric: type(metric).__name__,
)
def test_a_large_offset_of_the_labels_changes_nothing(metric):
    mean = torch.randn(90, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    values = torch.arange(90) % 3
    mean[:, 0] += values

    def value(offset):
        return metric(
            Codes(mean, factors=(Labels("a", values + offset), Labels("b", torch.arange(90) // 45 + offset)))
        ).value

    assert value(2**52) == value(0)
