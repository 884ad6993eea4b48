"""What a nat of rate costs, where it can be told and where it cannot."""

import math
from dataclasses import replace

import pytest

from unbraid.diagnose.loss_weight import LossWeights, diagnose_weights
from unbraid.objectives.weight_advice import RateWeight

WEIGHTS = LossWeights(loss=140.0, distortion=100.0, rate=10.0, num_pixels=4096, num_latents=10)


def test_beta_is_what_a_nat_of_rate_costs():
    found = diagnose_weights(WEIGHTS)
    assert (found.state, found.numbers["beta"]) == ("fine", 4.0)
    assert found.numbers["normalized"] == pytest.approx(40 / 4096)
    assert "beta = 0.000977" in found.sentence
    assert "effective beta was 4:" in found.sentence
    assert "effective beta was 1:" in diagnose_weights(replace(WEIGHTS, loss=110.0)).sentence
    assert "effective beta was 1,000:" in diagnose_weights(replace(WEIGHTS, loss=10_099.997)).sentence
    average = diagnose_weights(WEIGHTS, RateWeight(parts="total correlation 4"))
    assert "correlation 4)" in average.sentence


def test_a_history_without_a_rate_has_no_beta():
    none = diagnose_weights(replace(WEIGHTS, rate=math.nan))
    assert (none.state, none.sentence) == (
        "unknown",
        "The history of the run has no rate. There is no effective beta.",
    )
    assert "The rate ended at 0" in diagnose_weights(replace(WEIGHTS, rate=0.0)).sentence


def test_a_loss_that_penalizes_more_than_the_rate_has_no_beta():
    found = diagnose_weights(WEIGHTS, RateWeight("It also penalizes X.", 1.0))
    assert (found.state, found.sentence) == ("unknown", "It also penalizes X. The rate ended at 10 nats.")
    assert "beta" not in found.numbers
    assert found.numbers["rate_weight"] == 1.0


def test_a_high_beta_explains_a_collapse_and_that_of_a_vae_does_not():
    high = diagnose_weights(WEIGHTS, is_collapsed=True)
    assert (high.state, "explains the collapse" in high.sentence) == ("look", True)
    assert [remedy.aim for remedy in high.remedies] == ["lower price"]
    assert diagnose_weights(replace(WEIGHTS, loss=110.0), is_collapsed=True).state == "fine"
    assert diagnose_weights(WEIGHTS).state == "fine"


def test_beta_beside_a_likelihood_that_is_far_too_wide():
    wide = LossWeights(120.0, 100.0, 5.0, 64, 2, std=1.0, root_error=0.1)
    found = diagnose_weights(wide)
    assert (found.state, found.numbers["calibrated"]) == ("look", pytest.approx(400.0))
    assert found.sentence.endswith(" beta = 400.")
    assert "GaussianLikelihood(std=0.1)" in found.advice[0]
    assert "divided by 100" in found.advice[0]
    assert diagnose_weights(replace(wide, root_error=0.9)).state == "fine"
    assert "multiplied by 10" in diagnose_weights(replace(wide, root_error=math.sqrt(10))).advice[0]
    without = diagnose_weights(wide, RateWeight("There is no beta."))
    assert (without.state, without.sentence.endswith(" 100 times the weights.")) == ("look", True)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"loss": math.inf}, "The loss ended at inf."),
        ({"loss": math.nan}, "The loss ended at nan."),
        ({"rate": -0.01}, "The rate ended at -0.01, so its weight is undefined."),
        ({"rate": math.nan}, "The history of the run has no rate."),
    ],
)
def test_why_there_is_no_beta_is_told(changes, says):
    found = diagnose_weights(replace(WEIGHTS, **changes))
    assert (found.state, says in found.sentence) == ("unknown", True)
