"""Diagnosis: what was looked at in a model, what was found, and what to try."""

import json
import math
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, final

State = Literal["fine", "look", "unknown"]
_MARKS: dict[State, str] = {"fine": " ok ", "look": "LOOK", "unknown": " -- "}
_WIDTH = 110


@final
@dataclass(frozen=True)
class Finding:
    """Holds what one check found: in a sentence, in numbers, and what to try where it asks for something.

    `state` is "look" where a person should look, and "unknown" where the check could not be made.
    """

    check: str
    state: State
    sentence: str
    numbers: Mapping[str, Any] = field(default_factory=dict)
    advice: tuple[str, ...] = ()


@final
@dataclass(frozen=True)
class Diagnosis:
    """Holds the findings about one model, in the order in which they are best read."""

    of: str
    findings: tuple[Finding, ...]

    def __getitem__(self, check: str) -> Finding:
        """Returns the finding of a check by its name."""
        for finding in self.findings:
            if finding.check == check:
                return finding
        raise KeyError(f"There is no check {check!r}; there are {', '.join(each.check for each in self.findings)}.")

    @property
    def advice(self) -> tuple[str, ...]:
        """Returns what to try next, each once, the advice of the first finding first."""
        return tuple(dict.fromkeys(line for finding in self.findings for line in finding.advice))

    def __str__(self) -> str:
        looked = sum(finding.state == "look" for finding in self.findings)
        lines = [f"{self.of}: {looked} of {len(self.findings)} checks ask you to look.", ""]
        for finding in self.findings:
            start = f"[{_MARKS[finding.state]}] {finding.check}: "
            lines += textwrap.wrap(start + finding.sentence, _WIDTH, subsequent_indent=" " * 7)
        lines += ["", "What to try next:"]
        for number, line in enumerate(
            self.advice or ("Nothing stands out. Compare seeds, and look at traversals.",), 1
        ):
            lines += textwrap.wrap(f"  {number}. {line}", _WIDTH, subsequent_indent=" " * 5)
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
        return {"of": self.of, "findings": findings, "advice": list(self.advice)}

    def to_json(self) -> str:
        """Returns the diagnosis as JSON; numbers that are not finite are null."""
        return json.dumps(self.content(), indent=2, allow_nan=False) + "\n"


def findings_json(found: Mapping[str, Diagnosis]) -> str:
    """Returns several diagnoses by name, as JSON."""
    contents = {name: diagnosis.content() for name, diagnosis in found.items()}
    return json.dumps(contents, indent=2, allow_nan=False) + "\n"


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _finite(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
