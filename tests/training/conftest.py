import pytest

from tests.training.short_runs import SPEC
from tests.training.squares import result
from unbraid.training import train


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory):
    """What becomes of SPEC from the seeds 0 and 1 when nothing happens."""
    return [result(run) for run in train([SPEC], [0, 1], folder=tmp_path_factory.mktemp("undisturbed"))]
