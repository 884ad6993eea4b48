"""Figures 1 and 6 of Chen et al.: pictures of the best of each model."""

from pathlib import Path

import pytest

from unbraid.papers.chen2018.traversals import FACES, FIGURE1_STAND_IN
from unbraid.studies.execute import StudyOptions

QUIET = StudyOptions(device="cpu", num_scorers=0, progress=False)


@pytest.mark.slow
def test_the_best_of_each_model_are_shown_side_by_side(tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    work = FIGURE1_STAND_IN.at("smoke")
    assert work.run(tmp_path, QUIET).failures == {}
    assert FACES.traversals(work, tmp_path) == {}  # after so few steps no latent moves
    assert FACES.traversals(work, tmp_path, min_std=0.0)["traversals"].startswith(b"\x89PNG")
