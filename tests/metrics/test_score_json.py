"""Scores survive JSON, undefined values and all."""

import json
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from unbraid.metrics.metric import Score, Value
from unbraid.metrics.score_json import score_from_json, score_key, score_to_json

NUMBERS = st.floats()  # NaN and infinity among them


def through_json(score):
    return score_from_json(json.loads(json.dumps(score_to_json(score), allow_nan=False)))


def same(one, two):
    """Equal, where NaN equals NaN."""
    torch.testing.assert_close(torch.tensor(one).double(), torch.tensor(two).double(), rtol=0, atol=0, equal_nan=True)


def test_a_score_is_written_as_its_fields():
    score = Score(
        "MIG",
        0.5,
        per_factor={"shape": 0.25, "scale": math.nan},
        per_latent=(1.0, math.inf),
        tables={"mutual_information": torch.tensor([[0.5, math.nan], [-math.inf, 1.0]])},
        interval=(0.4, 0.6),
        parts={"at_1": Value(0.25, (0.0, math.inf)), "at_2": Value(math.nan)},
        settled=False,
        notes=("200 bins would move it.",),
        settings={"estimator": "exact", "num_bins": None},
        scoring={"part": "test"},
    )
    assert score_to_json(score) == {
        "metric": "MIG",
        "value": 0.5,
        "interval": [0.4, 0.6],
        "parts": {"at_1": {"value": 0.25, "interval": [0.0, "inf"]}, "at_2": {"value": None, "interval": None}},
        "per_factor": {"shape": 0.25, "scale": None},
        "per_latent": [1.0, "inf"],
        "tables": {"mutual_information": [[0.5, None], ["-inf", 1.0]]},
        "settled": False,
        "notes": ["200 bins would move it."],
        "settings": {"estimator": "exact", "num_bins": None},
        "scoring": {"part": "test"},
    }
    found = through_json(score)
    assert found.parts["at_1"] == Value(0.25, (0.0, math.inf))
    assert math.isnan(found.parts["at_2"].value)
    assert (found.settled, found.notes) == (False, ("200 bins would move it.",))


@given(
    value=NUMBERS,
    ends=st.none() | st.tuples(NUMBERS, NUMBERS),
    per_latent=st.lists(NUMBERS, max_size=3),
    table=st.lists(NUMBERS, min_size=1, max_size=4),
)
def test_every_number_survives(value, ends, per_latent, table):
    score = Score(
        "MIG",
        value,
        per_factor=dict(zip("abc", per_latent, strict=False)),
        per_latent=tuple(per_latent),
        tables={"t": torch.tensor(table, dtype=torch.float64)[:, None]},
        interval=ends,
    )
    found = through_json(score)
    same([found.value, *found.per_latent, *found.per_factor.values()], [value, *per_latent, *score.per_factor.values()])
    same([] if found.interval is None else list(found.interval), [] if ends is None else list(ends))
    same(found.tables["t"].tolist(), score.tables["t"].tolist())
    assert (found.metric, found.settings, list(found.per_factor)) == ("MIG", {}, list(score.per_factor))


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 3, 4)])
def test_tables_of_any_rank_survive_as_float64(shape):
    table = torch.arange(math.prod(shape)).reshape(shape)
    found = through_json(Score("MIG", 0.0, tables={"t": table})).tables["t"]
    assert found.dtype == torch.float64
    assert torch.equal(found, table.double())


def test_a_float32_table_survives_exactly():
    table = torch.tensor([0.1, 1e-40])
    assert torch.equal(through_json(Score("MIG", 0.0, tables={"t": table})).tables["t"].float(), table)


def test_the_same_question_has_the_same_key():
    one = score_to_json(Score("MIG", 0.1, settings={"estimator": "exact", "quadrature": "direct"}))
    two = score_to_json(Score("MIG", 0.9, settings={"quadrature": "direct", "estimator": "exact"}))
    assert score_key(one) == score_key(two)


@pytest.mark.parametrize(
    "other",
    [
        Score("SAP", 0.1, settings={"num_bins": 20}),
        Score("MIG", 0.1, settings={"num_bins": 50}),
        Score("MIG", 0.1),
        Score("MIG", 0.1, settings={"num_bins": 20}, scoring={"part": "test"}),
    ],
)
def test_another_question_has_another_key(other):
    assert score_key(score_to_json(other)) != score_key(score_to_json(Score("MIG", 0.1, settings={"num_bins": 20})))


def test_the_key_survives_json():
    content = score_to_json(Score("MIG", 0.1, settings={"range": (-4.0, 4.0), "num_bins": None}))
    assert score_key(json.loads(json.dumps(content))) == score_key(content)
