"""Runs an item as far as the budget goes, and keeps what came of it as evidence."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import final

from unbraid.errors import DataError
from unbraid.papers.evidence_files import committed_evidence, find_evidence, keep_evidence
from unbraid.papers.item import Item, Scale
from unbraid.papers.judgement import Judgement, judge
from unbraid.papers.work import Progress, Work
from unbraid.studies.execute import StudyOptions
from unbraid.studies.keeping import register
from unbraid.studies.study import Keep
from unbraid.studies.study_scores import StudyScores


@final
@dataclass(frozen=True)
class ItemRun:
    """What came of running an item: what was done, what the scores say, what the project's own evidence says, and the
    file in which the scores are kept, if they are.
    """

    progress: Progress
    judgement: Judgement
    committed: Judgement | None
    evidence: Path | None


def run_item(
    item: Item,
    scale: Scale,
    folder: Path | str,
    options: StudyOptions | None = None,
    *,
    keep: Keep | None = None,
    evidence: Path | str | None = None,
    beside: Sequence[Item] = (),
    together: Sequence[Item] = (),
) -> ItemRun:
    """Trains and scores what is missing of an item, and returns what its scores say. The same call goes on after any
    interruption, and items that ask for the same runs share them.

    Runs lie in the folder; evidence is written to the folder `evidence`, by default the one within it: after Ctrl-C
    too, of what was scored by then, and never at the scale "smoke". What items `beside` ask of the same runs is
    computed too, before codes and weights are let go: they then need not train these runs again. What items `together`
    with this one ask is scored at once, in one pass over the codes of a run. Where `options` name settings, these alone
    are run, and evidence of the others may come from elsewhere.
    """
    folder, began, options = Path(folder), time.monotonic(), options or StudyOptions()
    work = item.at(scale)
    _check_data(item, scale)
    _register(beside, work, scale, folder)
    asked = work if keep is None else work.keeping(keep)
    evidence = folder / "evidence" if evidence is None else Path(evidence)

    def keep_scores(*, whole: bool) -> tuple[StudyScores, Path | None]:
        scores = work.scores(folder)
        if scale == "smoke" or not scores.numbers:
            return scores, None
        pictures = item.pictures(work, folder) if item.pictures is not None and whole else None
        seconds = time.monotonic() - began
        written = keep_evidence(
            *(item, scale, scores, evidence), seconds=seconds, pictures=pictures, settings=options.settings
        )
        return scores, written

    others = [study for other in together if scale in other.work for study in other.at(scale).studies]
    try:
        progress = asked.run(folder, replace(options, beside=others))
    except KeyboardInterrupt:
        keep_scores(whole=False)
        raise
    scores, written = keep_scores(whole=not (progress.num_left or progress.failures or options.settings))
    committed = None if scale == "smoke" else find_evidence(item, scale, committed_evidence())
    whole = None if written is None else find_evidence(item, scale, evidence)
    judged = judge(item, scale, scores) if whole is None else whole.judgement  # of all that the file holds
    return ItemRun(progress, judged, committed.judgement if committed else None, written)


def _register(beside: Sequence[Item], work: Work, scale: Scale, folder: Path) -> None:
    """Puts down in the folder the studies of items that ask for runs of this work, so that what they ask is scored."""
    ours, names = {run.name for run in work.runs(folder)}, {study.name for study in work.studies}
    for other in beside:
        for study in other.at(scale).studies if scale in other.work else ():
            if study.name not in names and any(each.name in ours for each in study.runs(folder)):
                register(study, folder)


def _check_data(item: Item, scale: Scale) -> None:
    """Raises if data are missing that only the user can have, and names the stand-in."""
    if not item.needs:
        return
    try:
        for dataset in item.at(scale).datasets():
            dataset.open()
    except DataError as error:
        offer = ""
        if item.stand_in:
            offer = (
                f"\nWithout it there is a stand-in, which says nothing of the original: unbraid papers run "
                f"{item.stand_in} --scale {scale}"
            )
        raise DataError(f"{item.id} needs {item.needs}: {error}{offer}") from None
