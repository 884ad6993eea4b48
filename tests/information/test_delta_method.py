"""The delta method: closed forms, and the spread over resamples."""

import math

import pytest
import torch

from unbraid.information.delta_method import standard_error
from unbraid.information.latent_information import LatentInformation
from unbraid.information.quantized import Bins, influences, quantize, quantized_information, quantized_statistics
from unbraid.information.value_table import ValueTable


def rows(num_rows=500, seed=0):
    x = torch.randn(num_rows, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    return x + torch.tensor([1.0, 3.0])


def test_of_a_mean_it_is_the_textbook_standard_error():
    x = rows()
    found = standard_error(lambda a: a["x"], {"x": x.mean(dim=0)}, {"x": x - x.mean(dim=0)}, 500.0)
    torch.testing.assert_close(found, x.std(dim=0, correction=0) / math.sqrt(500))


def test_it_is_the_same_where_gradients_are_switched_off():
    x = rows()
    of_x = {"x": x.mean(dim=0)}, {"x": x - x.mean(dim=0)}, 500.0
    with torch.no_grad():
        found = standard_error(lambda a: a["x"] ** 2, *of_x)
    assert torch.equal(found, standard_error(lambda a: a["x"] ** 2, *of_x))


def test_of_a_ratio_it_is_the_textbook_standard_error():
    x = rows()
    mean = x.mean(dim=0)
    found = standard_error(lambda a: a["x"][0] / a["x"][1], {"x": mean}, {"x": x - mean}, 500.0)
    ratio = mean[0] / mean[1]
    expected = ((x[:, 0] - ratio * x[:, 1]) / mean[1]).square().mean().sqrt() / math.sqrt(500)
    torch.testing.assert_close(found, expected)


def test_averages_without_deviations_are_known():
    x = rows()
    averages = {"x": x.mean(dim=0), "scale": torch.tensor(2.0).double()}
    found = standard_error(lambda a: a["scale"] * a["x"], averages, {"x": x - x.mean(dim=0)}, 500.0)
    torch.testing.assert_close(found, 2 * x.std(dim=0, correction=0) / math.sqrt(500))


def test_deviations_that_no_output_depends_on_may_be_undefined():
    x = rows()
    deviations = x - x.mean(dim=0)
    deviations[:, 1] = math.nan
    found = standard_error(lambda a: a["x"][0], {"x": x.mean(dim=0)}, {"x": deviations}, 500.0)
    torch.testing.assert_close(found, x[:, 0].std(correction=0) / math.sqrt(500))


def test_a_constant_and_no_output_at_all_have_no_error():
    x = rows()
    averages, deviations = {"x": x.mean(dim=0)}, {"x": x - x.mean(dim=0)}
    assert float(standard_error(lambda a: torch.tensor(1.0).double(), averages, deviations, 500.0)) == 0
    assert standard_error(lambda a: a["x"][:0], averages, deviations, 500.0).shape == (0,)


def test_of_an_information_it_is_the_spread_over_resamples():
    """300 resamples of 400 images give a standard deviation that is known to 4 %; it agrees with the delta method to 15
    %.
    """
    generator = torch.Generator().manual_seed(0)
    labels = torch.randint(0, 3, (400,), generator=generator)
    mean = labels[:, None] / 2 + torch.randn(400, 2, dtype=torch.float64, generator=generator)
    std, bins = torch.full_like(mean, 0.3), Bins(10)
    values = ValueTable.from_assignments((labels,), 400)
    sums = quantized_statistics(mean, std, values, bins)
    onehot = torch.nn.functional.one_hot(labels).double()
    deviations = influences(quantize(mean, std, bins), [onehot], torch.ones(400).double(), sums)
    averages = {"mutual_information": quantized_information(mean, std, values, bins).mutual_information}
    found = standard_error(lambda a: a["mutual_information"][:, 0], averages, deviations, 400.0)

    def resampled() -> LatentInformation:
        pick = torch.randint(0, 400, (400,), generator=generator)
        return quantized_information(mean[pick], std[pick], ValueTable.from_assignments((labels[pick],), 400), bins)

    spread = torch.stack([resampled().mutual_information[:, 0] for _ in range(300)]).std(dim=0)
    for delta, bootstrap in zip(found.tolist(), spread.tolist(), strict=True):
        assert delta == pytest.approx(bootstrap, rel=0.15)
