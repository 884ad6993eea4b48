"""Golden keys that only some inputs have, each against numpy and scipy."""

import numpy as np
import pytest
import scipy.stats
import torch

from tests.golden import attributes, classifiers, sampled

RNG = np.random.default_rng(0)
MU, SIGMA = RNG.normal(size=(6, 2)), RNG.uniform(0.4, 0.8, size=(6, 2))
Y = np.array([[0, 1], [1, 0], [0, 0], [1, 1], [0, 1], [1, 0]])


def tensors(**arrays):
    given = {"mu": MU, "sigma": SIGMA, "y": Y, "shuffle": np.arange(6)} | arrays
    return {name: torch.from_numpy(np.asarray(array)) for name, array in given.items()}


def test_posteriors_with_a_correlation_are_integrated_in_the_plane():
    assert set(sampled.exact_in_the_plane(tensors())) == {"exact2d"}
    found = sampled.exact_in_the_plane(tensors(rho=np.array(0.6)))["exact2d_corr0.6"]
    line = np.linspace(-8, 8, 801)
    step, grid = line[1] - line[0], np.stack(np.meshgrid(line, line, indexing="ij"), axis=-1)
    posteriors = [
        scipy.stats.multivariate_normal(m, np.outer(s, s) * np.array([[1, 0.6], [0.6, 1]]))
        for m, s in zip(MU, SIGMA, strict=True)
    ]
    density = np.mean([posterior.pdf(grid) for posterior in posteriors], axis=0)

    def entropy(q, cell):
        return -np.sum(q * np.log(np.maximum(q, 1e-300))) * cell

    joint, given = entropy(density, step**2), np.mean([posterior.entropy() for posterior in posteriors])
    each = np.array([entropy(density.sum(axis=1 - axis) * step, step) for axis in (0, 1)])
    alone = each - np.log(SIGMA).mean(axis=0) - 0.5 * np.log(2 * np.pi * np.e)
    sepin = joint - given - alone[::-1]
    expected = {
        "H_z": joint,
        "H_z_given_x": given,
        "I_x_z": joint - given,
        "I_x_zi": alone,
        "TC": each.sum() - joint,
        "SEP": alone.sum() - (joint - given),
        "SEPIN": sepin,
        "WSEPIN": alone @ sepin / alone.sum(),
    }
    assert set(found) == set(expected)
    for name, value in expected.items():
        np.testing.assert_allclose(np.asarray(found[name]), value, atol=1e-6, err_msg=name)
    assert abs(found["TC"] - found["SEP"]) > 0.1


def test_measurements_of_factors_have_a_sap_of_their_own():
    assert "sap/continuous_raw" not in classifiers.sap(tensors())
    raw = RNG.normal(size=(6, 3))
    raw[:, 2] = 1.0  # never varies: 0 in the matrix, and no part of the mean
    found = classifiers.sap(tensors(y_raw=raw))["sap/continuous_raw"]
    matrix = np.array([[np.corrcoef(MU[:, i], raw[:, k])[0, 1] ** 2 for k in range(2)] for i in range(2)])
    np.testing.assert_allclose(found["matrix"][:, :2], matrix, atol=1e-12)
    assert found["matrix"][:, 2].tolist() == [0.0, 0.0]
    assert float(found["SAP"]) == pytest.approx(np.abs(matrix[0] - matrix[1]).mean())


def test_attributes_are_factors_with_two_values():
    assert set(attributes.top_attributes(tensors())) == {"top_attr"}
    for family in attributes.METRICS:
        assert family(tensors(y=np.stack([Y[:, 0], np.arange(6) % 3], axis=1))) == {}
