"""MISJED of pairs by rank: closed form of noise, and the table of MISJED."""

import math

import pytest
import torch

from tests.metrics.latent_codes import random_codes, with_noise
from unbraid.codes import Codes
from unbraid.errors import CodesError
from unbraid.metrics import MISJED, Informativeness, RankedPairs
from unbraid.metrics.estimators import Quantized


def test_two_latents_of_noise_have_twice_their_entropy():
    """H of N(0, 1) in bins of width 0.08 is log(2 pi e) / 2 - log 0.08 = 3.9447 nats, but for what lies beyond 4; means
    lie in one bin.
    """
    codes = with_noise(random_codes(0, num_images=200, num_latents=3), 3)
    entropy = 0.5 * math.log(2 * math.pi * math.e) - math.log(0.08)
    score = RankedPairs(Quantized(masses="rectangle"))(codes)
    for pair in ("-1,-2", "-1,-3"):
        assert score.parts[pair].value == pytest.approx(2 * entropy, abs=2e-3)
        assert score.parts[pair].value == pytest.approx(7.889, abs=2e-3)


def test_pairs_are_those_of_the_table_by_informativeness():
    codes = random_codes(1, num_images=50, num_latents=5)
    score, table = RankedPairs()(codes), MISJED()(codes).tables["misjed"]
    told = torch.tensor(Informativeness(Quantized())(codes).per_latent)
    first, second, *_, last = told.argsort(descending=True).tolist()
    assert score.parts["1,2"].value == float(table[first, second])
    assert score.parts["1,-1"].value == float(table[first, last])
    assert score.value == MISJED()(codes).value


def test_few_latents_are_refused():
    with pytest.raises(CodesError, match="there are 2"):
        RankedPairs()(Codes(torch.zeros(4, 2), torch.ones(4, 2)))
