"""The aggregate posterior of Gaussians, summed as it is computed: the same numbers and gradients as from the whole
table, without the table.
"""

import importlib.util
import math
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.func import grad, vmap
from torch.fx.experimental.proxy_tensor import make_fx

from tests.information.gaussian_mixtures import (
    CASES,
    Case,
    a_mixture,
    by_formula,
    check_kernels,
    check_that_nothing_moves_nothing,
    combined_sums_and_gradients,
    directions,
    sums_and_gradients,
)
from unbraid.information import gaussian_mixture
from unbraid.information.gaussian_mixture import gaussian_log_aggregate

ROOT = Path(__file__).parents[2]
SMALL = Case(members=3, samples=20, images=37, latents=4)


def assert_equal_sums_and_gradients(found, expected):
    for mine, right in zip([*found[0], *found[1]], [*expected[0], *expected[1]], strict=True):
        torch.testing.assert_close(mine, right)


# Known answers


def test_one_image_of_weight_one_is_its_own_density():
    z, loc, log_var, _ = (each[0] for each in a_mixture(Case(1, 5, 1, 3), dtype=torch.float64))
    joint, latents = gaussian_log_aggregate(z, loc, log_var, torch.zeros(5, 1, dtype=torch.float64))
    expected = torch.distributions.Normal(loc, (0.5 * log_var).exp()).log_prob(z)
    torch.testing.assert_close(latents, expected)
    torch.testing.assert_close(joint, expected.sum(dim=1))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_sums_and_gradients_are_those_of_the_formula(case):
    mixture = a_mixture(case, dtype=torch.float64)
    assert_equal_sums_and_gradients(
        sums_and_gradients(gaussian_log_aggregate, mixture), sums_and_gradients(by_formula, mixture)
    )


@pytest.mark.parametrize("case", CASES, ids=str)
def test_float32_agrees_with_float64(case):
    check_kernels(case, "cpu")


def test_more_codes_than_fit_at_a_time_change_nothing(monkeypatch):
    mixture = a_mixture(SMALL, dtype=torch.float64)
    at_once = sums_and_gradients(gaussian_log_aggregate, mixture)
    monkeypatch.setattr(gaussian_mixture, "_MAX_TERMS", 3 * 37 * 4 * 5)
    assert_equal_sums_and_gradients(sums_and_gradients(gaussian_log_aggregate, mixture), at_once)


def test_gradients_are_those_of_finite_differences():
    z, loc, log_var, log_weights = a_mixture(Case(1, 4, 18, 2), dtype=torch.float64)
    inputs = [each[0].clone().requires_grad_() for each in (z, loc, log_var)]
    assert torch.autograd.gradcheck(lambda *variables: gaussian_log_aggregate(*variables, log_weights), inputs)


def test_where_all_weights_are_zero_sums_are_minus_infinity_and_gradients_zero():
    check_that_nothing_moves_nothing("cpu")


def test_what_is_not_a_number_stays_so():
    z, loc, log_var, log_weights = a_mixture(Case(1, 4, 18, 2))
    z[0, 1, 0] = math.nan
    joint, latents = gaussian_log_aggregate(z[0], loc[0], log_var[0], log_weights)
    assert joint.isnan().tolist() == [False, True, False, False]
    assert latents.isnan().nonzero().tolist() == [[1, 0]]


def test_a_second_derivative_is_refused():
    z, loc, log_var, log_weights = a_mixture(Case(1, 4, 18, 2))

    def slope(shift):
        return grad(lambda shift: gaussian_log_aggregate(z[0] + shift, loc[0], log_var[0], log_weights)[0].sum())(shift)

    with pytest.raises(NotImplementedError, match="log_aggregate"):
        grad(slope)(torch.zeros(()))


# Laws


@given(shift=st.floats(-50, 50), seed=st.integers(0, 1000))
def test_moving_codes_and_means_together_moves_nothing(shift, seed):
    z, loc, log_var, log_weights = a_mixture(replace(SMALL, members=1), seed, torch.float64)
    here = gaussian_log_aggregate(z[0], loc[0], log_var[0], log_weights)
    there = gaussian_log_aggregate(z[0] + shift, loc[0] + shift, log_var[0], log_weights)
    # Codes of size 50 are rounded by 1e-14, and a density of std 0.1 turns that into 1e-12.
    torch.testing.assert_close(there, here, rtol=1e-9, atol=1e-9)


@given(factor=st.floats(-300, 300), seed=st.integers(0, 1000))
def test_scaling_the_weights_scales_the_sums(factor, seed):
    z, loc, log_var, log_weights = a_mixture(replace(SMALL, members=1), seed, torch.float64)
    joint, latents = gaussian_log_aggregate(z[0], loc[0], log_var[0], log_weights)
    scaled = gaussian_log_aggregate(z[0], loc[0], log_var[0], log_weights + factor)
    torch.testing.assert_close(scaled, (joint + factor, latents + factor))


# Many members


@pytest.mark.parametrize("weights_differ", [False, True])
def test_members_together_are_members_alone(weights_differ):
    z, loc, log_var, log_weights = a_mixture(replace(SMALL, weights_differ=weights_differ), dtype=torch.float64)
    together = sums_and_gradients(gaussian_log_aggregate, (z, loc, log_var, log_weights))
    for i in range(SMALL.members):
        own = log_weights[i : i + 1] if weights_differ else log_weights
        alone = sums_and_gradients(gaussian_log_aggregate, (z[i : i + 1], loc[i : i + 1], log_var[i : i + 1], own))
        assert_equal_sums_and_gradients([[each[i : i + 1] for each in part] for part in together], alone)


def test_members_may_share_anything():
    z, loc, log_var, log_weights = a_mixture(SMALL, dtype=torch.float64)
    tables = torch.stack([log_weights, log_weights + 1, 2 * log_weights])
    for in_dims in [(None, 0, 0, None), (0, None, None, 0), (0, 0, None, None), (None, None, None, 0)]:
        given = [each if dim == 0 else each[0] for each, dim in zip((z, loc, log_var, tables), in_dims, strict=True)]
        torch.testing.assert_close(vmap(gaussian_log_aggregate, in_dims)(*given), vmap(by_formula, in_dims)(*given))


def test_fleets_of_fleets():
    z, loc, log_var, log_weights = a_mixture(SMALL, dtype=torch.float64)
    shifts, tables = (
        torch.tensor([0.0, 0.5], dtype=torch.float64),
        torch.stack([log_weights, log_weights + 1, 2 * log_weights]),
    )

    def nested(function):
        return vmap(
            vmap(
                lambda z, loc, log_var, weights, shift: function(z + shift, loc, log_var, weights), (0, 0, 0, 0, None)
            ),
            (*[None] * 4, 0),
        )

    found, expected = (nested(each)(z, loc, log_var, tables, shifts) for each in (gaussian_log_aggregate, by_formula))
    torch.testing.assert_close(found, expected)


def test_a_trace_holds_one_call_each_way_and_no_table_of_pairs_and_latents():
    def step(*tensors):
        return combined_sums_and_gradients(gaussian_log_aggregate, tensors[:4], *tensors[4:])

    for members in (2, 5):
        case = Case(members=members, samples=64, images=64, latents=10)
        weights = directions(a_mixture(case))
        graph = make_fx(step, tracing_mode="fake")(*a_mixture(case), *weights)
        ours = [str(node.target) for node in graph.graph.nodes if str(node.target).startswith("unbraid")]
        assert ours == ["unbraid.gaussian_log_sums.default", "unbraid.gaussian_log_sums_gradients.default"]
        largest = max(
            node.meta["val"].numel() for node in graph.graph.nodes if isinstance(node.meta.get("val"), torch.Tensor)
        )
        # The table of weights, which all members share, or, from each of the four slices of codes, the gradients of the
        # posteriors.
        assert largest == max(64 * 64, members * 4 * 2 * 64 * 10) < members * 64 * 64 * 10

        mixture = a_mixture(case, seed=7)
        assert_equal_sums_and_gradients(graph(*mixture, *weights), step(*mixture, *weights))


# On a GPU


@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="Triton is not installed")
def test_the_kernels_run_in_python_agree_with_the_formula():
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    command = [sys.executable, "-m", "tests.information.interpret_kernels"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
@pytest.mark.parametrize("case", [*CASES, Case(2, 300, 600, 10), Case(2, 64, 64, 10), Case(1, 100, 100, 33)], ids=str)
def test_on_a_gpu_the_kernels_agree_with_the_formula(case):
    check_kernels(case, "cuda")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_on_a_gpu_where_all_weights_are_zero_sums_are_minus_infinity_and_gradients_zero():
    check_that_nothing_moves_nothing("cuda")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_on_a_gpu_members_together_are_members_alone_to_the_last_bit():
    z, loc, log_var, log_weights = (each.cuda() for each in a_mixture(Case(5, 300, 300, 10)))
    together = sums_and_gradients(gaussian_log_aggregate, (z, loc, log_var, log_weights))
    alone = sums_and_gradients(gaussian_log_aggregate, (z[3:4], loc[3:4], log_var[3:4], log_weights))
    for mine, right in zip([*together[0], *together[1]], [*alone[0], *alone[1]], strict=True):
        assert torch.equal(mine[3:4], right)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_on_a_gpu_float64_goes_the_plain_way():
    mixture = [each.cuda() for each in a_mixture(SMALL, dtype=torch.float64)]
    assert_equal_sums_and_gradients(
        sums_and_gradients(gaussian_log_aggregate, mixture), sums_and_gradients(by_formula, mixture)
    )
