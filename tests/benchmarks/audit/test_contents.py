"""A page of an audit is known again, and what would be lost with it is told."""

from dataclasses import replace

import pytest

from benchmarks.audit.contents import Contents
from benchmarks.audit.findings import Measurement
from benchmarks.audit.page import render
from tests.benchmarks.audit.made_audits import made

SNAPSHOT = Measurement("training", "run-seed0", 0, step=100, values={"mig": 0.5})
AUDIT = made({"turned": 0.5}, others=[SNAPSHOT])
CONTENTS = Contents.of(AUDIT)


def test_a_page_holds_what_it_shows():
    assert Contents.on_page(render(AUDIT)) == CONTENTS
    assert Contents.on_page("<html></html>") is None
    assert Contents.on_page('<meta name="unbraid-audit" content="[1]">') is None


@pytest.mark.parametrize(
    ("other", "told"),
    [
        (CONTENTS, ""),
        (replace(CONTENTS, metrics=frozenset(), snapshots=frozenset()), ""),
        (replace(CONTENTS, version="9"), "numbers of unbraid 9, and this is 0"),
        (replace(CONTENTS, size={"num_images": 9}), "an audit of size Size(num_images=9), and this one has size Size("),
        (
            replace(CONTENTS, metrics=frozenset(["a", "b", "c", "d", "mig"])),
            "metrics that this audit leaves out: a, b, c and 1 more",
        ),
        (replace(CONTENTS, snapshots=frozenset([("run-seed1", 7)])), "leaves out: run-seed1 (step 7)"),
    ],
)
def test_what_another_holds_and_this_does_not_is_told(other, told):
    assert told in CONTENTS.lacks(other)
    assert bool(told) == bool(CONTENTS.lacks(other))
