"""docs/scorecard.md explains what each metric takes, and the site has a table of it."""

import re
from typing import get_args

import pytest

pytest.importorskip("mkdocs", reason="the site is built with the `docs` extra")

from docs.hooks import live
from tests.discovery import ROOT
from unbraid.metrics import MIG
from unbraid.metrics.metric import Feature
from unbraid.metrics.selection import LEFT_OUT, VARIANTS, registry

PAGE = (ROOT / "docs" / "scorecard.md").read_text(encoding="utf-8")


def test_the_table_of_features_has_a_row_for_each_metric():
    assert live._FEATURES in PAGE
    header, _, *rows = (line.strip("| ").split(" | ") for line in live.feature_table().splitlines())
    assert header == ["metric", *get_args(Feature)]
    assert {row[0] for row in rows} == set(registry())
    [mig] = [row for row in rows if row[0] == "mig"]
    assert {feature for feature, mark in zip(header[1:], mig[1:], strict=True) if mark == "yes"} == set(MIG().accepts)


def test_every_feature_is_explained():
    for feature in get_args(Feature):
        assert re.search(rf"^\| {feature} \| \S", PAGE, flags=re.MULTILINE), feature


def test_variants_and_what_is_left_out_are_named():
    for name in (*VARIANTS, *LEFT_OUT):
        assert f"`{name}`" in PAGE
