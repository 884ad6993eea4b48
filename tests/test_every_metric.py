"""What is asked of every metric, those still to be written among them: a new one is found by walking the package."""

import pytest

from tests.discovery import check_conforms, concrete_subclasses
from unbraid.metrics.metric import Metric

EVERY = concrete_subclasses(Metric)


def test_there_are_some():
    assert EVERY


@pytest.mark.parametrize("cls", EVERY, ids=lambda cls: cls.__name__)
def test_it_conforms(cls):
    check_conforms(cls, docs="metrics")
