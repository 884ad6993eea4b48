"""Top attributes: known answers, invariances, and what is left out."""

import dataclasses
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.told import warned
from unbraid.codes import Codes, Labels
from unbraid.errors import CodesError, SpecError
from unbraid.metrics.top_attributes import TopAttributes


def random_codes(seed, num_factors=6):
    generator = torch.Generator().manual_seed(seed)
    mean = torch.randn(80, 4, dtype=torch.float64, generator=generator)
    values = mean @ torch.randn(4, num_factors, dtype=torch.float64, generator=generator)
    values += torch.randn(80, num_factors, dtype=torch.float64, generator=generator)
    return Codes(mean, factors=tuple(Labels(f"y{k}", (values[:, k] > 0).long()) for k in range(num_factors)))


def test_it_is_what_a_slow_search_finds():
    codes = random_codes(0)
    score = TopAttributes()(codes)
    table = torch.corrcoef(
        torch.cat([codes.mean, torch.stack([f.values.double() for f in codes.factors], dim=1)], dim=1).T
    )[:4, 4:]
    for k in range(6):
        latent = max(range(4), key=lambda i: abs(table[i, k]))
        others = sorted((j for j in range(6) if j != k), key=lambda j: -abs(table[latent, j]))[:4]
        assert int(score.tables["top_latent"][k]) == latent
        assert score.tables["top_attributes"][k].tolist() == others
        torch.testing.assert_close(score.tables["top_correlations"][k], table[latent, others])
        assert score.per_factor[f"y{k}"] == pytest.approx(abs(float(table[latent, k])))
    assert score.value == pytest.approx(float(table.abs().amax(dim=0).mean()))


def test_a_latent_for_each_attribute_scores_one_and_has_no_runner_up():
    a, b = (part.flatten() for part in torch.meshgrid(torch.arange(2), torch.arange(2), indexing="ij"))
    codes = Codes(
        torch.stack([b, -3 * a], dim=1).double().repeat(5, 1),
        factors=(Labels("a", a.repeat(5)), Labels("b", b.repeat(5))),
    )
    score = TopAttributes()(codes)
    assert score.value == pytest.approx(1)
    assert score.parts["runner_up"].value == pytest.approx(0)
    assert score.tables["top_latent"].tolist() == [1, 0]


@settings(max_examples=8)
@given(seed=st.integers(0, 100), sign=st.sampled_from([-2.0, 0.5]))
def test_rescaling_and_flipping_latents_changes_no_score(seed, sign):
    codes = random_codes(seed)
    assert TopAttributes()(dataclasses.replace(codes, mean=sign * codes.mean)).value == pytest.approx(
        TopAttributes()(codes).value
    )


@settings(max_examples=8)
@given(seed=st.integers(0, 100))
def test_values_lie_in_their_intervals(seed):
    score = TopAttributes()(random_codes(seed))
    for least, value, interval in [
        (0, score.value, score.interval),
        *((-1 if name == "margin" else 0, part.value, part.interval) for name, part in score.parts.items()),
    ]:
        assert least <= interval[0] <= value <= interval[1] <= 1
    assert score.parts["margin"].value == pytest.approx(score.value - score.parts["runner_up"].value)


def test_of_latents_that_tie_the_first_is_named():
    codes = random_codes(1)
    twice = dataclasses.replace(codes, mean=torch.cat([codes.mean, codes.mean], dim=1))
    assert TopAttributes()(twice).tables["top_latent"].tolist() == TopAttributes()(codes).tables["top_latent"].tolist()


def test_a_single_attribute_has_no_others():
    score = TopAttributes()(random_codes(2, num_factors=1))
    assert score.tables["top_attributes"].shape == (1, 0)
    assert math.isnan(score.parts["runner_up"].value)


def test_constant_and_unordered_factors_are_left_out():
    codes = random_codes(3)
    factors = (Labels("still", torch.ones(80, dtype=torch.int64)), Labels("shape", torch.arange(80) % 3, ordered=False))
    with warned("still .constant"):
        score = TopAttributes()(dataclasses.replace(codes, factors=(*factors, *codes.factors)))
    assert math.isnan(score.per_factor["still"])
    assert math.isnan(score.per_factor["shape"])
    assert score.value == pytest.approx(TopAttributes()(codes).value)
    assert "shape" in score.notes[0]
    assert score.tables["top_latent"][:2].tolist() == [-1, -1]
    assert set(score.tables["top_attributes"][2:].flatten().tolist()) <= {2, 3, 4, 5, 6, 7}


def test_factors_without_any_order_are_refused():
    codes = dataclasses.replace(random_codes(4), factors=(Labels("shape", torch.arange(80) % 3, ordered=False),))
    with pytest.raises(CodesError, match="shape"):
        TopAttributes()(codes)


def test_a_dead_latent_follows_nothing_where_it_is_left_out():
    codes = random_codes(2)
    label = codes.factors[0].values.double()
    with_dead = dataclasses.replace(codes, mean=torch.cat([codes.mean, 1e-4 * label[:, None]], dim=1))
    assert int(TopAttributes()(with_dead).tables["top_latent"][0]) == 4
    score, own = TopAttributes(min_std=0.05)(with_dead), TopAttributes()(codes)
    assert score.value == pytest.approx(own.value)
    assert score.interval == pytest.approx(own.interval)
    assert score.tables["top_latent"].tolist() == own.tables["top_latent"].tolist()


def test_names_count_by_their_numbers_where_asked():
    codes = random_codes(3)
    shape = Labels("shape", torch.arange(80) % 3, ordered=False)
    score = TopAttributes(unordered="numbered")(dataclasses.replace(codes, factors=(*codes.factors, shape)))
    table = torch.corrcoef(torch.cat([codes.mean, shape.values.double()[:, None]], dim=1).T)[:4, 4]
    assert score.per_factor["shape"] == pytest.approx(float(table.abs().max()))
    assert score.notes == ()
    with pytest.raises(SpecError, match="expected 0 or more"):
        TopAttributes(min_std=-1.0)


def test_value_and_parts_may_be_of_some_attributes_whose_latents_follow_any():
    codes = random_codes(5)
    everything, some = TopAttributes()(codes), TopAttributes(attributes=("y1", "y4"))(codes)
    assert some.value == pytest.approx((everything.per_factor["y1"] + everything.per_factor["y4"]) / 2)
    first = everything.tables["top_correlations"][:, 0].abs()
    assert some.parts["runner_up"].value == pytest.approx(float((first[1] + first[4]) / 2))
    assert some.parts["margin"].value == pytest.approx(some.value - some.parts["runner_up"].value)
    with pytest.raises(CodesError, match="TopAttributes: unknown attribute 'y9'"):
        TopAttributes(attributes=("y9",))(codes)
