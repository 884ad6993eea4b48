"""Kumar et al., appendix B: correlations of labels."""

from pathlib import Path

import pytest

from unbraid import figures
from unbraid.papers.judgement import judge
from unbraid.papers.kumar2017.appendix_b import APPENDIX_B, _correlations
from unbraid.studies.execute import StudyOptions


def test_labels_of_the_grid_are_uncorrelated_and_drawn(tmp_path: Path) -> None:
    work = APPENDIX_B.at("smoke")
    assert work.run(tmp_path, StudyOptions(progress=False)).num_scored == 3
    scores = work.scores(tmp_path)
    judged = judge(APPENDIX_B, "smoke", scores)
    assert judged.verdict == "reproduced", judged.decisions
    by_chance = scores.values("2D Shapes, a tenth", "largest")
    assert all(0 < value < 0.015 for value in by_chance.values())
    pytest.importorskip("matplotlib")
    axes = APPENDIX_B.draw(scores)
    assert len(figures.data_of(axes)) == 25


def test_labels_that_go_together_are_found() -> None:
    import torch

    values = torch.tensor([[0, 0, 1], [1, 2, 0], [2, 4, 1], [3, 6, 0]])
    found = _correlations(["a", "b", "c"], values)
    assert found["correlation:a and b"] == pytest.approx(1)
    assert found["correlation:a and c"] == pytest.approx(-0.4472, abs=1e-4)
    assert found["largest"] == pytest.approx(1)
