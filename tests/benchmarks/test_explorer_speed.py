"""The benchmark of the explorer."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from benchmarks.explorer_speed import NETS, PROMISES, Timing, page_of, timing
from unbraid.models import Conv

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def test_a_promise_that_is_not_kept_is_named():
    assert set(PROMISES) - set(NETS) == {"8 models of the quickstart's kind"}
    assert not Timing("`Conv()`, 64 pixels", 99, 99, 99, 15.9).broken
    assert Timing("`MLP()` of Chen et al., 64 pixels", 12.1, 99, 99, 61).broken == [
        "`MLP()` of Chen et al., 64 pixels: 12.10 MB > 12.0",
        "`MLP()` of Chen et al., 64 pixels: 61.00 ms a move > 60.0",
    ]


@pytest.mark.browser
def test_a_page_is_measured(chromium: "Browser", tmp_path: Path) -> None:
    found = timing(chromium, "small", page_of(Conv(channels=(4, 4), hidden=8), tmp_path / "page.html"))
    assert 0 < found.megabytes < 1
    assert 0 < found.ready <= found.checked < 60
    assert found.move > 0
