"""Every metric honors the weights of images, those still to be written among them: a weight of c / N is the image
repeated c times.
"""

import functools
import itertools
import math
from dataclasses import replace

import pytest
import torch

from tests.discovery import concrete_subclasses
from unbraid._internal import row_draws
from unbraid.codes import Codes, Labels
from unbraid.errors import CodesError
from unbraid.metrics import (
    DCI,
    DCIES,
    IRS,
    JEMMIG,
    MIG,
    RMIG,
    SAP,
    SNC,
    AttributeVector,
    Downstream,
    Explicitness,
    InfoMEC,
    Informativeness,
    Modularity,
)
from unbraid.metrics.cluster_accuracy import ClusterAccuracy
from unbraid.metrics.estimators import Exact, MeansHistogram, Quantized, Sampled
from unbraid.metrics.metric import Metric
from unbraid.metrics.reductions.statistics import Statistics

EVERY = concrete_subclasses(Metric)

# These fit a predictor to some rows and test it on others. With weights the rows are drawn from p(n), an image on one
# side only; copies of an image may lie on both. So the two agree as far as their intervals say, where there are many
# images.
FITTED = (AttributeVector, DCI, DCIES, Downstream, Explicitness, InfoMEC, SAP, SNC)

# Further settings that compute the same in another way.
OTHER_WAYS = [
    *(
        metric(estimator=estimator)
        for metric in (MIG, RMIG, JEMMIG, Modularity)
        for estimator in (Exact(), Quantized(), Sampled(), MeansHistogram())
    ),
    MIG(value_weights="uniform"),
    Informativeness(Quantized()),
    SAP(factors_as="measurements"),
    IRS(quantile=1.0, value_weights="uniform"),
]


@functools.cache
def codes_and_counts(num_repeats: int) -> tuple[Codes, torch.Tensor]:
    """Codes of three factors, and how often each image is to count: as many in all as there are images, so that some do
    not count at all.
    """
    values = torch.tensor(list(itertools.product(range(2), range(3), range(4)))).repeat(num_repeats, 1)
    noise = row_draws.randn((len(values), 4), 0, "weights/means")
    mean = torch.stack(
        [values[:, 0] - 0.5, values[:, 1] / 2 - 0.5, values[:, 2] / 2 - 0.8 + 0.4 * values[:, 1], 0.1 * values[:, 0]],
        dim=1,
    )
    std = 0.1 + 0.4 * row_draws.rand((len(values), 4), 0, "weights/stds")
    factors = tuple(Labels(name, values[:, k].contiguous()) for k, name in enumerate(("shape", "size", "angle")))
    # The first two factors go together: what is measured is not what it is when all images count alike.
    p = torch.where(values[:, 0] == (values[:, 1] > 0).long(), 5.0, 1.0)
    drawn = row_draws.draw_rows(len(values), len(values), 0, "weights/counts", p)
    return Codes(mean + 0.3 * noise, std, factors=factors), torch.bincount(drawn, minlength=len(values))


@functools.cache
def weighted_and_copies(num_repeats: int) -> tuple[Statistics, Statistics]:
    """The codes with weights, and with images repeated. All sampled estimators see the same draws."""
    codes, counts = codes_and_counts(num_repeats)
    rows = torch.arange(len(codes)).repeat_interleave(counts)
    factors = tuple(replace(labels, values=labels.values[rows]) for labels in codes.factors)
    copies = replace(codes, mean=codes.mean[rows], std=codes.std[rows], factors=factors)
    draws = Statistics(copies).draws(1000, 0)
    # A draw knows its image by its row, which is another one among the copies.
    of_originals = replace(draws, image=rows[draws.image])
    return Statistics(replace(codes, weights=counts.double() / len(codes)), draws=of_originals), Statistics(
        copies, draws=draws
    )


@pytest.mark.parametrize(
    "metric",
    [cls() for cls in EVERY if cls not in (*FITTED, ClusterAccuracy)] + OTHER_WAYS,
    ids=lambda metric: str(metric)[:60],
)
def test_a_weight_is_worth_as_many_copies(metric):
    of_weighted, of_copies = weighted_and_copies(5)
    if "weights" not in metric.accepts:
        with pytest.raises(CodesError, match=rf"{type(metric).__name__} does not support weights\. "):
            metric.of(of_weighted)
        return
    weighted, copies = metric.of(of_weighted), metric.of(of_copies)
    assert weighted.value == pytest.approx(copies.value, abs=1e-9)
    parts, expected_parts = ({name: part.value for name, part in score.parts.items()} for score in (weighted, copies))
    assert parts == pytest.approx(expected_parts, abs=1e-9, nan_ok=True)
    assert weighted.per_factor == pytest.approx(copies.per_factor, abs=1e-9, nan_ok=True)
    assert weighted.per_latent == pytest.approx(copies.per_latent, abs=1e-9, nan_ok=True)


@pytest.mark.parametrize("cls", FITTED, ids=lambda cls: cls.__name__)
def test_what_is_fitted_to_weighted_images_scores_as_what_is_fitted_to_copies(cls):
    quick = {DCIES: {"hidden": (0, 4), "num_steps": 40}, SNC: {"hidden": 4, "num_steps": 5}}
    metric = cls(**quick.get(cls, {}))
    weighted, copies = (metric.of(statistics) for statistics in weighted_and_copies(200))
    half_widths = [(score.interval[1] - score.interval[0]) / 2 for score in (weighted, copies)]
    # Twice the 95 % half width of their difference: intervals hold the images that were drawn, and the two drew
    # different ones.
    assert weighted.value == pytest.approx(copies.value, abs=2 * math.hypot(*half_widths))


@pytest.mark.parametrize("cls", [AttributeVector, DCI, SAP], ids=lambda cls: cls.__name__)
def test_what_is_fitted_to_weighted_images_scores_otherwise_than_without_weights(cls):
    weighted, _ = weighted_and_copies(200)
    with_weights, without = cls().of(weighted), cls()(codes_and_counts(200)[0])
    assert not with_weights.interval[0] <= without.value <= with_weights.interval[1]


def test_a_latent_that_tells_every_image_apart_tells_the_entropy_of_the_weights():
    """Where the images are equally likely that is log N."""
    codes, counts = (
        Codes(torch.arange(8.0)[:, None].double(), torch.full((8, 1), 0.01).double()),
        torch.tensor([8, 4, 2, 2, 0, 0, 0, 0]),
    )
    information = Exact().information(Statistics(replace(codes, weights=counts / 16)))
    assert float(information.entropy - information.entropy_given_image) == pytest.approx(1.75 * math.log(2), abs=1e-9)
    information = Exact().information(Statistics(codes))
    assert float(information.entropy - information.entropy_given_image) == pytest.approx(math.log(8), abs=1e-9)
