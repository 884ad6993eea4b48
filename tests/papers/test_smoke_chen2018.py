"""Every item of Chen et al. 2018 at the scale "smoke"."""

import pytest

from tests.papers.smoke import check_every_item_runs


@pytest.mark.slow
def test_every_item_runs_from_end_to_end(tmp_path) -> None:
    check_every_item_runs("chen2018", tmp_path)
