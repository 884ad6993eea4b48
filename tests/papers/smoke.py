"""Runs every item of a paper at the scale "smoke". Each paper has a file of tests of its own, which calls it."""

import math
from pathlib import Path

from unbraid.data.conversion.converted import ConvertedDataset
from unbraid.data.dataset import FactorDataset
from unbraid.errors import UnbraidError
from unbraid.papers.item import Item
from unbraid.papers.registry import papers
from unbraid.papers.running import run_item
from unbraid.studies import StudyOptions
from unbraid.studies.study_scores import StudyScores

OPTIONS = StudyOptions(device="cpu", num_scorers=0, progress=False)


def _is_at_hand(dataset: FactorDataset) -> bool:
    return not isinstance(dataset, ConvertedDataset) or dataset.find() is not None


def _draws(item: Item, scores: StudyScores) -> bool:
    """Returns whether the figure is drawn, or nothing is there to draw: after so few steps no latent may be alive."""
    try:
        item.draw(scores)
    except UnbraidError as error:
        return "nothing to draw" in str(error)
    return True


def check_every_item_runs(paper: str, folder: Path) -> None:
    """Checks that each item runs from end to end, that a second call does nothing, and that no evidence is kept."""
    for item in papers()[paper].items:
        work = item.at("smoke")
        if not all(map(_is_at_hand, work.datasets())) or (item.needs and not work.datasets()):
            continue  # tested elsewhere, on files that tests make in the official format
        ran = run_item(item, "smoke", folder, OPTIONS)
        assert not ran.progress.failures, (item.id, ran.progress.failures)
        scores = ran.judgement.scores
        assert ran.judgement.num_runs == work.num_runs, item.id
        assert set(scores.settings) == set(work.empty().settings), item.id
        assert scores.numbers, item.id
        assert all(math.isfinite(run.seconds) for run in scores.runs), item.id
        assert len(ran.judgement.decisions) == len(work.claims), item.id
        assert ran.evidence is None
        again = run_item(item, "smoke", folder, OPTIONS)
        assert (again.progress.num_trained, again.progress.num_scored) == (0, 0), item.id
        assert item.draw is None or _draws(item, scores), item.id
        if item.pictures is not None:
            assert all(content.startswith(b"\x89PNG") for content in item.pictures(work, folder).values())
