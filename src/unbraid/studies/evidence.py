"""Evidence: the scores of a study as one small file that travels, with what made them."""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, final

from unbraid import files
from unbraid.errors import UnbraidError
from unbraid.evaluation.score_json import number_from_json, number_to_json
from unbraid.studies.study_scores import Number, ScoredRun, StudyScores

_FORMAT = 1
_DIGITS = 7  # of every number: more than its interval says


@final
@dataclass(frozen=True)
class Evidence:
    """The scores of a study, and where they come from: the command, the commit, the machine, the date, the seconds."""

    study: str
    scores: StudyScores
    made_by: Mapping[str, Any]

    def save(self, path: Path | str) -> Path:
        """Writes it as JSON, one run per line, sealed."""
        path = Path(path)
        scores = self.scores
        head = {
            "format": _FORMAT,
            "study": self.study,
            "made_by": dict(self.made_by),
            "settings": [[label, scores.families[label]] for label in scores.settings],
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
        """Reads what `save` wrote. A file that was changed is refused."""
        path = Path(path)
        try:
            content = files.read_sealed(path)
            if content["format"] != _FORMAT:
                raise ValueError(f"it has format {content['format']!r}; this version reads {_FORMAT}")
            return cls(content["study"], _scores_from_json(content), content["made_by"])
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise UnbraidError(
                f"{path} is not evidence as unbraid writes it ({error}). Restore it, or collect it again."
            ) from None


def _runs_to_json(scores: StudyScores) -> Iterator[dict[str, Any]]:
    by_run: dict[str, list[Number]] = {}
    for number in scores.numbers:
        by_run.setdefault(number.run, []).append(number)
    for run in scores.runs:
        numbers: dict[str, dict[str, Any]] = {}
        for number in by_run.get(run.run, []):
            place = numbers.setdefault(f"{number.metric}\t{number.scoring}".rstrip("\t"), {})
            place[f"{number.quantity}:{number.of}"] = _plain(number)
        content = {name: value for name, value in asdict(run).items() if name != "refused" or value}
        yield {**content, "seconds": _rounded(run.seconds), "numbers": numbers}


def _plain(number: Number) -> Any:
    """Returns the value alone, or with its interval."""
    if math.isnan(number.low):
        return _rounded(number.value)
    return [_rounded(each) for each in (number.value, number.low, number.high)]


def _scores_from_json(content: Mapping[str, Any]) -> StudyScores:
    runs: list[ScoredRun] = []
    numbers: list[Number] = []
    for each in content["runs"]:
        told = {name: value for name, value in each.items() if name != "numbers"}
        run = ScoredRun(**{**told, "seconds": number_from_json(told["seconds"])})
        runs.append(run)
        for question, by_quantity in each["numbers"].items():
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
    )


def _rounded(value: float) -> float | str | None:
    return number_to_json(float(f"{value:.{_DIGITS}g}"))
