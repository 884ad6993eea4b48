"""The scores that a run keeps in its folder, beside the codes that they are of."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from unbraid import files
from unbraid.errors import RunError
from unbraid.evaluation.score_json import score_from_json, score_key, score_to_json
from unbraid.metrics.metric import Score
from unbraid.runs.records import FORMAT, read_record


@final
@dataclass(frozen=True)
class KeptScores:
    """scores.json of a finished run, whose codes have this SHA-256. Scores of one question replace each other: those
    of the same metric, settings and scoring.
    """

    folder: Path
    sum_of_codes: Any

    def read(self) -> list[Score]:
        """Returns the scores that were kept, the oldest question first; none where there is no file."""
        path = self._path
        if not path.exists():
            return []
        try:
            record = read_record(path)
            if record["sha256"] != files.seal(record):
                raise ValueError("its SHA-256 does not match")
            codes, scores = record["codes"], [score_from_json(content) for content in record["scores"]]
        except (RunError, KeyError, TypeError, ValueError, AttributeError, IndexError):
            raise RunError(
                f"{path} does not hold scores as unbraid writes them. Remove it: they can be computed again."
            ) from None
        if codes != self.sum_of_codes:
            raise RunError(
                f"{path} holds the scores of other codes than those of this run. Remove it: they can be computed again."
            )
        return scores

    def add(self, scores: Sequence[Score]) -> None:
        """Keeps these scores beside those of other questions."""
        # A process that scores the same run meanwhile has scores of its own to add.
        with files.locked(self.folder / ".scores.lock", wait=True, purpose=f"keeping scores of {self.folder.name}"):
            contents = {score_key(content): content for content in map(score_to_json, [*self.read(), *scores])}
            record = {"format": FORMAT, "codes": self.sum_of_codes, "scores": list(contents.values())}
            files.write_sealed(self._path, record)

    @property
    def _path(self) -> Path:
        return self.folder / "scores.json"
