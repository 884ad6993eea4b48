"""What is asked of every dataset, those still to be written among them: a new one is found by walking the package."""

import pytest

from tests.discovery import check_conforms, concrete_subclasses
from unbraid.datasets.dataset import FactorDataset

EVERY = concrete_subclasses(FactorDataset)


def test_there_are_some():
    assert EVERY


@pytest.mark.parametrize("cls", EVERY, ids=lambda cls: cls.__name__)
def test_it_conforms(cls):
    check_conforms(cls, docs="datasets", short_file=True)


@pytest.mark.parametrize("cls", EVERY, ids=lambda cls: cls.__name__)
def test_it_says_where_its_images_come_from(cls):
    assert cls.origin in ("drawn", "read")
