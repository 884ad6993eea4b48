"""What is asked of every joint table, those still to be written among them."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.datasets.grid_columns import GRID_FACTORS
from tests.discovery import concrete_subclasses
from unbraid.datasets.dataset import Factor
from unbraid.datasets.weights import ChenDesign, Correlated, Joint, JointTable, Product, UniformJoint
from unbraid.errors import SpecError

EXAMPLES = {
    ChenDesign: lambda sizes: ChenDesign("D", ("shape", "scale")),
    Correlated: lambda sizes: Correlated(("shape", "scale"), 0.3),
    Product: lambda sizes: Product((Correlated(("shape", "scale"), 0.3), UniformJoint(("shape",)))),
    JointTable: lambda sizes: JointTable(("shape", "scale"), tuple(map(float, range(math.prod(sizes))))),
    UniformJoint: lambda sizes: UniformJoint(("shape", "scale")),
}


def test_every_joint_has_an_example():
    assert sorted(cls.__name__ for cls in EXAMPLES) == [cls.__name__ for cls in concrete_subclasses(Joint)]


@pytest.mark.parametrize("cls", EXAMPLES, ids=lambda cls: cls.__name__)
@given(sizes=st.tuples(st.integers(2, 40), st.integers(2, 40)))
def test_a_table_has_an_axis_for_each_factor_and_sums_to_one(cls, sizes):
    joint = EXAMPLES[cls](sizes)
    table = joint.table(sizes)
    assert table.shape == sizes
    assert len(joint.factors) == 2
    assert float(table.min()) >= 0
    assert float(table.sum()) == pytest.approx(1, abs=1e-14)


@pytest.mark.parametrize(
    ("factors", "message"),
    [
        (("shape", "hue"), r"UniformJoint: there is no factor 'hue' in this data set\. .*Valid: place, scale, shape"),
        (
            ("shape", "depth"),
            r"UniformJoint: depth is continuous and has no table of values\. .*choose among: shape, scale, place\.",
        ),
    ],
)
def test_factors_that_are_not_there_or_not_discrete_are_refused_by_name(factors, message):
    with pytest.raises(SpecError, match=message):
        UniformJoint(factors).check((*GRID_FACTORS, Factor("depth", 0))[: 3 if "hue" in factors else 4])


def test_images_without_factors_are_refused():
    with pytest.raises(SpecError, match=r"no factor 'shape' in this data set\. The data set has no factors\."):
        UniformJoint(("shape",)).check(())


def test_a_table_that_would_fill_the_memory_is_refused():
    factors = tuple(Factor(name, 1000) for name in "abcd")
    with pytest.raises(
        SpecError, match=r"a table over a, b, c, d has 1,000,000,000,000 cells\. Choose fewer factors\."
    ):
        UniformJoint(tuple("abcd")).check(factors)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: UniformJoint(()), "UniformJoint: factors is empty; expected at least one"),
        (lambda: UniformJoint(("a", "a")), "UniformJoint: factors is a, a: one of them twice"),
        (lambda: Correlated(("a",), 0.2), "Correlated: factors is a; expected 2"),
        (lambda: ChenDesign("A", ("a", "b", "c")), "ChenDesign: factors is a, b, c; expected 2"),
    ],
)
def test_factors_that_are_too_few_too_many_or_twice_are_refused(make, message):
    with pytest.raises(SpecError, match=message):
        make()
