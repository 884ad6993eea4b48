"""A report of six hundred models is small."""

import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from unbraid._internal import files
from unbraid.datasets import FromArrays
from unbraid.objectives import BetaVAE
from unbraid.show.report import write_report
from unbraid.show.report.groups import Group
from unbraid.show.report.measures import Measure
from unbraid.show.report.report import MAX_STRIPS, Page
from unbraid.training import train
from unbraid.training.runs import Run


def copied(run: Run, seed: int, folder: Path) -> Run:
    """Another seed of the same run, whose arrays are those of the run itself."""
    place = folder / f"{run.name.rpartition('-')[0]}-seed{seed}"
    place.mkdir()
    for path in run.folder.iterdir():
        if path.is_file() and path.name not in ("spec.json", "finished.json"):
            os.link(path, place / path.name)
    record = json.loads((run.folder / "spec.json").read_text()) | {"seed": seed}
    (place / "spec.json").write_text(json.dumps(record | {"sha256": files.seal(record)}))
    end = json.loads((run.folder / "finished.json").read_text())
    end["sha256"]["spec.json"] = files.sha256(place / "spec.json")
    (place / "finished.json").write_text(json.dumps(end))
    return Run.open(place)


@pytest.mark.slow
def test_six_hundred_models_take_less_than_five_megabytes(spec, tmp_path):
    """Nets that have hardly learned decode noise in color, of which nothing can be compressed."""
    generator = np.random.default_rng(0)
    images = generator.integers(0, 256, (48, 32, 32, 3), dtype=np.uint8)
    data = FromArrays.from_arrays(images, np.stack([np.arange(48) % 4, np.arange(48) // 4 % 3], axis=1))
    made = train([spec(BetaVAE(float(b)), data) for b in range(1, 13)], [0], folder=tmp_path / "made")
    for run in made:
        run.score("mig,sap,modularity", progress=False)
    runs = [copied(run, seed, tmp_path) for run in made for seed in range(100, 150)]
    assert len(runs) == 600
    path = write_report(runs, tmp_path / "report.html")
    assert path.stat().st_size < 5_000_000


def test_of_many_settings_the_best_have_a_strip(member):
    members = [member(b / 100, objective=BetaVAE(capacity)) for b, capacity in enumerate([2.0, 4.0])]
    assert len(Page.from_members(members).stripped) == 2
    numbered = [replace(member(n / 100), number=100 - n) for n in range(MAX_STRIPS + 10)]
    groups = tuple(Group(n, f"setting {n}", (each,)) for n, each in enumerate(numbered))
    large = Page(tuple(numbered), groups, (Measure("mig"),), (), groups)
    assert [group.index for group in large.stripped] == list(range(10, MAX_STRIPS + 10))
