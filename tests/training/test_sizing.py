"""How many models fit."""

import itertools
import sys
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.training.squares import CONV_SPEC, MLP_SPEC
from unbraid.training.fleet import Fleet
from unbraid.training.sizing import Memory, _Tally, fleet_sizes, measured
from unbraid.training.state import Member


@pytest.mark.parametrize(
    ("num_members", "capacity", "sizes"),
    [(21, 16, [11, 10]), (20, 16, [10, 10]), (16, 16, [16]), (1, 1, [1]), (5, 2, [2, 2, 1]), (3, 100, [3]), (0, 4, [])],
)
def test_fleets_are_few_and_of_nearly_the_same_size(num_members, capacity, sizes):
    assert fleet_sizes(num_members, capacity) == sizes


@given(num_members=st.integers(1, 500), capacity=st.integers(1, 100))
def test_every_member_has_a_place_and_no_fleet_is_too_large(num_members, capacity):
    sizes = fleet_sizes(num_members, capacity)
    assert sum(sizes) == num_members
    assert max(sizes) <= capacity
    assert max(sizes) - min(sizes) <= 1
    assert (len(sizes) - 1) * capacity < num_members


def test_a_tenth_of_the_memory_stays_free():
    assert Memory(per_member=10, beside=0, free=100).capacity == 9
    assert Memory(per_member=10, beside=20, free=100).capacity == 7


def test_one_member_is_always_tried():
    assert Memory(per_member=10, beside=0, free=5).capacity == 1


def test_a_tally_counts_what_is_alive_at_once_and_a_view_not_again():
    with _Tally() as tally:
        a = torch.zeros(1000)
        for _ in range(5):
            b = a[10:] + 1  # 990 numbers, of which two are alive for a moment: the old b and the new
        del b
        torch.zeros(1500)
    assert tally.most == 4 * 2980


def test_a_tally_sees_what_happens_under_vmap_and_grad():
    x = torch.ones(7, 1000)
    with _Tally() as tally:
        torch.func.vmap(torch.func.grad(lambda row: (row * row).sum()))(x)
    assert tally.most >= x.nbytes


@pytest.mark.parametrize("spec", [MLP_SPEC, CONV_SPEC], ids=["mlp", "conv"])
def test_a_member_takes_at_least_its_weights_moments_and_gradient(spec):
    images = spec.dataset.load()
    weights = Fleet([Member(spec, 0)], images).weights.nbytes
    memory = measured([Member(spec, seed) for seed in range(3)], images)
    assert memory.per_member > 4 * weights
    assert memory.beside == 0
    assert memory.free > 2**28


def test_larger_batches_take_more():
    images = CONV_SPEC.dataset.load()
    small, large = (measured([Member(replace(CONV_SPEC, batch_size=size), 0)], images).per_member for size in (4, 36))
    assert large > 2 * small


def test_a_model_of_which_two_do_not_fit_is_measured_alone(monkeypatch):
    def fleet_of_one(members, images):
        if len(members) > 1:
            raise MemoryError
        return Fleet(members, images)

    images, members = MLP_SPEC.dataset.load(), [Member(MLP_SPEC, 0)]
    expected = measured(members, images).per_member
    monkeypatch.setattr("unbraid.training.sizing.Fleet", fleet_of_one)
    assert measured(members, images).per_member == pytest.approx(expected, rel=0.5)


@pytest.mark.parametrize("nth", range(0, 120, 7))
def test_ctrl_c_ends_a_tally_wherever_it_comes(nth):
    """Also while tensors die: what is raised in a callback of the garbage collector is lost."""
    calls = itertools.count()

    def press(frame, event, argument):
        if event == "call" and frame.f_code.co_filename.endswith(("sizing.py", "weakref.py")) and next(calls) == nth:
            raise KeyboardInterrupt

    def work():
        with _Tally():
            for _ in range(200):
                torch.zeros(10) + 1

    before = sys.getprofile()
    sys.setprofile(press)
    try:
        with pytest.raises(KeyboardInterrupt):
            work()
    finally:
        sys.setprofile(before)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_on_a_gpu_the_estimate_is_no_less_than_what_a_fleet_takes_and_no_more_than_twice_that():
    images = CONV_SPEC.dataset.load("cuda")
    members = [Member(replace(CONV_SPEC, precision="float32"), seed) for seed in range(8)]
    memory = measured(members, images)
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    Fleet(members, images).advance()
    taken = torch.cuda.max_memory_allocated() - before
    assert taken <= memory.beside + 8 * memory.per_member * 1.05 <= 2 * taken
