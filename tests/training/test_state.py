"""The names and shapes of what a member carries, from its spec."""

from dataclasses import replace

import pytest
import torch
from torch.utils._pytree import tree_leaves, tree_map

from tests.training.squares import CONV_SPEC, MLP_SPEC
from unbraid.objectives import DIPVAE, FactorVAE
from unbraid.training import Critic
from unbraid.training.fleet import Fleet
from unbraid.training.state import Member, Net, TrainState, from_named, layout, named_leaves, tensor_text

SPECS = {
    "mlp": MLP_SPEC,
    "conv": replace(CONV_SPEC, precision="float32"),
    "bf16": replace(MLP_SPEC, precision="bf16"),
    "critic": replace(MLP_SPEC, objective=FactorVAE(), critic=Critic(hidden=(4,), channels=(2,))),
    "state": replace(MLP_SPEC, objective=DIPVAE(mode="moments")),
}


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
def test_the_layout_is_that_of_a_member_of_a_fleet(spec):
    carried, expected = Fleet([Member(spec, 3)], spec.dataset.load()).state(0).tensors, layout(spec)
    assert {tensor.device.type for tensor in tree_leaves(expected)} == {"meta"}
    assert tree_map(tensor_text, carried) == tree_map(tensor_text, expected)
    assert all(tree_leaves(tree_map(torch.equal, from_named(named_leaves(carried), expected), carried)))


def test_every_tensor_is_named_by_its_path():
    names = named_leaves(layout(SPECS["critic"])).keys()
    assert {
        "model.weights.encoder.1.bias",
        "critic.weights.0.bias",
        "critic.optimizer_state.first_moment.0.bias",
    } < names
    assert "objective.first_moment" in named_leaves(layout(SPECS["state"]))


LAYOUT = TrainState(Net({"a": torch.zeros(2, 3)}, {}), Net({}, {}), {"b": torch.zeros(())})
NAMED = named_leaves(LAYOUT)


@pytest.mark.parametrize(
    ("tensors", "complaint"),
    [
        ({"model.weights.a": torch.zeros(2, 3)}, r"objective.b.*float32.*\(\)"),
        (
            NAMED | {"model.weights.a": torch.zeros(3, 2)},
            r"model.weights.a is float32 of \(3, 2\); expected float32 of \(2, 3\)",
        ),
        (
            NAMED | {"model.weights.a": torch.zeros(2, 3).double()},
            r"model.weights.a is float64 of \(2, 3\); expected float32",
        ),
        (
            NAMED | {"model.weights.c": torch.zeros(1)},
            r"model.weights.c.*float32.*\(1,\)",
        ),
    ],
)
def test_what_differs_is_named_with_what_was_expected(tensors, complaint):
    with pytest.raises(ValueError, match=complaint):
        from_named(tensors, LAYOUT)
