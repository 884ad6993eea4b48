"""The runs of a study whose codes are still there, setting by setting."""

from pathlib import Path

from unbraid.runs.run import Run
from unbraid.studies.study import Study
from unbraid.studies.study_scores import StudyScores


def seeds_with_codes(study: Study, folder: Path, scores: StudyScores) -> dict[str, dict[int, Run]]:
    """Returns the finished runs of each setting that have not let their codes go, by seed."""
    found: dict[str, dict[int, Run]] = {}
    finished = {run.run for run in scores.runs if run.state == "finished"}
    for each in study.runs(folder):
        if each.name in finished and not each.run.let_go:
            found.setdefault(each.setting.label, {})[each.seed] = each.run
    return found
