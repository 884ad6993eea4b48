import pytest

from tests.data.own.picture_folders import GREY, put


@pytest.fixture
def pictures(tmp_path):
    return put(tmp_path / "pictures", GREY)
