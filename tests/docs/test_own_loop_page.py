"""docs/own-loop.md: every block runs as it stands."""

import re

import torch

from tests.discovery import ROOT


def test_every_block_runs(capsys):
    page = (ROOT / "docs" / "own-loop.md").read_text(encoding="utf-8")
    names = {"__name__": "own_loop"}
    with torch.random.fork_rng(devices=[]):
        for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
            exec(block, names)
    assert "total_correlation" in capsys.readouterr().out
