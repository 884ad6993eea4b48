"""Numbers of latents, ranked."""

import pytest

from tests.metrics.test_mig import random_codes
from unbraid import evaluate
from unbraid.config import text_of
from unbraid.errors import SpecError
from unbraid.metrics import SEPIN, BestFactor, Informativeness, RankedLatents, Separability
from unbraid.metrics.estimators import MeansHistogram, Quantized, Sampled
from unbraid.metrics.selection import metric_of, select

CODES, FEW = random_codes(4), Sampled(50)
RANKED = {
    RankedLatents(estimator=Quantized()): Informativeness(Quantized()),
    RankedLatents(estimator=FEW, conditional="mc", density_floor=1e-8): Informativeness(FEW, "mc", 1e-8),
    RankedLatents("separability", FEW): Separability(FEW),
    RankedLatents("separability", FEW, "mc", 1e-8): Separability(FEW, "mc", 1e-8),
    RankedLatents("sepin", FEW): SEPIN(FEW),
    RankedLatents("best_factor", MeansHistogram(10)): BestFactor(MeansHistogram(10)),
}


@pytest.mark.parametrize("ranked", RANKED, ids=text_of)
def test_parts_are_the_numbers_of_the_metric_by_size(ranked):
    plain, score = RANKED[ranked](CODES), ranked(CODES)
    assert [score.parts[str(rank)].value for rank in (1, 2, 3)] == sorted(plain.per_latent, reverse=True)
    assert (score.value, score.interval) == (plain.value, plain.interval)
    assert score.settings["by"] == ranked.by


def test_it_has_a_name_that_can_be_typed():
    metric = RankedLatents(estimator=Quantized(masses="rectangle"))
    assert metric_of(text_of(metric)) == metric
    assert "ranked-latents" not in select("all").metrics
    assert evaluate(CODES, [text_of(metric)]).scores[0].parts.keys() == {"1", "2", "3"}


def test_what_is_estimated_from_draws_takes_no_bins():
    with pytest.raises(SpecError, match="separability is estimated from draws"):
        RankedLatents("separability", Quantized())
