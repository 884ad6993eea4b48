"""Numbers in the README that the code knows better."""

import re
from pathlib import Path

from unbraid.metrics.selection import registry

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


def test_it_counts_the_metrics_right():
    assert re.findall(r"(\d+) metrics|\| metrics \| (\d+),", README) == [
        (str(len(registry())), ""),
        ("", str(len(registry()))),
    ]
