import pytest

from tests.datasets.user.picture_folders import GRAY, put


@pytest.fixture
def pictures(tmp_path):
    return put(tmp_path / "pictures", GRAY)
