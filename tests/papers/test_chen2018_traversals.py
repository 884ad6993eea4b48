"""Figures 1 and 6 of Chen et al.: pictures of the best of each model, and files in the official formats."""

from pathlib import Path

import pytest

from tests.data.published.test_chairs3d import lay_out
from unbraid.papers.chen2018.traversals import FACES, FIGURE1_STAND_IN, FIGURE6, INFORMATIVE
from unbraid.studies.execute import StudyOptions

QUIET = StudyOptions(device="cpu", num_scorers=0, progress=False)


@pytest.mark.slow
def test_the_best_of_each_model_are_shown_side_by_side(tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    work = FIGURE1_STAND_IN.at("smoke")
    assert work.run(tmp_path, QUIET).failures == {}
    assert FACES.traversals(work, tmp_path) == {}  # after so few steps no latent moves
    assert FACES.traversals(work, tmp_path, min_std=0.0)["traversals"].startswith(b"\x89PNG")


@pytest.mark.slow
def test_chairs_run_on_files_in_the_official_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNBRAID_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("UNBRAID_CACHE", str(tmp_path / "cache"))
    lay_out(tmp_path / "data")
    work = FIGURE6.at("smoke")
    assert work.run(tmp_path / "runs", QUIET).failures == {}
    assert len(work.scores(tmp_path / "runs").values("beta-TCVAE 6", INFORMATIVE)) == 2
