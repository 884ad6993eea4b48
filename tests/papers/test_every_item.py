"""Every item of every paper: what it says of itself is so at every scale. Nothing is trained."""

import functools
import math
from pathlib import Path
from typing import Any

import pytest

from unbraid.figures.canvas import data_of
from unbraid.papers import Calculation
from unbraid.papers.item import Item
from unbraid.papers.judgement import judge
from unbraid.papers.registry import items, papers
from unbraid.papers.work import Work, digest_of
from unbraid.studies.study_scores import Number, ScoredRun, StudyScores

ITEMS = items()
every_item = pytest.mark.parametrize("item", ITEMS.values(), ids=list(ITEMS))


@functools.cache
def work_at(name: str, scale: str) -> Work:
    """Returns what an item does at a scale, built once: a study of hundreds of settings takes its time."""
    return ITEMS[name].at(scale)


@functools.cache
def made_up(name: str) -> StudyScores:
    """Returns three made-up runs of every setting of the largest scale, with a number for every metric and for the
    parts that claims and printed numbers name.
    """
    item = ITEMS[name]
    work = work_at(name, item.scales[-1])
    empty = work.empty()
    parts = {(p.metric.rpartition(":")[0], p.metric.rpartition(":")[2]) for p in item.printed}
    for claim in work.claims:
        parts |= {(name.rpartition(":")[0], name.rpartition(":")[2]) for name in claim.subjects()[1]}
    runs, numbers = [], []
    for place, label in enumerate(empty.settings):
        for seed in range(3):
            run = f"{label}-{seed}"
            runs.append(ScoredRun(label, seed, run, "finished", 1.0, 5))
            for number, metric in enumerate(empty.metrics):
                value = 0.3 + 0.02 * place + 0.01 * seed + 0.001 * number
                ends = (math.nan, math.nan, run)
                numbers.append(Number(label, seed, metric, "", "value", "", value, *ends))
                for name, of in parts:
                    if name == metric:
                        numbers.append(Number(label, seed, metric, "", "part", of, value / 2, *ends))
    return StudyScores(
        empty.settings, empty.families, empty.metrics, empty.higher_is_better, tuple(runs), tuple(numbers)
    )


@every_item
def test_it_builds_at_every_scale_to_one_definition(item: Item) -> None:
    for scale in item.scales:
        assert digest_of(item.at(scale)) == digest_of(work_at(item.id, scale))
        assert work_at(item.id, scale).num_runs > 0


@every_item
def test_scales_that_compute_different_things_have_different_definitions(item: Item) -> None:
    """A calculation says at which size it is, so that numbers of the scale smoke are never taken for others."""
    works = [work_at(item.id, scale) for scale in item.scales]
    if all(isinstance(work, Calculation) for work in works):
        what = {repr(getattr(work.compute, "args", ())) for work in works}
        assert len({digest_of(work) for work in works}) >= len(what)


@every_item
def test_its_printed_numbers_are_of_settings_and_scores_that_it_has(item: Item) -> None:
    largest = work_at(item.id, item.scales[-1]).empty()
    for printed in item.printed:
        largest.check([printed.setting], [printed.metric])
    largest.check(metrics=item.columns)


@every_item
def test_its_claims_are_decided_by_scores(item: Item) -> None:
    judged = judge(item, item.scales[-1], made_up(item.id))
    assert all(decision.reason.endswith(".") for decision in judged.decisions)
    assert all("Scores are missing" not in decision.reason for decision in judged.decisions)


@pytest.mark.parametrize("item", [i for i in ITEMS.values() if i.draw and i.trains], ids=lambda item: item.id)
def test_its_figure_can_be_drawn_from_scores_alone(item: Item) -> None:
    """Into a file is what `figures.save` has its own tests for."""
    pytest.importorskip("matplotlib")
    assert item.draw is not None
    axes = item.draw(made_up(item.id))
    first = axes[0] if isinstance(axes, tuple) else axes
    assert data_of(first).rows
    picture = _picture_of(first)
    if picture not in _DRAWN:  # an item and its stand-in have the same
        first.figure.draw_without_rendering()
        _DRAWN.add(picture)


_DRAWN: set[str] = set()


def _picture_of(axes: Any) -> str:
    """Returns all that is seen in a figure: kinds of marks, words and numbers."""
    panels = [
        (
            [type(child).__name__ for child in each.get_children()],
            each.get_title(),
            each.get_xlabel(),
            each.get_ylabel(),
        )
        for each in axes.figure.axes
    ]
    return repr((axes.figure.get_size_inches().tolist(), panels, data_of(axes).rows))


def test_every_paper_has_a_file_that_runs_its_items() -> None:
    found = {path.stem.removeprefix("test_smoke_") for path in Path(__file__).parent.glob("test_smoke_*.py")}
    assert found == set(papers())
