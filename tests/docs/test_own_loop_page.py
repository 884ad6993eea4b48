"""docs/own-loop.md and docs/functional.md: every block runs as it stands."""

import importlib.util
import re
import subprocess
import sys

import pytest
import torch

from tests.discovery import ROOT


def blocks_of(page, title=""):
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return re.findall(rf"```python{title}\n(.*?)```", text, re.DOTALL)


@pytest.mark.parametrize(("page", "printed"), [("own-loop.md", "total_correlation"), ("functional.md", "DCIScores")])
def test_every_block_runs(page, printed, capsys):
    names = {"__name__": page}
    with torch.random.fork_rng(devices=[]):
        for block in blocks_of(page):
            exec(block, names)
    assert printed in capsys.readouterr().out


# In a process of its own: both packages change global settings and warn.
@pytest.mark.slow
@pytest.mark.parametrize("package", ["lightning", "accelerate"])
def test_a_trainer_of_another_library_lowers_the_loss(package, tmp_path):
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    (first, *_), (training,) = blocks_of("own-loop.md"), blocks_of("own-loop.md", f' title="with_{package}.py"')
    loss = """
def loss_of(model):
    noise = torch.zeros(512, 6)
    return objective.loss(model, images, dataset_size=512, noise=noise).total.item()
"""
    setup = f"{first.partition('for step in')[0]}\n{loss}\nimages.zero_()\nbefore = loss_of(model)\n"
    script = tmp_path / "script.py"
    script.write_text(f"{setup}\n{training}\nprint(before - loss_of(model))\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(script)], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert done.returncode == 0, done.stderr
    assert float(done.stdout.splitlines()[-1]) > 1
