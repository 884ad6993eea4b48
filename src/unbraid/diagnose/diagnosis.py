"""Diagnosis: findings about a model, and advice."""

import json
import math
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, final

from unbraid._internal.amounts import listed, short
from unbraid.diagnose.remedies import Remedy, by_urgency, without_conflicts

State = Literal["fine", "look", "unknown"]
_MARKS: dict[State, str] = {"fine": " ok ", "look": "LOOK", "unknown": " -- "}
_WIDTH = 110


@final
@dataclass(frozen=True)
class Finding:
    """The result of one check: a sentence, numbers, and remedies.

    `state` is "look" if the user should look at the model, and "unknown" if the check was not possible.
    """

    check: str
    state: State
    sentence: str
    numbers: Mapping[str, Any] = field(default_factory=dict)
    remedies: tuple[Remedy, ...] = ()

    @property
    def advice(self) -> tuple[str, ...]:
        """The texts of the remedies."""
        return tuple(remedy.text for remedy in self.remedies)


@final
@dataclass(frozen=True)
class Diagnosis:
    """The findings about one model, in reading order.

    `of` is the objective and the seed of a run, and `folder` the folder of the run.
    """

    of: str
    findings: tuple[Finding, ...]
    folder: str = ""

    @classmethod
    def settle(cls, of: str, findings: Sequence[Finding], folder: str = "") -> "Diagnosis":
        """Returns the diagnosis of these findings, without advice that contradicts or repeats more urgent advice."""
        left = without_conflicts([finding.remedies for finding in findings])
        return cls(of, tuple(replace(each, remedies=own) for each, own in zip(findings, left, strict=True)), folder)

    def __getitem__(self, check: str) -> Finding:
        """Returns the finding of a check by its name."""
        for finding in self.findings:
            if finding.check == check:
                return finding
        raise KeyError(f"There is no check {check!r}; there are {', '.join(each.check for each in self.findings)}.")

    @property
    def advice(self) -> tuple[str, ...]:
        """What to try next, the most urgent first, without repetitions."""
        return tuple(by_urgency(remedy for finding in self.findings for remedy in finding.remedies))

    @property
    def asking(self) -> tuple[str, ...]:
        """The names of the checks with the state "look"."""
        return tuple(finding.check for finding in self.findings if finding.state == "look")

    def __str__(self) -> str:
        where = f"{self.folder} ({self.of})" if self.folder else self.of
        num_asking, num_checks = len(self.asking), len(self.findings)
        lines = [f"{where}: {num_asking} of {num_checks} checks {_asks(num_asking)} you to look.", ""]
        for finding in self.findings:
            lines += _wrapped(f"[{_MARKS[finding.state]}] {finding.check}: {finding.sentence}", 7)
        lines += ["", "What to try next:"]
        for number, line in enumerate(
            self.advice or ("Nothing stands out. Compare seeds, and look at traversals.",), 1
        ):
            lines += _wrapped(f"  {number}. {line}", 5)
        return "\n".join(lines)

    def content(self) -> dict[str, Any]:
        """Returns the diagnosis as plain values; numbers that are not finite are None."""
        findings = [
            {
                "check": finding.check,
                "state": finding.state,
                "sentence": finding.sentence,
                "numbers": _finite(finding.numbers),
                "advice": list(finding.advice),
            }
            for finding in self.findings
        ]
        return {"of": self.of, "folder": self.folder or None, "findings": findings, "advice": list(self.advice)}

    def to_json(self) -> str:
        """Returns the diagnosis as JSON; numbers that are not finite are null."""
        return json.dumps(self.content(), indent=2, allow_nan=False) + "\n"


def findings_json(found: Mapping[str, Diagnosis]) -> str:
    """Returns several diagnoses by name, as JSON."""
    contents = {name: diagnosis.content() for name, diagnosis in found.items()}
    return json.dumps(contents, indent=2, allow_nan=False) + "\n"


def _asks(number: int) -> str:
    return "asks" if number == 1 else "ask"


def _wrapped(text: str, indent: int) -> list[str]:
    """Returns the lines of a text. Numbers and their percent signs are kept on one line."""
    joined = re.sub(r"(?<=\d) %", "\N{NO-BREAK SPACE}%", text)
    lines = textwrap.wrap(joined, _WIDTH, subsequent_indent=" " * indent, break_on_hyphens=False)
    return [line.replace("\N{NO-BREAK SPACE}%", " %") for line in lines]


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _finite(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def latents_named(numbers: Iterable[int]) -> str:
    """Returns "latent 3", or "latents 1, 4 and 5"."""
    numbers = list(numbers)
    return f"latent{'s' if len(numbers) > 1 else ''} {listed(numbers)}"


def nats(number: float) -> str:
    """Returns "1 nat", or "0.5 nats"."""
    return f"{short(number)} nat{'' if short(number) == '1' else 's'}"
