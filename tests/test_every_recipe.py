"""Every dataset, objective and metric survives being written to a spec and read back."""

import dataclasses
import json
from typing import Any

import pytest

from tests.discovery import concrete_subclasses
from unbraid.data.dataset import FactorDataset
from unbraid.metrics.metric import Metric
from unbraid.objectives.objective import Objective

spec = pytest.importorskip("unbraid.runs.spec", reason="unbraid.runs.spec is not written yet")

EVERY = [cls for base in (FactorDataset, Objective, Metric) for cls in concrete_subclasses(base)]


def example(cls: type) -> Any:
    """One of them: what has no default gets a name, which is all that today's recipes ask for."""
    required = [field.name for field in dataclasses.fields(cls) if field.default is field.default_factory is dataclasses.MISSING]
    return cls(**dict.fromkeys(required, "somewhere.npz"))


@pytest.mark.parametrize("cls", EVERY, ids=lambda cls: cls.__name__)
def test_it_survives_json(cls):
    recipe = example(cls)
    assert spec.from_json(json.loads(json.dumps(spec.to_json(recipe), allow_nan=False))) == recipe
