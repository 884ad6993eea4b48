"""Diagnosis: the results of checks of a model, and consistent advice."""

import json
import math
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, final, get_args

from unbraid._internal.amounts import listed, short
from unbraid._internal.short_repr import short_repr
from unbraid.objectives.weight_advice import PENALIZE_TC, WeightAdvice

State = Literal["fine", "look", "unknown"]
_MARKS: dict[State, str] = {"fine": " ok ", "look": "LOOK", "unknown": " -- "}
_WIDTH = 110

Aim = Literal[
    "train again",
    "calibrate",
    "lower price",
    "train longer",
    "use latents",
    "more latents",
    "keep factors",
    "fix decoder",
    "independence",
    "less rate",
    "more rate",
    "look",
]
"""Aims of suggested fixes, sorted from most to least urgent.

Three aims reduce the weight of the rate: "lower price" if the weight explains a collapsed code, "use latents" if
latents are unused, and "less rate" if factors are not encoded.
"""
_ORDER: tuple[Aim, ...] = get_args(Aim)
_SEVERAL: tuple[Aim, ...] = ("keep factors", "fix decoder", "look")

# A fix with one of these aims replaces fixes with the listed aims, which would change the same weights, or may not be
# necessary after longer training.
_REPLACED: dict[Aim, tuple[Aim, ...]] = {
    "train again": ("train longer", "less rate", "more rate"),
    "train longer": ("less rate", "more rate"),
    "calibrate": ("lower price", "use latents", "less rate", "more rate"),
    "lower price": ("use latents", "less rate", "independence", "more rate"),
    "use latents": ("less rate", "independence", "more rate"),
    "independence": ("less rate", "more rate"),
    "less rate": ("more rate",),
}

OF_CODES = WeightAdvice("a smaller weight of the rate", "a larger weight of the rate", PENALIZE_TC)
"""Hyperparameter advice for codes of an unknown objective."""


@final
@dataclass(frozen=True)
class Remedy:
    """A suggested fix: a text and its aim."""

    aim: Aim
    text: str


@final
@dataclass(frozen=True)
class Finding:
    """The result of one check: a sentence, numbers, and suggested fixes.

    `state` is "fine", "look" if the check found a problem, or "unknown" if the check was not possible.
    """

    check: str
    state: State
    sentence: str
    numbers: Mapping[str, Any] = field(default_factory=dict)
    remedies: tuple[Remedy, ...] = ()

    @property
    def advice(self) -> tuple[str, ...]:
        """The texts of the suggested fixes."""
        return tuple(remedy.text for remedy in self.remedies)


@final
@dataclass(frozen=True)
class Diagnosis(Mapping[str, Finding]):
    """The findings about one model, as a mapping by the name of the check.

    `of` is a label of the model, such as the objective and the seed. `folder` is the folder of the run, or empty.
    """

    of: str
    findings: tuple[Finding, ...]
    folder: str = ""

    __repr__ = short_repr

    @classmethod
    def from_findings(cls, of: str, findings: Sequence[Finding], folder: str = "") -> "Diagnosis":
        """Returns a diagnosis with these findings. Removes fixes that contradict or repeat more urgent fixes."""
        kept = kept_aims(remedy.aim for finding in findings for remedy in finding.remedies)
        seen, left = set[str](), list[Finding]()
        for finding in findings:
            own = []
            for remedy in finding.remedies:
                key = remedy.text if remedy.aim in _SEVERAL else remedy.aim
                if remedy.aim in kept and key not in seen:
                    seen.add(key)
                    own.append(remedy)
            left.append(replace(finding, remedies=tuple(own)))
        return cls(of, tuple(left), folder)

    def __getitem__(self, check: str) -> Finding:
        """Returns the finding of the check with this name."""
        for finding in self.findings:
            if finding.check == check:
                return finding
        raise KeyError(f"Unknown check {check!r}. Choose one of {', '.join(self)}.")

    def __iter__(self) -> Iterator[str]:
        return (finding.check for finding in self.findings)

    def __len__(self) -> int:
        return len(self.findings)

    @property
    def advice(self) -> tuple[str, ...]:
        """The suggested next steps, sorted from most to least urgent."""
        remedies = [remedy for finding in self.findings for remedy in finding.remedies]
        return tuple(remedy.text for remedy in sorted(remedies, key=lambda each: _ORDER.index(each.aim)))

    @property
    def asking(self) -> tuple[str, ...]:
        """The names of the checks with the state "look"."""
        return tuple(finding.check for finding in self.findings if finding.state == "look")

    def __str__(self) -> str:
        where = f"{self.folder} ({self.of})" if self.folder else self.of
        lines = [f"{where}: {len(self.asking)} of {len(self.findings)} checks found a problem.", ""]
        for finding in self.findings:
            lines += _wrapped(f"[{_MARKS[finding.state]}] {finding.check}: {finding.sentence}", 7)
        lines += ["", "What to try next:"]
        advice = self.advice or ("No problems were found. Compare seeds and traversals.",)
        for number, line in enumerate(advice, 1):
            lines += _wrapped(f"  {number}. {line}", 5)
        return "\n".join(lines)

    def content(self) -> dict[str, Any]:
        """Returns the diagnosis as a dictionary for JSON. Non-finite numbers become None."""
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
        """Returns the diagnosis as JSON. Non-finite numbers become null."""
        return json.dumps(self.content(), indent=2, allow_nan=False) + "\n"


def kept_aims(aims: Iterable[Aim]) -> set[Aim]:
    """Returns the aims that no more urgent aim replaces."""
    kept = set[Aim]()
    for aim in sorted(set(aims), key=_ORDER.index):
        if not any(aim in _REPLACED.get(other, ()) for other in kept):
            kept.add(aim)
    return kept


def depend_less(advice: WeightAdvice, why: str) -> Remedy:
    """Returns the fix for dependent latents: a weight of the objective if there is one, otherwise more seeds."""
    if not advice.independence:
        return Remedy("look", f"{why}: train several seeds, and keep the model with the most independent latents.")
    return Remedy("independence", f"{why}. To reduce the dependence of latents: {advice.independence}.")


def latents_named(numbers: Iterable[int]) -> str:
    """Returns the latents as text: "latent 3", or "latents 1, 4 and 5"."""
    numbers = list(numbers)
    return f"latent{'s' if len(numbers) > 1 else ''} {listed(numbers)}"


def nats(number: float) -> str:
    """Returns a number of nats as text: "1 nat", or "0.5 nats"."""
    return f"{short(number)} nat{'' if short(number) == '1' else 's'}"


def _wrapped(text: str, indent: int) -> list[str]:
    """Wraps a text into lines, without a line break between a number and a percent sign."""
    joined = re.sub(r"(?<=\d) %", "\N{NO-BREAK SPACE}%", text)
    lines = textwrap.wrap(joined, _WIDTH, subsequent_indent=" " * indent, break_on_hyphens=False)
    return [line.replace("\N{NO-BREAK SPACE}%", " %") for line in lines]


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _finite(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
