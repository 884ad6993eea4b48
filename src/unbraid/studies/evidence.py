"""Evidence: the scores of a study in one small file, with the command, commit and machine that computed them."""

import datetime
import json
import math
import shlex
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, final

import torch

from unbraid._internal import files
from unbraid._internal.version import __version__
from unbraid.config.annotations import check_value
from unbraid.errors import SpecError, UnbraidError
from unbraid.metrics.score_json import number_from_json, number_to_json
from unbraid.studies.study_scores import Number, RunState, ScoredRun, StudyScores

_FORMAT = 1
_DIGITS = 7  # significant digits of each number
_RUN_FIELDS = {"seed": int, "run": str, "state": RunState, "num_used": int | None}


@final
@dataclass(frozen=True)
class Evidence:
    """The scores of a study and their origin `made_by`: command, commit, machine, date and seconds."""

    study: str
    scores: StudyScores
    made_by: Mapping[str, Any]

    def save(self, path: Path | str) -> Path:
        """Writes the evidence as JSON with a checksum and one run per line. Returns the path."""
        path = Path(path)
        scores = self.scores
        head = {
            "format": _FORMAT,
            "study": self.study,
            "made_by": dict(self.made_by),
            "settings": [[label, scores.families[label]] for label in scores.settings],
            **({"swept": dict(scores.swept)} if scores.swept else {}),
            "metrics": [[name, scores.higher_is_better[name]] for name in scores.metrics],
        }
        runs = list(_runs_to_json(scores))
        sealed = {**head, "runs": runs}
        lines = ",\n".join(f"  {json.dumps(run)}" for run in runs)
        text = json.dumps({**head, "sha256": files.seal(sealed)}, indent=1).rstrip("}\n ")
        files.write_text(path, f'{text},\n "runs": [\n{lines}\n ]\n}}\n')
        return path

    @classmethod
    def load(cls, path: Path | str) -> "Evidence":
        """Reads a file written by `save`. Raises UnbraidError if the file was changed."""
        path = Path(path)
        try:
            content = files.read_sealed(path)
            if content["format"] != _FORMAT:
                raise ValueError(f"expected the format {_FORMAT}, got {content['format']!r}")
            _check_fields(content)
            return cls(content["study"], _scores_from_json(content), content["made_by"])
        except (OSError, ValueError, KeyError, TypeError, AttributeError, SpecError) as error:
            raise UnbraidError(
                f"Expected a file written by `Evidence.save`, got {path} ({error}). Restore the file, or collect the "
                "scores again."
            ) from None


def _runs_to_json(scores: StudyScores) -> Iterator[dict[str, Any]]:
    by_run: dict[str, list[Number]] = defaultdict(list)
    for number in scores.numbers:
        by_run[number.run].append(number)
    for run in scores.runs:
        numbers: dict[str, dict[str, Any]] = defaultdict(dict)
        for number in by_run[run.run]:
            values = [_rounded(each) for each in (number.value, number.low, number.high)]
            question, place = f"{number.metric}\t{number.scoring}".rstrip("\t"), f"{number.quantity}:{number.of}"
            numbers[question][place] = values[0] if math.isnan(number.low) else values
        content = {name: value for name, value in asdict(run).items() if name != "refused" or value}
        yield {**content, "seconds": _rounded(run.seconds), "numbers": numbers}


def _check_fields(content: Mapping[str, Any]) -> None:
    """Raises ValueError for the first field that is invalid or inconsistent with other fields."""
    for name, kind in {"settings": str, "metrics": bool | None}.items():
        pairs = content[name]
        if not isinstance(pairs, list) or not all(
            isinstance(p, list) and len(p) == 2 and isinstance(p[0], str) for p in pairs
        ):
            raise ValueError(
                f"the field {name!r} is {str(pairs)[:100]!r}; expected a list of pairs of a name and a value"
            )
        for label, value in pairs:
            check_value(value, kind, f"the field {name!r} of {label!r}")
    if not isinstance(content["made_by"], dict):
        raise ValueError(f"the field 'made_by' is {str(content['made_by'])[:100]!r}; expected names and values")
    labels, metrics = dict(content["settings"]), dict(content["metrics"])
    for place, run in enumerate(content["runs"]):
        for name in _RUN_FIELDS.keys() & run.keys():
            check_value(run[name], _RUN_FIELDS[name], f"the field {name!r} of run {place}")
        if run.get("setting") not in labels:
            raise ValueError(
                f"the field 'setting' of run {place} is {str(run.get('setting'))[:100]!r}, not a setting of the file"
            )
        if unknown := [name for name in run.get("numbers", {}) if name.partition("\t")[0] not in metrics]:
            raise ValueError(
                f"the field 'numbers' of run {place} has {unknown[0][:100]!r}, which is not a metric of the file"
            )


def _scores_from_json(content: Mapping[str, Any]) -> StudyScores:
    runs: list[ScoredRun] = []
    numbers: list[Number] = []
    for each in content["runs"]:
        by_question = each.pop("numbers")
        run = ScoredRun(**{**each, "seconds": number_from_json(each["seconds"])})
        runs.append(run)
        for question, by_quantity in by_question.items():
            metric, _, scoring = question.partition("\t")
            for place, kept in by_quantity.items():
                quantity, _, of = place.partition(":")
                value, low, high = (kept, None, None) if not isinstance(kept, list) else kept
                ends = number_from_json(value), number_from_json(low), number_from_json(high)
                numbers.append(Number(run.setting, run.seed, metric, scoring, quantity, of, *ends, run.run))
    return StudyScores(
        settings=tuple(label for label, _ in content["settings"]),
        families=dict(content["settings"]),
        metrics=tuple(name for name, _ in content["metrics"]),
        higher_is_better=dict(content["metrics"]),
        runs=tuple(runs),
        numbers=tuple(numbers),
        swept={label: float(value) for label, value in content.get("swept", {}).items()},
    )


def _rounded(value: float) -> float | str | None:
    return number_to_json(float(f"{value:.{_DIGITS}g}"))


@final
@dataclass(frozen=True)
class Circumstances:
    """Origin of computed scores: the command, date, commit, machine and versions."""

    command: str
    date: str
    commit: str
    machine: str
    torch: str
    unbraid: str

    @classmethod
    def now(cls, command: Sequence[str] | None = None, *, device: str = "", commit: str = "") -> "Circumstances":
        """Returns the circumstances of this process.

        Args:
            command: The words of the command. Default: `unbraid` and the arguments of this process.
            device: The device. Default: the GPU if available.
            commit: The commit. Default: the commit of the checkout.
        """
        is_gpu = device.startswith("cuda") if device else torch.cuda.is_available()
        return cls(
            command=shlex.join(["unbraid", *sys.argv[1:]] if command is None else command),
            date=datetime.datetime.now(datetime.UTC).date().isoformat(),
            commit=commit or commit_of_checkout(),
            machine=torch.cuda.get_device_name() if is_gpu else f"CPU, {torch.get_num_threads()} threads",
            torch=torch.__version__,
            unbraid=__version__,
        )

    def to_json(self) -> dict[str, Any]:
        """Returns the fields as a dictionary."""
        return asdict(self)

    def __str__(self) -> str:
        return f"`{self.command}`, {self.date}, commit {self.commit}, {self.machine}, torch {self.torch}."


def commit_of_checkout(file: Path | str = __file__) -> str:
    """Returns the commit of the git repository that tracks this file, or "unknown".

    The suffix "+changes" marks uncommitted changes of tracked files.
    """
    path = Path(file).resolve()
    git = ["git", "-C", str(path.parent)]
    try:
        subprocess.run([*git, "ls-files", "--error-unmatch", path.name], capture_output=True, check=True)
        describe = [*git, "describe", "--always", "--exclude=*", "--dirty=+changes"]
        return subprocess.run(describe, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
