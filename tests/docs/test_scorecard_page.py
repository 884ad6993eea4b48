"""docs/scorecard.md says what each metric takes; the code says the same."""

import re
from typing import get_args

from tests.discovery import ROOT, concrete_subclasses
from unbraid._internal.names import kebab_case
from unbraid.metrics.metric import Feature, Metric
from unbraid.metrics.selection import LEFT_OUT, VARIANTS

PAGE = (ROOT / "docs" / "scorecard.md").read_text()


def test_the_table_of_features_is_that_of_the_code():
    metrics = sorted(concrete_subclasses(Metric), key=lambda cls: (not cls.needs_factors, kebab_case(cls)))
    header = f"| metric | {' | '.join(get_args(Feature))} |"
    rows = [
        f"| {kebab_case(cls)} | "
        f"{' | '.join('yes' if feature in cls().accepts else '–' for feature in get_args(Feature))} |"
        for cls in metrics
    ]
    table = "\n".join([header, "|---|" + ":---:|" * len(get_args(Feature)), *rows])
    assert table in PAGE, f"docs/scorecard.md should have this table:\n{table}"


def test_every_feature_is_explained():
    for feature in get_args(Feature):
        assert re.search(rf"^\| {feature} \| \S", PAGE, flags=re.MULTILINE), feature


def test_variants_and_what_is_left_out_are_named():
    for name in (*VARIANTS, *LEFT_OUT):
        assert f"`{name}`" in PAGE
