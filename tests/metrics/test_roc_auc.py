"""The area under the ROC curve against its definition, and its standard error against resampling."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from unbraid.metrics.explicitness import roc_auc
from unbraid.metrics.intervals import resampled_weights, spread


@given(scores=st.lists(st.integers(0, 6), min_size=4, max_size=20), data=st.data())
def test_the_area_counts_pairs_and_half_of_ties(scores, data):
    positive = torch.tensor(
        [True, False, *data.draw(st.lists(st.booleans(), min_size=len(scores) - 2, max_size=len(scores) - 2))]
    )
    s = torch.tensor(scores).double()
    difference = s[positive][:, None] - s[~positive]
    assert roc_auc(s, positive)[0] == pytest.approx(
        float(((difference > 0).double() + (difference == 0).double() / 2).mean())
    )
    assert roc_auc(s, positive)[0] == pytest.approx(roc_auc_score(positive.numpy(), s.numpy()))


def test_a_single_class_has_no_area():
    assert math.isnan(roc_auc(torch.arange(3).double(), torch.ones(3, dtype=torch.bool))[0])


def test_influences_give_the_spread_of_resampled_areas():
    generator = torch.Generator().manual_seed(0)
    positive = torch.rand(300, generator=generator) < 0.3
    scores = torch.randn(300, generator=generator).double() + positive
    _, influence = roc_auc(scores, positive)
    assert float(influence.mean()) == pytest.approx(0, abs=1e-12)
    counts = (resampled_weights(300, num_resamples=500) * 300).round().long()
    rows = torch.arange(300)
    areas = [roc_auc(scores[part], positive[part])[0] for part in (rows.repeat_interleave(count) for count in counts)]
    assert float(influence.square().mean().sqrt()) / math.sqrt(300) == pytest.approx(
        float(spread(torch.tensor(areas))), rel=0.1
    )
