"""Which codes are scored, and how."""

import json

import numpy as np
import pytest

from unbraid import Scorecard, evaluate
from unbraid.codes import Codes, CodesOptions
from unbraid.datasets.weights import Correlated
from unbraid.errors import CodesError, SpecError
from unbraid.metrics import DCI, IRS, MIG, MISJED, SAP, AttributeVector, Explicitness, FactorVAEScore, ZDiff
from unbraid.metrics.scoring import Scoring

RNG = np.random.default_rng(0)
FACTORS = {"hue": np.arange(60) % 3, "size": np.arange(60) // 30, "angle": np.arange(60) % 5}
MEAN = np.stack([FACTORS["size"], FACTORS["angle"]], axis=1) + 0.1 * RNG.standard_normal((60, 2))
HUES = np.eye(3)[FACTORS["hue"]] * 0.97 + 0.01
MIXED = Codes.from_arrays(MEAN, np.full((60, 2), 0.2), probabilities=[HUES], factors=FACTORS)
OF_MEANS = [
    DCI(predictor="lasso", num_train=40, num_test=20, num_refits=0),
    SAP(num_train=40, num_test=20),
    Explicitness(num_train=40, num_test=20),
    FactorVAEScore(num_train=50, num_test=20),
    ZDiff(num_train=50, num_test=20),
    IRS(),
    MISJED(),
]


def test_it_survives_json_by_what_differs_from_the_default():
    scoring = Scoring("test", ("hue",), Correlated(("hue", "size"), 0.2), "columns", 0.5)
    assert Scoring.from_changes(json.loads(json.dumps(scoring.changes()))) == scoring
    assert Scoring().changes() == {}
    assert Scoring(part="test").changes() == {"part": "test"}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"fraction": 0.0}, "fraction is 0.0"),
        ({"fraction": 1.5}, r"Scoring: fraction is 1\.5"),
        ({"factors": ("hue", "hue")}, "hue, hue"),
    ],
)
def test_what_makes_no_sense_is_refused(fields, message):
    with pytest.raises(SpecError, match=message):
        Scoring(**fields)


@pytest.mark.parametrize("metric", OF_MEANS, ids=lambda metric: type(metric).__name__)
def test_metrics_of_means_see_discrete_latents_as_columns_or_not_at_all(metric):
    for how, codes in {"columns": MIXED.with_discrete_as_columns(), "left_out": MIXED.without_discrete()}.items():
        [score] = evaluate(MIXED, metrics=[metric], scoring=Scoring(discrete=how)).scores
        assert score.value == metric(codes).value
        assert score.scoring == {"discrete": how}
    assert any("number 2." in note for note in score.notes)
    refused = evaluate(MIXED, metrics=[metric, MIG()]).refused
    assert "discrete='columns'" in next(iter(refused.values()))


def test_the_note_says_which_columns_they_are():
    card = evaluate(MIXED, metrics=[SAP()], scoring=Scoring(discrete="columns"))
    assert "2 to 4." in card.scores[0].notes[-1]


def test_a_metric_that_takes_discrete_latents_sees_them_as_they_are():
    [score] = evaluate(MIXED, metrics=[MIG()], scoring=Scoring(discrete="left_out")).scores
    assert score.value == MIG()(MIXED).value
    assert not any("discrete" in note for note in score.notes)


def test_factors_are_chosen():
    card = evaluate(MIXED, metrics=[MIG()], scoring=Scoring(factors=("size", "hue")))
    assert list(card.scores[0].per_factor) == ["hue", "size"]
    assert card.factor_names == ("hue", "size")
    assert card.scores[0].value != evaluate(MIXED, metrics=[MIG()]).scores[0].value
    with pytest.raises(SpecError, match="factor 'hues'"):
        evaluate(MIXED, metrics=[MIG()], scoring=Scoring(factors=("hues",)))


@pytest.mark.parametrize("scoring", [Scoring(part="test"), Scoring(step=5), Scoring(sampling="data")])
def test_a_scoring_that_chooses_images_of_a_run_is_refused(scoring):
    with pytest.raises(SpecError, match=next(iter(scoring.changes()))):
        evaluate(MIXED, metrics=[MIG()], scoring=scoring)


def test_a_fraction_is_drawn_once_and_for_all():
    cards = [evaluate(MIXED, metrics=[MIG()], scoring=Scoring(fraction=0.5)) for _ in range(2)]
    assert cards[0] == cards[1]
    assert cards[0].num_images == 30


def test_a_card_knows_its_scoring_and_keeps_it(tmp_path):
    card = evaluate(MIXED, metrics=[MIG()], scoring=Scoring(fraction=0.5, factors=("hue",)))
    assert card.scoring == Scoring(factors=("hue",), fraction=0.5)
    assert Scorecard.load(card.save(tmp_path / "card.json")).scoring == card.scoring


# ---- one attribute for each value


def digits(rows=slice(None)):
    """Each digit from 0 to 2 lies around a corner of a triangle."""
    digit = (np.arange(300) % 3)[rows]
    mean = np.array([[0.0, 0.0], [5.0, 0.0], [0.0, 5.0]])[digit] + np.random.default_rng(1).normal(size=(len(digit), 2))
    return Codes.from_arrays(mean, factors={"digit": digit, "size": np.arange(len(digit)) % 4})


def test_a_factor_is_replaced_by_an_attribute_for_each_of_its_values():
    codes = digits().with_one_vs_rest("digit")
    assert codes.factor_names == ("digit 0", "digit 1", "digit 2", "size")
    for value, labels in enumerate(codes.factors[:3]):
        assert labels.values.tolist() == [int(n % 3 == value) for n in range(300)]


def test_attributes_of_digits_are_scored_against_the_rest_by_hand():
    """Kumar et al.'s attribute vectors: a difference of means, and the bias with the least hinge loss by search."""
    train, test = digits(slice(200)), digits(slice(200, None))
    metric = AttributeVector(num_train=1000, num_test=1000)
    card = evaluate(train, metrics=[metric], test=test, scoring=Scoring(one_vs_rest=("digit",)))
    assert card.factor_names == ("digit 0", "digit 1", "digit 2", "size")
    assert card.scoring == Scoring(part="test", fit="train", one_vs_rest=("digit",))
    assert card.scores[0].scoring == {"part": "test", "fit": "train", "one_vs_rest": ["digit"]}
    for value in range(3):
        sign, test_sign = (2 * (codes.factors[0].values.numpy() == value) - 1 for codes in (train, test))
        mean = train.mean.numpy()
        vector = mean[sign > 0].mean(axis=0) - mean[sign < 0].mean(axis=0)
        grid = np.linspace(-60, 60, 24_001)
        losses = [np.maximum(0, 1 - sign * (mean @ vector + bias)).sum() for bias in grid]
        right = np.sign(test.mean.numpy() @ vector + grid[int(np.argmin(losses))]) == test_sign
        assert card.scores[0].per_factor[f"digit {value}"] == pytest.approx(right.mean(), abs=0.011)
    assert card.scores[0].parts["majority"].value == pytest.approx(2 / 3, abs=0.01)


def test_a_value_that_only_one_part_has_is_an_attribute_all_the_same():
    train, test = digits(slice(200)), digits([0, 1, 3, 4])
    assert evaluate(
        train, metrics=[AttributeVector()], test=test, scoring=Scoring(one_vs_rest=("digit",))
    ).factor_names[:3] == (
        "digit 0",
        "digit 1",
        "digit 2",
    )


def test_factors_that_cannot_be_split_are_told():
    with pytest.raises(SpecError, match="factor 'digt'"):
        evaluate(digits(), metrics="sap", scoring=Scoring(one_vs_rest=("digt",)))
    with pytest.raises(SpecError, match="factor 'digit'"):
        evaluate(digits(), metrics="sap", scoring=Scoring(factors=("size",), one_vs_rest=("digit",)))
    with pytest.raises(CodesError, match="'angle' is continuous"):
        Codes.from_arrays(MEAN, factors={"angle": MEAN[:, 0]}).with_one_vs_rest("angle")
    known = Codes.from_arrays(MEAN[:3], factors={"hue": [0, -1, 2]}, options=CodesOptions(missing=-1)).with_one_vs_rest(
        ["hue"]
    )
    assert [labels.name for labels in known.factors] == ["hue 0", "hue 2"]
    assert known.factors[0].is_known.tolist() == [True, False, True]
