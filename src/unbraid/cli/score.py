"""`unbraid score`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from unbraid.cli.console import output, stage
from unbraid.cli.flags import Given, build_kind, flags_of_kind, with_flags
from unbraid.cli.run_folders import finished_among, is_run, open_runs
from unbraid.cli.tables import Scored, score_row, score_table
from unbraid.codes import Codes
from unbraid.data.npz import Npz
from unbraid.metrics.metric import Metric
from unbraid.metrics.mig import MIG
from unbraid.runs.run import Run
from unbraid.runs.spec_words import spec_labels

_FLAGS = flags_of_kind(Metric, "metric", MIG())
_PANELS = {"": "What to compute", "metric.": "Fields of --metric"}
_OPTIONAL = ("std", "log_var", "factors", "weights")


@with_flags(_FLAGS.values(), panels=_PANELS, aliases={})
def score(
    given: Given,
    what: Annotated[list[Path], typer.Argument(metavar="RUNS", help="Runs, folders of runs, or .npz files of codes.", show_default=False)],
) -> None:
    """Score runs, or codes from anywhere.

    The scores of a run are kept in its folder. An .npz file holds the arrays mean, std (or log_var) and factors, one row an image; factor_names
    and weights are optional.

    Examples:
      unbraid score runs
      unbraid score runs --metric mig --metric.estimator quantised --metric.num-bins 50
      unbraid score codes.npz
    """
    metrics: list[Metric] = build_kind(Metric, "metric", given, _FLAGS, MIG())
    npz = [path for path in what if path.suffix == ".npz" and not path.is_dir()]
    folders = [path for path in what if path not in npz]
    runs = _runs(folders) if folders else []
    for metric in metrics:
        rows = score_runs(runs, metric) if runs else []
        for path in npz:
            with stage(f"Scoring {path}"):
                rows.append(Scored(str(path), None, metric(read_codes(path))))
        output().print(score_table(rows))


def score_runs(runs: Sequence[Run], metric: Metric) -> list[Scored]:
    """Score each run and keep the score in its folder."""
    labels, rows = spec_labels([run.spec for run in runs]), []
    with stage(f"Scoring {len(runs)} runs") as tell:
        for number, run in enumerate(runs, start=1):
            tell(f"{run.name}, {number} of {len(runs)}")
            rows.append(score_row(labels[run.spec.digest], run, run.score([metric])[0]))
    return rows


def read_codes(path: Path) -> Codes:
    """The codes in an .npz of plain arrays."""
    npz = Npz(path)
    arrays = {name: npz.read(name) for name in _OPTIONAL if name in npz}
    names = npz.read("factor_names").tolist() if "factor_names" in npz else None
    return Codes.from_arrays(npz.read("mean"), **arrays, factor_names=names)


def _runs(folders: Sequence[Path]) -> list[Run]:
    for folder in folders:
        if is_run(folder) and (run := Run.open(folder)).status != "finished":
            run.codes()  # named, not found: refused, with what to do about it
    return finished_among(open_runs(folders), "score")
