"""The scores that a run keeps in its folder, beside the codes that they are of."""

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
from unbraid.metrics.scorecard import Scorecard
from unbraid.metrics.scoring import Scoring
from unbraid.metrics.selection import LEFT_OUT
from unbraid.training.runs.records import FORMAT, read_record

log = logging.getLogger(__name__)

_READ_ONLY = (errno.EACCES, errno.EPERM, errno.EROFS)


@final
@dataclass(frozen=True)
class KeptScores:
    """Reads and writes scores.json of a finished run, whose codes have this SHA-256. Scores of one question replace
    each other: those of the same metric, settings and scoring.
    """

    folder: Path
    sum_of_codes: Any

    def read(self, changes: Mapping[str, Any] | None = None) -> list[tuple[str, Score]]:
        """Returns the scores that were kept, each with the name of its metric as the user types it, the oldest question
        first: all, or those of the scoring that changes this. There are none where there is no file.
        """
        try:
            kept = [(_name_in(content), score_from_json(content)) for content in self._record()["scores"]]
        except (KeyError, TypeError, ValueError, AttributeError, IndexError):
            raise self._senseless() from None
        return [(name, score) for name, score in kept if changes is None or score.scoring == changes]

    def add(self, card: Scorecard) -> None:
        """Keeps the scores of a card beside those of other questions, and of those that it refuses, why."""
        refused = {**card.refused, **{name: why for name, why in card.left_out.items() if name not in LEFT_OUT}}
        self.add_answers(dict(zip(card.names, card.scores, strict=True)), refused, card.scoring, card.num_used)

    def add_answers(
        self,
        scores: Mapping[str, Score],
        refused: Mapping[str, str],
        scoring: Scoring,
        num_used: int | None = None,
    ) -> None:
        """Keeps scores by the name of their metric, refusals likewise, and how many latents are used, if known."""
        new = [{"name": name, **score_to_json(score)} for name, score in scores.items()]
        keys = {question_key(name, scoring.changes()): why for name, why in refused.items()}
        # A process that scores the same run meanwhile adds its scores too.
        with (
            unless_read_only("scores", self.folder.name),
            files.locked(self.folder / ".scores.lock", wait=True, purpose=f"keeping scores of {self.folder.name}"),
        ):
            old = self._record()
            contents = {score_key(content): content for content in [*old["scores"], *new]}
            answers = {
                "num_used": old.get("num_used") if num_used is None else num_used,
                "refused": {**old.get("refused", {}), **keys},
                "scores": list(contents.values()),
            }
            files.write_sealed(self._path, {"format": FORMAT, "codes": self.sum_of_codes, **answers})

    def _record(self) -> dict[str, Any]:
        """Returns what is in the file; no scores where there is none."""
        path = self._path
        if not path.exists():
            return {"scores": []}
        try:
            record = read_record(path)
            if record["sha256"] != files.seal(record) or not isinstance(record["scores"], list):
                raise ValueError("its SHA-256 does not match")
            codes = record["codes"]
        except (RunError, KeyError, TypeError, ValueError):
            raise self._senseless() from None
        if codes != self.sum_of_codes:
            raise RunError(
                f"{path} holds the scores of other codes than those of this run. Remove it: they can be computed again."
            )
        return record

    def _senseless(self) -> RunError:
        return RunError(
            f"{self._path} does not hold scores as unbraid writes them. Remove it: they can be computed again."
        )

    @property
    def _path(self) -> Path:
        return self.folder / "scores.json"


def _name_in(content: dict[str, Any]) -> str:
    """Returns the name that is kept with a score; where none is, that of its metric."""
    return str(content.get("name") or re.sub(r"(?<=[a-z])(?=[A-Z])", "-", content["metric"]).lower())


@contextlib.contextmanager
def unless_read_only(what: str, name: str) -> Iterator[None]:
    """Keeps such things of the run of this name within the block. Where its folder may not be written, that is
    logged.
    """
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


def question_key(name: str, changes: Mapping[str, Any]) -> str:
    """Returns one text for a metric by its name, and for what a scoring changes."""
    return f"{name} {json.dumps(dict(changes), sort_keys=True)}" if changes else name
