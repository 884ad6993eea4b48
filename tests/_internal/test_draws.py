"""Every number is the hash of its address, and the hash looks random."""

import itertools
import zlib

import numpy as np
import pytest
import scipy.stats
import torch
from hypothesis import given
from hypothesis import strategies as st

from unbraid._internal import draws

MASK = (1 << 64) - 1
SEEDS = st.integers(-(2**63), 2**63 - 1)


def seeds(*values):
    return torch.tensor(values, dtype=torch.int64)


def mix(x):
    """The finalizer of SplitMix64, in Python's integers."""
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def bits_by_hand(seed, stream, step, num_positions):
    gamma = 0x9E3779B97F4A7C15
    address = mix((mix((seed * gamma + zlib.crc32(stream.encode())) & MASK) + step * gamma) & MASK)
    return [mix((address + position * gamma) & MASK) for position in range(1, num_positions + 1)]


def unsigned(values):
    return [value & MASK for value in values.flatten().tolist()]


# What the numbers are


def test_the_empty_address_gives_the_published_sequence():
    # SplitMix64 from seed 0: the first three numbers of the reference implementation, splitmix64.c by Vigna.
    found = draws.bits(seeds(0), "", 0, (3,))
    assert unsigned(found) == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]


@given(seed=SEEDS, stream=st.sampled_from(["noise", "batch", "ü"]), step=st.integers(0, 2**40))
def test_bits_are_those_of_exact_integers(seed, stream, step):
    assert unsigned(draws.bits(seeds(seed), stream, step, (3,))) == bits_by_hand(seed, stream, step, 3)


def test_uniform_is_the_middle_of_the_cell_that_its_52_bits_name():
    expected = [((value >> 12) + 0.5) / 2**52 for value in bits_by_hand(7, "noise", 3, 5)]
    assert draws.uniform(seeds(7), "noise", 3, (5,)).flatten().tolist() == expected


def test_normal_is_the_quantile_of_uniform():
    expected = scipy.stats.norm.ppf(draws.uniform(seeds(7), "noise", 3, (1000,)).numpy())
    # Two implementations of the same rational approximation.
    np.testing.assert_allclose(draws.normal(seeds(7), "noise", 3, (1000,)).numpy(), expected, rtol=1e-12, atol=1e-14)


def test_permutation_is_the_order_of_the_keys():
    keys = [key - (1 << 64) if key >> 63 else key for key in bits_by_hand(7, "batch", 3, 20)]
    assert draws.permutation(seeds(7), "batch", 3, 20)[0].tolist() == sorted(range(20), key=keys.__getitem__)


@pytest.mark.parametrize("extreme", [0, -1, 2**63 - 1, -(2**63)])
def test_no_bits_make_an_infinite_number(monkeypatch, extreme):
    monkeypatch.setattr(draws, "bits", lambda *address: torch.tensor([[extreme]]))
    assert 0 < draws.uniform(seeds(0), "noise", 0, (1,)).item() < 1
    assert draws.normal(seeds(0), "noise", 0, (1,)).isfinite().all()


# They depend on the address alone


@given(fleet=st.lists(SEEDS, min_size=1, max_size=5), data=st.data())
def test_a_member_sees_the_same_alone_and_in_any_fleet(fleet, data):
    order = data.draw(st.permutations(fleet))
    together = draws.normal(seeds(*order), "noise", 5, (2, 3))
    for place, seed in enumerate(order):
        assert torch.equal(together[place], draws.normal(seeds(seed), "noise", 5, (2, 3))[0])


def test_members_may_be_at_steps_of_their_own():
    together = draws.bits(seeds(1, 2), "noise", torch.tensor([10, 20]), (4,))
    assert torch.equal(together[0], draws.bits(seeds(1), "noise", 10, (4,))[0])
    assert torch.equal(together[1], draws.bits(seeds(2), "noise", 20, (4,))[0])


def test_shape_only_arranges():
    assert torch.equal(
        draws.bits(seeds(1, 2), "noise", 0, (2, 3)).flatten(1), draws.bits(seeds(1, 2), "noise", 0, (6,))
    )


def test_more_numbers_begin_with_the_same():
    assert torch.equal(draws.bits(seeds(1), "noise", 0, (9,))[:, :4], draws.bits(seeds(1), "noise", 0, (4,)))


def test_a_scalar_for_each_member_is_a_shape_too():
    assert draws.uniform(seeds(1, 2, 3), "noise", 0, ()).shape == (3,)


def test_torchs_generator_has_no_say():
    before = torch.get_rng_state()
    first = draws.normal(seeds(1), "noise", 0, (4,))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(99)
        assert torch.equal(draws.normal(seeds(1), "noise", 0, (4,)), first)
    assert torch.equal(torch.get_rng_state(), before)


# They look random. The seeds are fixed, so a test that passes once passes always; the bounds leave a margin for another
# hash.


def test_uniform_fills_the_interval_evenly():
    sample = draws.uniform(seeds(0, 1, 2**63 - 1, -1), "noise", 0, (5000,)).flatten().numpy()
    assert scipy.stats.kstest(sample, "uniform").pvalue > 0.01


def test_normal_is_normal():
    sample = draws.normal(seeds(0, 1, 2**63 - 1, -1), "noise", 0, (5000,)).flatten().numpy()
    assert scipy.stats.kstest(sample, "norm").pvalue > 0.01


def test_one_number_a_step_is_normal_too():
    # Across addresses, where a weak hash of small numbers would show.
    steps = torch.arange(20_000)
    across_steps = draws.normal(torch.zeros_like(steps), "noise", steps, ()).numpy()
    across_seeds = draws.normal(steps, "noise", 0, ()).numpy()
    assert scipy.stats.kstest(across_steps, "norm").pvalue > 0.01
    assert scipy.stats.kstest(across_seeds, "norm").pvalue > 0.01


def test_neighboring_seeds_streams_and_steps_are_uncorrelated():
    num = 4096
    addresses = itertools.product((0, 1, 2, 2**63 - 1, -1), ("noise", "batch"), (0, 1, 2))
    table = torch.cat([draws.normal(seeds(seed), stream, step, (num,)) for seed, stream, step in addresses])
    correlations = np.corrcoef(table.numpy()) - np.eye(len(table))
    # Each has a standard deviation of 1 / sqrt(num) and there are 435: the largest is expected near 3.
    assert np.abs(correlations).max() * num**0.5 < 4.5


@pytest.mark.parametrize(
    "other", [(1, "noise", 8), (0, "noises", 8), (0, "noise", 9)], ids=["next seed", "another stream", "next step"]
)
def test_half_the_bits_flip_at_another_address(other):
    one, two = draws.bits(seeds(0), "noise", 8, (2000,)), draws.bits(seeds(other[0]), *other[1:], (2000,))
    flipped = np.mean([value.bit_count() for value in unsigned(one ^ two)])
    # 2000 sums of 64 coins: the mean has a standard deviation of 0.09.
    assert flipped == pytest.approx(32, abs=0.4)


# Permutations


@given(seed=SEEDS, size=st.integers(1, 200))
def test_a_permutation_has_everything_once(seed, size):
    assert sorted(draws.permutation(seeds(seed), "batch", 0, size)[0].tolist()) == list(range(size))


def test_all_orders_are_equally_likely():
    orders = draws.permutation(torch.arange(4800), "batch", 0, 4)
    _, counts = torch.unique(orders, dim=0, return_counts=True)
    assert len(counts) == 24
    assert scipy.stats.chisquare(counts.numpy()).pvalue > 0.01


def test_rows_come_as_often_as_their_weights_say_and_never_without_weight():
    weights = torch.tensor([0.0, 1.0, 0.0, 3.0, 4.0, 0.0], dtype=torch.float64)
    rows = draws.by_weight(torch.arange(4), "batch", 0, weights.cumsum(0), 2000)
    counts = torch.bincount(rows.flatten(), minlength=6)
    assert counts[weights == 0].tolist() == [0, 0, 0]
    expected = (weights / 8 * 8000)[weights > 0]
    assert scipy.stats.chisquare(counts[weights > 0].numpy(), expected.numpy()).pvalue > 0.01
