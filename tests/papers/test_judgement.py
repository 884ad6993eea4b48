"""The verdict of several claims."""

import pytest

from unbraid.papers.judgement import overall
from unbraid.studies import Verdict


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ([], "undecided"),
        (["reproduced", "reproduced"], "reproduced"),
        (["reproduced", "undecided"], "in part"),
        (["reproduced", "not reproduced"], "in part"),
        (["in part", "undecided"], "in part"),
        (["not reproduced", "undecided"], "not reproduced"),
        (["undecided"], "undecided"),
    ],
)
def test_overall(verdicts: list[Verdict], expected: Verdict) -> None:
    assert overall(verdicts) == expected
