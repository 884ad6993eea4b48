"""Groups of latents as units: an angle in two latents, turned vectors, and every distance by hand."""

import math

import numpy as np
import pytest
import torch
from scipy.special import digamma

from unbraid import Codes
from unbraid.codes import CodesOptions
from unbraid.errors import SpecError
from unbraid.metrics import DCIMIG, MED, MIG, InfoMEC, MIGSup
from unbraid.metrics.estimators import GroupNeighbors, Neighbors
from unbraid.metrics.estimators.neighbors import discrete_terms
from unbraid.metrics.reductions.statistics import Statistics


def angle_and_size(num_images=360, seed=0, turn=None):
    """An angle of 12 values as sine and cosine, a size of 3 values, each in a group, with noise."""
    rng = np.random.default_rng(seed)
    angle, size = np.arange(num_images) % 12, np.arange(num_images) // 12 % 3
    circle = np.stack([np.cos(angle * np.pi / 6), np.sin(angle * np.pi / 6)], axis=1)
    circle = circle if turn is None else circle @ turn
    mean = np.concatenate([circle, size[:, None], np.zeros((num_images, 1))], axis=1)
    mean = mean + 0.01 * rng.normal(size=mean.shape)
    return Codes.from_arrays(
        mean, options=CodesOptions(groups=[(2, 3), (0, 1)]), factors={"angle": angle, "size": size}
    )


@pytest.mark.parametrize("metric", [MIG, MIGSup, DCIMIG, MED])
def test_a_factor_in_a_vector_is_one_unit(metric):
    """Sine and cosine tell of the angle alike, so that by themselves they share it."""
    codes = angle_and_size()
    together = metric(GroupNeighbors())(codes)
    assert together.value > 0.9
    assert together.tables["mutual_information"].shape == (2, 2)
    assert metric(Neighbors())(codes).value < together.value + 0.01


def test_mig_of_latents_by_themselves_is_low_where_that_of_groups_is_not():
    codes = angle_and_size()
    assert MIG(Neighbors())(codes).per_factor["angle"] < 0.2 < 0.9 < MIG(GroupNeighbors())(codes).per_factor["angle"]


def test_turning_a_vector_changes_nothing():
    turn = np.array([[math.cos(1), -math.sin(1)], [math.sin(1), math.cos(1)]])
    one = angle_and_size()
    other = Codes.from_arrays(
        torch.cat([one.mean[:, :2] @ torch.from_numpy(turn), one.mean[:, 2:]], dim=1),
        options=CodesOptions(groups=one.groups),
        factors={f.name: f.values for f in one.factors},
    )
    found, turned = (GroupNeighbors().information(Statistics(codes)).mutual_information for codes in (one, other))
    torch.testing.assert_close(found, turned)


def test_a_group_of_one_is_its_latent():
    codes = angle_and_size()
    alone = Codes.from_arrays(
        codes.mean, options=CodesOptions(groups=[(1,)]), factors={f.name: f.values for f in codes.factors}
    )
    torch.testing.assert_close(
        GroupNeighbors().information(Statistics(alone)).mutual_information,
        Neighbors().information(Statistics(codes)).mutual_information,
    )


@pytest.mark.parametrize("k", [1, 4])
def test_it_is_every_distance_by_hand(k):
    rng = np.random.default_rng(0)
    z, v = rng.normal(size=(60, 3)), rng.integers(0, 3, 60)
    z[:5] = z[0]
    v[:5] = v[0]
    distances = np.linalg.norm(z[:, None] - z[None], axis=2)
    expected = []
    for n in range(60):
        own = v == v[n]
        radius = np.sort(distances[n, own])[min(k, own.sum() - 1)]
        inside, everyone = ((distances[n, which] <= radius + 1e-12).sum() for which in (own, np.ones(60, dtype=bool)))
        if radius > 0:
            expected.append(digamma(60) + digamma(inside - 1) - digamma(own.sum()) - digamma(everyone - 1))
        else:
            expected.append(math.log(60 * inside / own.sum() / everyone))
    np.testing.assert_allclose(discrete_terms(torch.from_numpy(z), torch.from_numpy(v), k), expected)


def test_many_images_are_sampled_and_the_interval_is_of_those():
    codes = angle_and_size(1200)
    few = MIG(GroupNeighbors(num_samples=300))(codes)
    assert few.settings["num_samples"] == 300
    assert few.value == pytest.approx(MIG(GroupNeighbors())(codes).value, abs=0.1)


def test_infomec_takes_groups_too():
    score = InfoMEC(GroupNeighbors())(angle_and_size())
    assert len(score.per_latent) == 2
    assert score.value > 0.8
    with pytest.raises(SpecError, match="GroupNeighbors"):
        InfoMEC(GroupNeighbors(), active="range")
