import pytest

from tests.training.runs.finished_runs import SPEC, finish
from unbraid.training.runs import Run


@pytest.fixture
def finished(tmp_path):
    """A run whose weights are those it began with."""
    return finish(Run.place(tmp_path, SPEC, 3), seed=7)
