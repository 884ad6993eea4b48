"""The names and shapes of what a member carries, from its spec."""

from dataclasses import replace

import pytest
import torch

from tests.training.squares import CONV_SPEC, MLP_SPEC
from unbraid.models import Critic
from unbraid.objectives import DIPVAE, FactorVAE
from unbraid.training.fleet import Fleet, Member
from unbraid.training.layout import check_layout, in_words, member_layout

SPECS = {
    "mlp": MLP_SPEC,
    "conv": replace(CONV_SPEC, precision="float32"),
    "bf16": replace(MLP_SPEC, precision="bf16"),
    "critic": replace(MLP_SPEC, objective=FactorVAE(), critic=Critic(hidden=(4,), channels=(2,))),
    "state": replace(MLP_SPEC, objective=DIPVAE(mode="moments")),
}


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
def test_the_layout_is_that_of_a_member_of_a_fleet(spec):
    state = Fleet([Member(spec, 3)], spec.dataset.load()).state(0)
    layout = member_layout(spec)
    assert {name: in_words(tensor) for name, tensor in state.tensors.items()} == {
        name: in_words(tensor) for name, tensor in layout.items()
    }
    check_layout(state.tensors, layout)


LAYOUT = {"weights.a": torch.zeros(2, 3), "state.b": torch.zeros(())}


@pytest.mark.parametrize(
    ("tensors", "complaint"),
    [
        ({"weights.a": torch.zeros(2, 3)}, r"state.b is missing; expected float32 of \(\)"),
        (
            {"weights.a": torch.zeros(3, 2), "state.b": torch.zeros(())},
            r"weights.a is float32 of \(3, 2\); expected float32 of \(2, 3\)",
        ),
        (
            {"weights.a": torch.zeros(2, 3).double(), "state.b": torch.zeros(())},
            r"weights.a is float64 of \(2, 3\); expected float32",
        ),
        (
            LAYOUT | {"weights.c": torch.zeros(1)},
            r"it holds weights.c, float32 of \(1,\), which such a run does not have",
        ),
    ],
)
def test_what_differs_is_named_with_what_was_expected(tensors, complaint):
    with pytest.raises(ValueError, match=complaint):
        check_layout(tensors, LAYOUT)
