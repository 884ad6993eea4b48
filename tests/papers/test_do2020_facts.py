"""Do & Tran, tables 1 to 4: what can be said without training."""

import math

import pytest

from unbraid.audit.made_codes import folded_codes
from unbraid.metrics import MIG
from unbraid.metrics.estimators import Exact
from unbraid.papers.do2020.facts import TABLE2, TABLE4, _critic_weights
from unbraid.papers.do2020.table1 import _compute
from unbraid.papers.judgement import judge
from unbraid.studies.execute import StudyOptions


def test_folded_codes_say_as_much_and_lie_on_no_line() -> None:
    plain, folded = folded_codes(), folded_codes(folded=True)
    assert MIG(Exact())(folded).value == pytest.approx(MIG(Exact())(plain).value, abs=1e-3)
    value = folded.factors[0].values.double()
    centred = folded.mean[:, 0] - folded.mean[:, 0].mean()
    assert abs(float((centred * value).mean())) < 0.02


def test_a_linear_metric_keeps_nothing_of_a_folded_factor() -> None:
    found = _compute("DCI, LASSO", 0)
    assert found["nonlinear"] == 0
    assert found["nonlinear:share of the score kept"] < 0.7  # the other factor lies on a line
    assert (found["classifier"], found["posterior"], found["no_factors"]) == (1, 0, 0)
    found = _compute("RMIG", 0)
    assert (found["nonlinear"], found["posterior"], found["classifier"]) == (1, 1, 0)


def test_entropies_are_logarithms_of_sizes(tmp_path) -> None:
    work = TABLE2.at("smoke")
    work.run(tmp_path, StudyOptions(progress=False))
    scores = work.scores(tmp_path)
    assert scores.values("dSprites", "entropy:orientation")[0] == pytest.approx(math.log(40))
    assert judge(TABLE2, "smoke", scores).verdict == "reproduced"


def test_nets_have_the_weights_of_their_layers(tmp_path) -> None:
    work = TABLE4.at("smoke")
    work.run(tmp_path, StudyOptions(progress=False))
    assert judge(TABLE4, "smoke", work.scores(tmp_path)).verdict == "reproduced"
    convolutions = 16 * (32 + 32 * 32 + 32 * 64 + 64 * 64) + 32 + 32 + 64 + 64
    fully = (64 * 4 * 4 + 1) * 128 + 129 * 20
    assert work.scores(tmp_path).values(work.empty().settings[0], "weights:encoder")[0] == convolutions + fully
    assert _critic_weights(10) == 11 * 1000 + 4 * 1001 * 1000 + 1001
