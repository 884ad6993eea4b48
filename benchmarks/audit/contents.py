"""Contents: what an audit holds, by which a page of one is known again."""

import html
import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, final

from benchmarks.audit.findings import Audit
from benchmarks.audit.sizes import size_name

_NAME = "unbraid-audit"
_WRITTEN = re.compile(f'<meta name="{_NAME}" content="([^"]*)">')
_MOST_NAMED = 3


@final
@dataclass(frozen=True)
class Contents:
    """Holds what was measured, without values: by which version, with which size, which metrics, and which snapshots,
    each a run and a step. Two audits whose contents are the same were asked the same.
    """

    version: str
    size: Mapping[str, Any]
    metrics: frozenset[str]
    snapshots: frozenset[tuple[str, int]]

    @classmethod
    def of(cls, audit: Audit) -> "Contents":
        """Returns the contents of an audit."""
        snapshots = frozenset((each.codes, each.step) for each in audit.measurements if each.kind == "training")
        return cls(audit.version, audit.size, frozenset(one.name for one in audit.metrics if not one.part), snapshots)

    @classmethod
    def on_page(cls, page: str) -> "Contents | None":
        """Returns the contents of the audit that a page shows; None if it is no page of an audit."""
        if (found := _WRITTEN.search(page)) is None:
            return None
        try:
            content = json.loads(html.unescape(found[1]))
            snapshots = frozenset((run, step) for run, step in content["snapshots"])
            return cls(content["version"], content["size"], frozenset(content["metrics"]), snapshots)
        except (ValueError, KeyError, TypeError):
            return None

    @property
    def meta(self) -> tuple[str, str]:
        """Returns the name and the text under which a page holds this, for `on_page`."""
        content = {"version": self.version, "size": dict(self.size), "metrics": sorted(self.metrics)}
        return _NAME, json.dumps({**content, "snapshots": sorted(self.snapshots)})

    def joined(self, other: "Contents") -> "Contents":
        """Returns the contents of both, which are of one version and size."""
        return Contents(self.version, self.size, self.metrics | other.metrics, self.snapshots | other.snapshots)

    def lacks(self, other: "Contents") -> str:
        """Returns what the other holds and this does not, in words; an empty text if there is nothing."""
        if other.version != self.version:
            return f"numbers of unbraid {other.version}, and this is {self.version}"
        if dict(other.size) != dict(self.size):
            return f"an audit of size {size_name(other.size)}, and this one has size {size_name(self.size)}"
        if metrics := sorted(other.metrics - self.metrics):
            return f"metrics that this audit leaves out: {_some(metrics)}"
        if snapshots := sorted(other.snapshots - self.snapshots):
            return f"snapshots that this audit leaves out: {_some([f'{run} (step {step})' for run, step in snapshots])}"
        return ""


def _some(names: Collection[str]) -> str:
    first, others = list(names)[:_MOST_NAMED], len(names) - _MOST_NAMED
    return ", ".join(first) + (f" and {others} more" if others > 0 else "")
