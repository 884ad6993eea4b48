"""What is asked of every score of a model, those still to be written among them."""

import dataclasses
import inspect
import re

import pytest

from tests.discovery import ROOT, concrete_subclasses
from unbraid._internal.names import kebab_case
from unbraid.metrics import model as model_scores
from unbraid.metrics.model import ModelScore

EVERY = concrete_subclasses(ModelScore)


def test_there_are_some():
    assert EVERY


@pytest.mark.parametrize("cls", EVERY, ids=lambda cls: cls.__name__)
def test_it_conforms(cls):
    assert getattr(model_scores, cls.__name__) is cls
    assert dataclasses.is_dataclass(cls)
    assert "__final__" in vars(cls)
    assert not inspect.getdoc(cls).startswith(f"{cls.__name__}(")
    name = kebab_case(cls)
    assert cls.__module__.rpartition(".")[2] == name.replace("-", "_")
    assert (ROOT / "tests/metrics/model" / f"test_{name.replace('-', '_')}.py").is_file()
    heading = rf"^## {name.replace('-', '[- ]')}$"
    assert re.search(heading, (ROOT / "docs/model-scores.md").read_text(), re.MULTILINE | re.IGNORECASE)
