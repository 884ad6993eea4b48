"""Scorecard with all scores of one set of codes and their provenance."""

import html
import json
import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, final

from unbraid._internal import files
from unbraid._internal.table import Table, first_lines
from unbraid.errors import CodesError, SpecError
from unbraid.metrics.metric import Score
from unbraid.metrics.score_json import score_from_json, score_to_json
from unbraid.metrics.score_rows import (
    Row,
    html_table,
    in_markdown,
    markdown_table,
    plain_table,
    rows_of,
)
from unbraid.metrics.scoring import Scoring
from unbraid.metrics.unused_latents import badge

_FORMAT = 1
# Fields that are stored in JSON under their names.
_PLAIN = (
    "num_images",
    "num_latents",
    "num_unused",
    "factor_names",
    "device",
    "seed",
    "notes",
    "refused",
    "left_out",
    "failed",
)
SUFFIXES = (".json", ".csv", ".md")


class NoScoreError(CodesError, KeyError):
    """Raised if a scorecard does not have a score. The message contains the reason."""

    __str__ = Exception.__str__  # KeyError.__str__ quotes the message


@final
@dataclass(frozen=True, eq=False, repr=False)
class Scorecard(Mapping[str, Score]):
    """Mapping from the names of metrics to scores.

    `card["mig"]` is a `Score`, `print(card)` prints a table, and `card.save("scores.json")` saves the card. `refused`
    contains the reasons for metrics that do not support the codes, `left_out` the reasons for metrics that were not
    computed, and `failed` the tracebacks of unexpected errors. `notes` apply to all scores. `num_unused` is the number
    of latents without information about the image, or None if unknown. With fewer than two used latents, the card has
    a `badge`. `seed` is the seed of all metrics, or None if each metric used its own seed.

    Examples:
        >>> import numpy as np
        >>> from unbraid import Codes, evaluate
        >>> mean = np.linspace(-1, 1, 40)[:, None]
        >>> card = evaluate(Codes.from_arrays(mean, 0.1 + 0 * mean), metrics="informativeness", progress=False)
        >>> card.num_images, list(card.keys())
        (40, ['informativeness'])
        >>> _ = card.save("scores.json")
        >>> Scorecard.load("scores.json").names
        ('informativeness',)
    """

    names: tuple[str, ...]
    scores: tuple[Score, ...]
    higher_is_better: Mapping[str, bool | None]
    num_images: int
    num_latents: int
    factor_names: tuple[str, ...] = ()
    refused: Mapping[str, str] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)
    failed: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    device: str = "cpu"
    seed: int | None = None
    version: str = ""
    num_unused: int | None = None
    scoring: Scoring = field(default_factory=Scoring)

    def __post_init__(self) -> None:
        if len(self.names) != len(self.scores) or len(set(self.names)) < len(self.names):
            raise SpecError(
                f"The scorecard has {len(self.scores)} scores and the names {', '.join(self.names)}; expected one "
                "unique name per score. Rename the scores."
            )

    def __getitem__(self, name: str) -> Score:
        """Returns the score with the given name or metric class, e.g. `card["mig"]` or `card["MIG"]`.

        If the default estimator of a metric was replaced, the name of the metric refers to the replacement, e.g. "mig"
        to "mig:means-histogram".

        Raises:
            NoScoreError: There is no such score. The message contains the reason.
        """
        same = self._same(name)
        if len(same) > 1:
            raise NoScoreError(f"The scorecard has several scores of {name}. Use one of the names {', '.join(same)}.")
        name = same[0] if same else name
        if name in self.names:
            return self.scores[self.names.index(name)]
        if name in self.refused:
            raise NoScoreError(f"{name} is undefined for these codes: {self.refused[name]}")
        if name in self.left_out:
            raise NoScoreError(f"{name} was left out: {self.left_out[name]}")
        if name in self.failed:
            raise NoScoreError(f"{name} has no score, because it failed:\n{self.failed[name]}")
        raise NoScoreError(f"The scorecard has no score {name!r}. Use one of the names {', '.join(self.names)}.")

    def _same(self, name: str) -> list[str]:
        """Returns the name as spelled in the card, or the names of all scores of a metric class."""
        known = [*self.names, *self.refused, *self.left_out, *self.failed]
        spelled = [spelling for spelling in (name, str(name).lower().replace("_", "-")) if spelling in known][:1]
        if spelled and spelled[0] in self.left_out:
            replaced = [key for key in self.names if key.partition(":")[0] == spelled[0]]
            return replaced if len(replaced) == 1 else spelled
        return spelled or [key for key, score in zip(self.names, self.scores, strict=True) if score.metric == name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.scores)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and any(same in self.names for same in self._same(name))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scorecard) and self._content() == other._content()

    __hash__ = None  # type: ignore[assignment]

    @property
    def rows(self) -> list[Row]:
        """All values of the card: scores, parts, and values per factor and latent."""
        return [
            replace(row, badge=self.badge)
            for name, score in zip(self.names, self.scores, strict=True)
            for row in rows_of(name, score, higher_is_better=self.higher_is_better.get(name))
        ]

    @property
    def headline(self) -> str:
        """One-line description of the scored codes."""
        number = len(self.factor_names)
        names = f" ({', '.join(self.factor_names)})" if number else ""
        factors = f"{number or 'no'} factor{'s' * (number != 1)}{names}"
        how = "".join(f", {phrase}" for phrase in self.scoring.phrases)
        return (
            f"{self.num_images:,} images{how}, {self.num_latents} latent{'s' * (self.num_latents != 1)}, {factors}. "
            f"unbraid {self.version}, on {self.device}."
        )

    @property
    def scored_factors(self) -> tuple[str, ...]:
        """Factors with a defined value in at least one score, which excludes constant factors."""
        scored = {name for score in self.scores for name, value in score.per_factor.items() if not math.isnan(value)}
        return tuple(name for name in self.factor_names if name in scored)

    @property
    def badge(self) -> str:
        """Warning that fewer than two latents are used, or an empty string."""
        return badge(self.num_unused or 0, self.num_latents)

    @property
    def num_used(self) -> int | None:
        """Number of latents with information about the image; None if unknown."""
        return None if self.num_unused is None else self.num_latents - self.num_unused

    @property
    def remarks(self) -> dict[str, list[str]]:
        """Sentences by heading ("failed", "not defined", "left out", "notes"), with equal reasons of metrics merged."""
        by_note: dict[str, list[str]] = defaultdict(list)
        for name, score in zip(self.names, self.scores, strict=True):
            for note in score.notes:
                if note not in self.notes:
                    by_note[note].append(name)
        found = {
            "failed": [f"{name}: {text.strip().rpartition(chr(10))[2]}" for name, text in self.failed.items()],
            "not defined": by_reason(self.refused),
            "left out": by_reason(self.left_out),
            "notes": [*self.notes, *(f"{', '.join(names)}: {note}" for note, names in by_note.items())],
        }
        return {title: sentences for title, sentences in found.items() if sentences}

    def __str__(self) -> str:
        remarks = [
            f"{title}:\n" + "\n".join(f"  {sentence}" for sentence in sentences)
            for title, sentences in self.remarks.items()
        ]
        return "\n\n".join([self.headline, *self._badges("{}."), plain_table(self.rows), *remarks])

    def __repr__(self) -> str:
        return first_lines(str(self))

    def _repr_html_(self) -> str:
        remarks = [
            f"<p>{title}</p><ul>{''.join(f'<li>{html.escape(sentence)}</li>' for sentence in sentences)}</ul>"
            for title, sentences in self.remarks.items()
        ]
        badges = "".join(self._badges("<p><strong>{}.</strong></p>"))
        return f"<p>{html.escape(self.headline)}</p>{badges}{html_table(self.rows)}{''.join(remarks)}"

    def _badges(self, form: str) -> list[str]:
        return [form.format(self.badge)] if self.badge else []

    def to_json(self) -> str:
        """Converts the complete card, with tables, to JSON. NaN is null, and infinity is "inf"."""
        return json.dumps(self._content(), indent=2, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text: str, *, packages: Sequence[str] = ()) -> "Scorecard":
        """Creates a card from the output of `to_json`. Its classes must be in unbraid or in `packages`."""
        try:
            content = json.loads(text)
            if content["format"] != _FORMAT:
                raise CodesError(
                    f"The scorecard has format {content['format']!r}; expected {_FORMAT}. Score the codes again, or "
                    "use another version of unbraid."
                )
            scores = content["scores"]
            fields = {name: content[name] for name in _PLAIN}
            return cls(
                names=tuple(score["name"] for score in scores),
                scores=tuple(map(score_from_json, scores)),
                higher_is_better={score["name"]: score["higher_is_better"] for score in scores},
                version=content["unbraid"],
                scoring=Scoring.from_changes(content["scoring"], packages=packages),
                **fields | {name: tuple(fields[name]) for name in ("factor_names", "notes")},
            )
        except (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError):
            raise CodesError(
                "The text is not a scorecard; expected the output of to_json. Score the codes again."
            ) from None

    def to_csv(self) -> str:
        """Converts the card to CSV with one row per value, as in `rows`. Undefined values are empty."""
        records = [asdict(row) for row in self.rows]
        for record in records:
            record |= {name: None for name, value in record.items() if isinstance(value, float) and math.isnan(value)}
        return Table.from_records(records).to_csv()

    def to_markdown(self) -> str:
        """Converts the card to a Markdown table of values and parts, with all notes."""
        remarks = [
            f"**{title}**\n\n" + "\n".join(f"- {in_markdown(sentence)}" for sentence in sentences)
            for title, sentences in self.remarks.items()
        ]
        headline = in_markdown(self.headline)
        return "\n\n".join([headline, *self._badges("**{}.**"), markdown_table(self.rows), *remarks]) + "\n"

    def to_pandas(self) -> Any:
        """Converts `rows` to a pandas DataFrame. Requires pandas."""
        return Table.from_records(map(asdict, self.rows)).to_pandas()

    def save(self, path: Path | str, *, overwrite: bool = False) -> Path:
        """Writes the card as .json, .csv or .md, by the suffix. Raises if the file exists, unless `overwrite`."""
        path = check_target(path, overwrite=overwrite)
        files.write_text(path, {".json": self.to_json, ".csv": self.to_csv, ".md": self.to_markdown}[path.suffix]())
        return path

    @classmethod
    def load(cls, path: Path | str, *, packages: Sequence[str] = ()) -> "Scorecard":
        """Reads a card from a .json file written by `save`."""
        path = Path(path)
        if not path.is_file():
            raise CodesError(f"{path} does not exist. Pass the path of a scorecard saved as .json.")
        try:
            return cls.from_json(files.read_bytes(path).decode(), packages=packages)
        except (CodesError, ValueError) as error:
            raise CodesError(f"{path}: {error}") from None

    def _content(self) -> dict[str, Any]:
        scores = [
            {"name": name, "higher_is_better": self.higher_is_better.get(name)} | score_to_json(score)
            for name, score in zip(self.names, self.scores, strict=True)
        ]
        fields = {name: getattr(self, name) for name in _PLAIN}
        return {
            "format": _FORMAT,
            "unbraid": self.version,
            "scoring": self.scoring.changes(),
            "badge": self.badge,
            **{name: list(value) if isinstance(value, tuple) else value for name, value in fields.items()},
            "scores": scores,
        }


def by_reason(reasons: Mapping[str, str]) -> list[str]:
    """Returns a sentence for each reason, with the names of all metrics that have the reason."""
    names: dict[str, list[str]] = defaultdict(list)
    for name, reason in reasons.items():
        # Without the name of the metric, "MIG does not support ..." is equal for several metrics.
        names[re.sub(r"^\w+ (?=does not support )", "", reason)].append(name)
    return [f"{', '.join(sharing)}: {reason}" for reason, sharing in names.items()]


def check_target(path: Path | str, *, overwrite: bool = False) -> Path:
    """Returns the path, or raises SpecError if no scorecard can be saved there. Call this before long computations."""
    path = Path(path)
    if path.suffix not in SUFFIXES:
        raise SpecError(
            f"The path is {str(path)!r}; expected the suffix {', '.join(SUFFIXES)}. Add one of these suffixes."
        )
    files.check_writable(path)
    if not path.parent.is_dir():
        raise SpecError(f"{files.no_folder(path.parent)} Create it before saving {path.name}.")
    if path.exists() and not overwrite:
        raise SpecError(f"{path} exists; expected a new file. Choose another name, or pass overwrite=True.")
    return path
