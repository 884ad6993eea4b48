"""The audit of every metric, kept for the page "Which metric should I report?".

    python -m benchmarks.metric_audit                         about twenty minutes on two cores
    python -m benchmarks.metric_audit --runs runs/audit       with runs that have snapshots
    python -m benchmarks.metric_audit --read audit.json       of what benchmarks.audit --save audit.json measured

It writes results/metric_audit.json, from which everything else is computed, and results/metric_audit.md;
`python -m docs.hooks.included` copies its tables to docs/which-metric.md.
"""

import argparse
from pathlib import Path

from benchmarks.audit import Audit, audit, rows_of
from benchmarks.audit.markdown import answer_table, number_table, question_table, refusals, verdict_table
from benchmarks.audit.sizes import size_words
from unbraid._internal import files
from unbraid.training.runs.runs_in import runs_in

OUT = Path(__file__).parent / "results" / "metric_audit"


def text_of(found: Audit) -> str:
    """Returns the tables as the docs include them."""
    rows = rows_of(found)
    parts = {
        "answer": answer_table(rows),
        "questions": question_table(rows),
        "verdicts": verdict_table(rows),
        "verdicts-without-factors": verdict_table(rows, needs_factors=False),
        "numbers": number_table(rows),
        "numbers-without-factors": number_table(rows, needs_factors=False),
        "refused": refusals(rows),
    }
    sections = "\n".join(f"<!-- {name} -->\n{text}<!-- /{name} -->\n" for name, text in parts.items())
    return (
        "# An audit of every metric\n\n"
        f"`python -m benchmarks.metric_audit`, {found.date}, unbraid {found.version}: {size_words(found.size)}.\n\n"
        f"{sections}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=Path, help="a folder of runs that have snapshots")
    parser.add_argument("--read", type=Path, help="an audit that was kept, in place of a new one")
    parser.add_argument("--out", type=Path, default=OUT, help="where to write, without a suffix")
    given = parser.parse_args()
    if given.read is not None:
        found = Audit.from_json(given.read.read_text(encoding="utf-8"))
    else:
        found = audit(runs=runs_in(given.runs) if given.runs else ())
    files.write_text(given.out.with_suffix(".json"), found.to_json())
    files.write_text(given.out.with_suffix(".md"), text_of(found))


if __name__ == "__main__":
    main()
