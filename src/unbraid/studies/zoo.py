"""Model zoo: a repository on the Hugging Face Hub with all runs of a study and a table of scores."""

import contextlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from unbraid._internal.names import kebab_case
from unbraid.config import text_of, to_json
from unbraid.errors import RunError, UnbraidError
from unbraid.integrations.hub import PushOptions, Result, model_card
from unbraid.metrics.score_rows import in_markdown
from unbraid.studies.collect import collect
from unbraid.studies.select import best_runs
from unbraid.studies.study import Study, StudyRun
from unbraid.studies.study_scores import StudyScores
from unbraid.studies.tables import long_table, wide_markdown
from unbraid.training.runs.hub_runs import (
    PLAIN_FILES,
    UNBRAID,
    as_json,
    contents_of,
    dataset_name,
    license_text,
    traversal_picture,
)

STUDY, SCORES = "study.json", "scores.csv"
_MAX_PICTURES = 12  # settings with a picture on the card
_MAX_METRICS = 8  # columns of the table on the card
_HOW_TO_LOAD = f"""\
## Load it

```python
from unbraid import Run  # pip install 'unbraid[hub]'
from unbraid.studies import Study

run = Run.from_hub("{{repo_id}}", name="{{name}}")  # one of them
study = Study.from_hub("{{repo_id}}", "runs")  # all, into the folder runs
```

[`{SCORES}`]({SCORES}) has every number of every model: its metric, value, 95 % interval over images, setting, seed and
folder."""


def zoo_contents(study: Study, folder: Path | str, repo_id: str, options: PushOptions) -> dict[str, bytes | Path]:
    """Returns the files of a zoo by path.

    The files are the study, a table of its scores, a folder for each finished run, pictures of the best run of each
    setting, and a model card.
    """
    scores = collect(study, folder)
    states = {each.run: each.state for each in scores.runs}
    finished = [each for each in study.runs(Path(folder)) if states.get(each.name) == "finished"]
    if not finished:
        raise RunError(
            f"Expected a finished run of the study {study.name!r} in {folder}, got none. Train and score the runs: "
            "unbraid study run."
        )
    contents: dict[str, bytes | Path] = {
        f"{each.name}/{path}": content
        for each in finished
        for path, content in contents_of(each.run, codes=options.get("codes", True)).items()
    }
    contents[STUDY] = as_json(to_json(study))
    contents[SCORES] = long_table(scores).to_csv().encode()
    pictures = _pictures(study, Path(folder), scores)
    contents |= {f"traversals/{name}.png": picture for name, picture in pictures.values()}
    shown = {label: name for label, (name, _) in pictures.items()}
    text = _text(study, scores, finished, repo_id, shown, options.get("data_license"))
    specs = [setting.spec for setting in study.settings]
    named = [kebab_case(type(s.objective)) for s in specs] + [dataset_name(s.dataset) for s in specs]
    tags = ["zoo", *dict.fromkeys(named)]
    contents["README.md"] = model_card(study.name, tags, _results(study, scores), text, options.get("license"))
    return contents


def _pictures(study: Study, folder: Path, scores: StudyScores) -> dict[str, tuple[str, bytes]]:
    """Returns the name and a picture of traversals of the best run of each setting, by label."""
    found = {}
    with contextlib.suppress(UnbraidError):  # the study or its runs do not have this metric
        for label, run in list(best_runs(study, folder, scores=scores).items())[:_MAX_PICTURES]:
            if picture := traversal_picture(run):
                found[label] = (run.name, picture)
    return found


def _text(
    study: Study,
    scores: StudyScores,
    finished: Sequence[StudyRun],
    repo_id: str,
    pictures: dict[str, str],
    data_license: str | None,
) -> str:
    """Returns the text of the model card. Its table has the first metrics; the file of scores has all metrics."""
    metrics = [name for name in dict.fromkeys([study.best_by, *scores.metrics]) if name in scores.higher_is_better]
    metrics = [name for name in metrics if scores.with_any_score(name)]
    table = wide_markdown(scores, metrics[:_MAX_METRICS]).rstrip() if metrics else "None were computed."
    if (more := len(metrics) - _MAX_METRICS) > 0:
        table += f" {SCORES} has {more} more metrics."
    settings = [
        f"| {in_markdown(setting.label)} | {in_markdown(text_of(setting.spec.objective))} | "
        f"{dataset_name(setting.spec.dataset)} | {', '.join(map(str, setting.seeds))} | {setting.spec.num_steps:,} |"
        for setting in study.settings
    ]
    licenses = [license_text(each, data_license) for each in dict.fromkeys(s.spec.dataset for s in study.settings)]
    shown = [
        f"**{in_markdown(label)}**, `{name}`\n\n![Each row moves one latent.](traversals/{name}.png)"
        for label, name in pictures.items()
    ]
    count = f"{len(finished):,} of {study.num_runs:,}"
    parts = [
        f"# {study.name}",
        *([in_markdown(study.question)] if study.question else []),
        f"{count} models of {len(study.settings)} settings, trained by {UNBRAID}, each in a folder of this repository.",
        _HOW_TO_LOAD.format(repo_id=repo_id, name=finished[0].name),
        f"## Scores\n\n{table}",
        "## Settings and seeds",
        "\n".join(["| setting | objective | data | seeds | steps |", "|---|---|---|---|---:|", *settings]),
        "## Data",
        *licenses,
        *(["## The best model of each setting", *shown] if shown else []),
        PLAIN_FILES,
    ]
    return "\n\n".join(parts)


def _results(study: Study, scores: StudyScores) -> list[Result]:
    """Returns the median of the metric `best_by` for each setting with scores."""
    if study.best_by not in scores.higher_is_better:
        return []
    return [
        Result(dataset_name(setting.spec.dataset), study.best_by, float(np.median(values)), setting.label)
        for setting in study.settings
        if (values := scores.of_seeds(setting.label, study.best_by))
    ]
