"""The scores that a run keeps in scores.json, beside the codes that were scored."""

import contextlib
import errno
import json
import logging
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from unbraid._internal import files
from unbraid.errors import RunError
from unbraid.metrics.metric import Score
from unbraid.metrics.score_json import score_from_json, score_key, score_to_json
from unbraid.metrics.scoring import Scoring
from unbraid.training.runs.run_folder import FORMAT, read_record

log = logging.getLogger(__name__)

_READ_ONLY = (errno.EACCES, errno.EPERM, errno.EROFS)


@final
@dataclass(frozen=True)
class KeptScores:
    """Reads and writes scores.json of a finished run whose codes have this SHA-256.

    A score replaces an earlier one of the same metric, settings and scoring.
    """

    folder: Path
    codes_checksum: Any

    def read(self, changes: Mapping[str, Any] | None = None) -> list[tuple[str, Score]]:
        """Returns the kept scores, the oldest first, each with the name of its metric as the user typed it.

        `changes` selects those of one scoring, by the fields that it changes.
        """
        try:
            kept = [(_metric_name(content), score_from_json(content)) for content in self._record()["scores"]]
        except (KeyError, TypeError, ValueError, AttributeError, IndexError):
            raise self._unreadable() from None
        return [(name, score) for name, score in kept if changes is None or score.scoring == changes]

    def add(
        self,
        scores: Mapping[str, Score],
        refused: Mapping[str, str],
        scoring: Scoring,
        num_used: int | None = None,
    ) -> None:
        """Adds scores and reasons of refusals, by the name of their metric, and the number of used latents if known."""
        new = [{"name": name, **score_to_json(score)} for name, score in scores.items()]
        reasons = {question_key(name, scoring.changes()): reason for name, reason in refused.items()}
        # Another process that scores the same run at the same time adds its scores too.
        with (
            unless_read_only("scores", self.folder.name),
            files.locked(self.folder / ".scores.lock", wait=True, purpose=f"keeping scores of {self.folder.name}"),
        ):
            old = self._record()
            contents = {score_key(content): content for content in [*old["scores"], *new]}
            record = {
                "format": FORMAT,
                "codes": self.codes_checksum,
                "num_used": old.get("num_used") if num_used is None else num_used,
                "refused": {**old.get("refused", {}), **reasons},
                "scores": list(contents.values()),
            }
            files.write_sealed(self._path, record)

    def _record(self) -> dict[str, Any]:
        """Returns the content of the file; no scores if there is no file."""
        if not self._path.exists():
            return {"scores": []}
        try:
            record = read_record(self._path)
            if record["sha256"] != files.seal(record) or not isinstance(record["scores"], list):
                raise ValueError("its SHA-256 does not match")
            codes_checksum = record["codes"]
        except (RunError, KeyError, TypeError, ValueError):
            raise self._unreadable() from None
        if codes_checksum != self.codes_checksum:
            raise RunError(
                f"{self._path} holds the scores of other codes than those of this run. Remove it: they can be computed "
                "again."
            )
        return record

    def _unreadable(self) -> RunError:
        return RunError(
            f"{self._path} does not hold scores as unbraid writes them. Remove it: they can be computed again."
        )

    @property
    def _path(self) -> Path:
        return self.folder / "scores.json"


def question_key(name: str, changes: Mapping[str, Any]) -> str:
    """Returns one text for a metric by its name and for the fields that a scoring changes."""
    return f"{name} {json.dumps(dict(changes), sort_keys=True)}" if changes else name


@contextlib.contextmanager
def unless_read_only(what: str, name: str) -> Iterator[None]:
    """Logs a warning instead of an error if the block may not write to the folder of the run of this name."""
    try:
        yield
    except OSError as error:
        if error.errno not in _READ_ONLY:
            raise
        log.warning(
            "The %s of %s could not be kept (%s: %s). To keep them, work on a copy in a folder that you may write to.",
            what,
            name,
            error.filename,
            error.strerror,
        )


def _metric_name(content: dict[str, Any]) -> str:
    """Returns the name that is kept with a score, by default that of the class of its metric."""
    return str(content.get("name") or re.sub(r"(?<=[a-z])(?=[A-Z])", "-", content["metric"]).lower())
