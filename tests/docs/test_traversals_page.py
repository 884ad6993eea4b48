"""The code on the page about traversals runs as it stands."""

import re
from pathlib import Path

from tests.runs.finished_runs import SPEC, finish
from unbraid.runs import Run

PAGE = (Path(__file__).parents[2] / "docs" / "traversals.md").read_text(encoding="utf-8")


def test_every_block_runs(tmp_path, monkeypatch):
    run = finish(Run.place(tmp_path / "runs", SPEC, 0), seed=0)
    decoder, images = run.model().decode, run.spec.dataset.load().batch(slice(2))
    names = {"run": run, "images": images, "decoder": decoder, "codes_of_mine": run.codes().mean[:3].tolist()}
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) == 3
    for block in blocks:
        exec(block, names)
    assert (tmp_path / "latents.png").exists()
