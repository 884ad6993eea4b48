"""The columns of `unbraid score` for one metric: parts that papers report, and what those of factors are."""

import numpy as np
import pytest

from tests.cli.scored_arrays import rows

COLUMNS = {
    ("--like", "infomec"): "InfoM 95 % interval compactness explicitness hue (compactness) size (compactness)",
    ("--metrics", "minimality"): "minimality 95 % interval sufficiency hue (sufficiency) size (sufficiency)",
    ("--metrics", "med"): "MED 95 % interval completeness hue (completeness) size (completeness)",
    ("--metrics", "modularity"): "Modularity 95 % interval",
}


@pytest.mark.parametrize("asked", COLUMNS)
def test_parts_that_papers_report_have_columns_and_those_of_factors_say_what_they_are(
    unbraid, arrays, tmp_path, monkeypatch, asked
):
    monkeypatch.chdir(tmp_path)  # a long path would take the place of columns
    np.savez("codes.npz", **arrays, factor_names=["hue", "size"])
    outcome = unbraid("score", "codes.npz", *asked)
    assert outcome.code == 0, outcome.err
    head, values = (row for row in rows(outcome) if row[:1] in (["codes"], ["codes.npz"]) or "codes.npz" in row[0])
    assert head[1:] == COLUMNS[asked].split()
    assert float(values[1]) > 0.5
