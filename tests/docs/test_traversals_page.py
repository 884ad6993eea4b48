"""The code on the page about traversals runs as it stands."""

import re
from pathlib import Path

from tests.training.runs.finished_runs import SPEC, finish
from unbraid.training.runs import Run

PAGE = (Path(__file__).parents[2] / "docs" / "traversals.md").read_text(encoding="utf-8")


def test_every_block_runs(tmp_path, monkeypatch):
    run = finish(Run.place(tmp_path / "runs", SPEC, 0), seed=0)
    decoder, images = run.model().decode, run.spec.dataset.load().batch(slice(2))
    runs = [run, finish(Run.place(tmp_path / "runs", SPEC, 1), seed=1)]
    names = {
        "run": run,
        "runs": runs,
        "images": images,
        "decoder": decoder,
        "codes_of_mine": run.codes().mean[:3].tolist(),
    }
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) == 6
    for block in blocks:
        # This run has no factor "scale" and no discrete latent: these are run by tests of their own.
        if "top_latents" not in block and "category_samples" not in block:
            exec(block, names)
    assert all((tmp_path / name).exists() for name in ("latents.png", "both.png"))
