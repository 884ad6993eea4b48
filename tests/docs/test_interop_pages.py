"""The pages about other libraries: every block of Python on them runs as it stands."""

import re

import pytest
import torch

from tests.discovery import ROOT

PAGES = sorted((ROOT / "docs" / "interop").glob("*.md"))
NEEDED = {"torchmetrics": "torchmetrics", "tensorboard": "tensorboard", "pandas": "pandas", "hugging-face": "datasets"}


@pytest.mark.parametrize("page", [page for page in PAGES if page.stem != "index"], ids=lambda page: page.stem)
def test_every_block_runs(page, tmp_path, monkeypatch, capsys):
    for package in (NEEDED.get(page.stem, "sklearn"), "pandas"):
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    assert blocks
    names = {"__name__": page.stem}
    with torch.random.fork_rng(devices=[]):
        for block in blocks:
            exec(block, names)


def test_the_list_names_every_page():
    index = (ROOT / "docs" / "interop" / "index.md").read_text(encoding="utf-8")
    assert [page.name for page in PAGES if page.stem != "index" and f"]({page.name})" not in index] == []
