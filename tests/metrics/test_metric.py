"""What every metric inherits: settings, the refusal of codes it cannot take, and the naming of constant factors."""

import dataclasses
import math
import re
from typing import ClassVar, final

import pytest
import torch

from tests.metrics.test_mig import grid
from tests.told import warned
from unbraid.codes import Codes, Labels
from unbraid.errors import CodesError
from unbraid.metrics.correlations import Correlations
from unbraid.metrics.dci import DCI
from unbraid.metrics.dcimig import DCIMIG
from unbraid.metrics.estimators import MeansHistogram, Neighbors, Quantized
from unbraid.metrics.gaussian_total_correlation import GaussianTotalCorrelation
from unbraid.metrics.info_mec import InfoMEC
from unbraid.metrics.irs import IRS
from unbraid.metrics.mcc import MCC
from unbraid.metrics.med import MED
from unbraid.metrics.metric import ADVICE, Feature, Interval, Metric, Score, Value, features
from unbraid.metrics.mig import MIG
from unbraid.metrics.mig_sup import MIGSup
from unbraid.metrics.minimality import Minimality
from unbraid.metrics.modularity import Modularity
from unbraid.metrics.reductions.statistics import Statistics
from unbraid.metrics.sap import SAP
from unbraid.metrics.score_json import score_from_json, score_to_json
from unbraid.metrics.zdiff import ZDiff


@final
@dataclasses.dataclass(frozen=True)
class Probe(Metric):
    """A metric that returns the number of latents, and takes what it is told to take."""

    bounds: ClassVar[Interval] = (0.0, math.inf)

    taken: frozenset[Feature] = frozenset()

    @property
    def accepts(self) -> frozenset[Feature]:
        return self.taken

    def measure(self, statistics: Statistics) -> Score:
        return Score(metric="Probe", value=float(statistics.codes.num_latents), notes=("counted",))


def with_everything() -> dict[Feature, Codes]:
    """Codes that have one thing more than means, stds and labels."""
    codes = grid()
    labels = codes.factors[0]
    known = torch.arange(20) > 3
    covariance = torch.diag_embed(codes.std**2)
    return {
        "continuous factors": dataclasses.replace(codes, factors=(Labels("angle", torch.linspace(0, 1, 20)),)),
        "soft labels": dataclasses.replace(
            codes, factors=(Labels("guess", torch.nn.functional.one_hot(labels.values).double()),)
        ),
        "missing labels": dataclasses.replace(codes, factors=(dataclasses.replace(labels, known=known),)),
        "weights": dataclasses.replace(codes, weights=torch.ones(20)),
        "means without std": dataclasses.replace(codes, std=None),
        "draws without densities": dataclasses.replace(codes, std=None, samples=codes.mean[None]),
        "correlated posteriors": dataclasses.replace(codes, std=None, covariance=covariance),
        "discrete latents": dataclasses.replace(codes, probabilities=(torch.full((20, 2), 0.5),)),
    }


def test_settings_are_the_fields():
    assert MIG(Quantized(num_bins=50)).settings == {
        "estimator": "quantized",
        "num_bins": 50,
        "low": -4.0,
        "high": 4.0,
        "masses": "erf_edge",
        "value_weights": "frequency",
    }


def test_plain_codes_have_no_features():
    assert features(grid()) == {}
    assert Probe()(grid()).value == 2


@pytest.mark.parametrize("feature", ADVICE)
def test_what_a_metric_does_not_take_it_refuses_by_name_with_advice(feature):
    codes = with_everything()[feature]
    with pytest.raises(CodesError) as refused:
        Probe()(codes)
    assert f"Probe does not support {feature}" in str(refused.value)
    assert ADVICE[feature] in str(refused.value)
    assert Probe(frozenset({feature}))(codes).value >= 2


@pytest.mark.parametrize("metric", [InfoMEC, MED, MIGSup, DCIMIG, Minimality])
def test_what_is_advised_for_a_deterministic_encoder_is_taken(metric):
    means = with_everything()["means without std"]
    with pytest.raises(CodesError, match=f"{metric.__name__} does not support means without std"):
        metric()(means)
    assert metric(MeansHistogram())(means).value > 0
    assert metric(Quantized())(dataclasses.replace(means, std=torch.zeros_like(means.mean))).value > 0


def test_the_factors_at_fault_are_named():
    with pytest.raises(CodesError, match=r"continuous factors \(angle\)"):
        Probe()(with_everything()["continuous factors"])


def test_labels_that_are_all_known_are_not_missing():
    labels = dataclasses.replace(grid().factors[0], known=torch.ones(20, dtype=torch.bool))
    assert features(dataclasses.replace(grid(), factors=(labels,))) == {}


def test_no_factors_and_no_varying_factor_are_refused():
    with pytest.raises(CodesError, match="Probe: the codes have no factors"):
        Probe()(dataclasses.replace(grid(), factors=()))
    with pytest.raises(CodesError, match="1 factors"):
        Probe()(dataclasses.replace(grid(), factors=(Labels("still", torch.zeros(20, dtype=torch.int64)),)))


def test_a_constant_factor_is_named_in_a_warning_and_in_a_note():
    codes = grid()
    with warned("Probe: still .constant"):
        score = Probe()(
            dataclasses.replace(codes, factors=(*codes.factors, Labels("still", torch.zeros(20, dtype=torch.int64))))
        )
    assert score.notes[0] == "counted"
    assert "left" in score.notes[1]


def test_a_value_has_an_interval_cut_at_its_bounds():
    assert Value.from_standard_error(0.5, 0.1).interval == pytest.approx((0.5 - 0.1959964, 0.5 + 0.1959964))
    assert Value.from_standard_error(0.95, 0.1, (0.0, 1.0)).interval == pytest.approx((0.95 - 0.1959964, 1.0))
    assert Value.from_standard_error(math.nan, 0.1).interval is None
    assert Value.from_standard_error(0.5, math.nan).interval is None


def test_numbers_whose_squares_overflow_are_refused():
    codes = Codes(torch.zeros(3, 1).double(), torch.full((3, 1), 1e300, dtype=torch.float64))
    with pytest.raises(CodesError, match="1e[+]300"):
        GaussianTotalCorrelation("aggregate")(codes)


SEPARATE = torch.stack([torch.arange(240) % 3, torch.arange(240) % 4], dim=1)
SCALED = [(1.0, 1e8, "1e\\+08 and a std of"), (1e-8, 0.0, "is 1.1e-08")]


@pytest.mark.parametrize(
    "metric", [SAP(), DCI("forest", num_trees=2, num_refits=0), ZDiff()], ids=lambda metric: type(metric).__name__
)
@pytest.mark.parametrize(("scale", "offset", "cause"), SCALED)
def test_a_scale_that_a_classifier_cannot_see_is_told(metric, scale, offset, cause):
    factors = tuple(Labels(name, SEPARATE[:, k]) for k, name in enumerate("ab"))
    plain = Codes(SEPARATE.double(), torch.full((240, 2), 0.1).double(), factors=factors)
    moved = dataclasses.replace(plain, mean=plain.mean * scale + offset)
    assert re.search(cause, " ".join(metric(moved).notes))
    assert not re.search("accuracy of the classifier", " ".join(metric(plain).notes))


def test_means_that_single_precision_made_equal_are_told():
    mean = (SEPARATE.double() + 1e8).float()
    codes = Codes(mean, torch.ones_like(mean), factors=(Labels("a", SEPARATE[:, 0]),))
    assert any("torch.float32" in note for note in DCI()(codes).notes)


def test_a_copy_of_a_score_equals_it():
    score = Score(
        "MIG",
        0.5,
        (0.4, 0.6),
        parts={"a": Value(math.nan, (0.0, math.nan))},
        per_factor={"hue": math.nan},
        tables={"t": torch.tensor([[math.nan, 1.0]])},
        settings={"num_bins": 20},
    )
    again = score_from_json(score_to_json(dataclasses.replace(score, tables={"t": score.tables["t"].double()})))
    assert dataclasses.replace(again, tables={"t": score.tables["t"].clone()}) == score
    assert again != score
    for change in ({"value": 0.6}, {"parts": {"a": Value(0.0, (0.0, math.nan))}}, {"settings": {"num_bins": 21}}):
        assert dataclasses.replace(score, **change) != score


# ---- whole numbers given as floats


def whole_floats(numbers):
    codes = grid()
    return dataclasses.replace(codes, factors=(Labels("size", numbers), *codes.factors))


def noted(metric, codes):
    return [note for note in metric(codes).notes if "float dtype" in note]


@pytest.mark.parametrize("metric", [SAP(), DCI("boosted_trees", num_trees=2), Modularity(Neighbors())], ids=str)
def test_whole_numbers_given_as_floats_are_noted_where_that_changes_the_score(metric):
    numbers = torch.arange(20) % 4
    [note] = noted(metric, whole_floats(numbers.double()))
    assert note.startswith("size ")
    assert noted(metric, whole_floats(numbers)) == []
    assert metric(whole_floats(numbers.double())).value != metric(whole_floats(numbers)).value


@pytest.mark.parametrize("metric", [SAP(factors_as="measurements"), DCI("lasso")], ids=str)
def test_where_it_changes_nothing_nothing_is_said(metric):
    numbers = torch.arange(20) % 4
    assert noted(metric, whole_floats(numbers.double())) == []
    assert metric(whole_floats(numbers.double())).value == pytest.approx(metric(whole_floats(numbers)).value)


def test_measurements_are_not_taken_for_whole_numbers():
    assert noted(SAP(), whole_floats(torch.arange(20) * 0.5)) == []
    assert noted(SAP(), whole_floats(torch.arange(20).double())) == []


def test_a_value_that_leaves_its_bounds_by_rounding_is_put_back():
    assert Value.from_standard_error(1 + 6e-14, 0.0, (0.0, 1.0)) == Value(1.0, (1.0, 1.0))
    assert Value.from_standard_error(-1e-12, 0.1, (0.0, 1.0)).value == 0
    assert (
        Value.from_standard_error(1.1, 0.0, (0.0, 1.0)).value == 1.1
    )  # no rounding, which a test of the metric has to find
    assert math.isnan(Value.from_standard_error(math.nan, 0.1, (0.0, 1.0)).value)


@pytest.mark.parametrize(
    "metric", [MCC(), Minimality(), IRS(), Correlations()], ids=lambda metric: type(metric).__name__
)
def test_a_score_of_a_few_images_carries_a_note(metric):
    """Two points lie on a line: all correlations are 1."""
    few, enough = (
        Codes(grid().mean[:n], grid().std[:n], factors=tuple(f[:n] for f in grid().factors)) for n in (2, 12)
    )
    assert any("2 images" in note for note in metric(few).notes)
    assert not any("by chance" in note for note in metric(enough).notes)


def test_a_factor_that_is_known_in_a_few_images_is_named():
    known = torch.arange(40) < 3
    codes = Codes(torch.arange(80.0).reshape(40, 2).sin(), factors=(Labels("a", torch.arange(40) % 2, known),))
    assert any("3 images" in note for note in MCC()(codes).notes)
