"""The shapes in signatures are checked while the tests run, and nothing else is."""

from dataclasses import dataclass

import jaxtyping
import pytest
import torch
from jaxtyping import Float
from torch import Tensor

from tests import shapes
from tests.shapes import shapes_checked
from unbraid.information.quantized import discrete_information

beartype = pytest.importorskip("beartype")
refused = pytest.raises(beartype.roar.BeartypeCallHintViolation)


def checked(thing):
    return shapes_checked(typechecker=beartype.beartype)(thing)


@checked
def total(x: Float[Tensor, "image latent"], weights: Float[Tensor, " image"], turned: bool) -> Float[Tensor, " latent"]:
    return weights @ x if not turned else x @ x.new_ones(x.shape[1])


def test_sizes_of_one_name_agree_among_arguments_and_with_what_is_returned():
    assert total(torch.ones(3, 2), torch.ones(3), turned=False).tolist() == [3, 3]
    with refused:
        total(torch.ones(3, 2), torch.ones(2), turned=False)
    with refused:
        total(torch.ones(3, 2), torch.ones(3), turned=True)


def test_fields_are_checked_with_each_other_and_nothing_is_while_the_checks_are_off(monkeypatch):
    @checked
    @dataclass
    class Two:
        mean: Float[Tensor, "image latent"]
        std: tuple[Float[Tensor, "image latent"], ...] = ()

    assert Two(torch.ones(3, 2), (torch.ones(3, 2),)).std
    with refused:
        Two(torch.ones(3, 2), (torch.ones(3, 1),))
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
    assert Two(torch.ones(3, 2), (torch.ones(3, 1),)).std


def test_after_many_calls_in_a_test_a_function_is_trusted():
    for _ in range(100):
        total(torch.ones(3, 2), torch.ones(3), turned=False)
    assert total(torch.ones(3, 2), torch.ones(3), turned=True).shape == (3,)
    shapes.begin_test()
    with refused:
        total(torch.ones(3, 2), torch.ones(3), turned=True)


def test_calls_like_earlier_ones_are_trusted_sooner_and_others_are_not():
    for _ in range(5):
        total(torch.ones(3, 2), torch.ones(3), turned=False)
    with refused:
        total(torch.ones(3, 2), torch.ones(2), turned=False)


def test_a_size_may_be_what_an_argument_says():
    @checked
    def square(size: int) -> Float[Tensor, "{size} {size}"]:
        return torch.ones(size, 3)

    assert square(3).shape == (3, 3)
    with refused:
        square(2)


def test_what_has_no_shape_is_left_as_it_is():
    def plain(x: int) -> int:
        return x

    assert checked(plain) is plain


def test_the_package_is_checked():
    with refused:
        discrete_information(torch.ones(3), None)
