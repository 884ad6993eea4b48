"""The latents that say most of a factor, for traversals."""

import pytest
import torch

import unbraid
from tests.metrics.test_mig import random_codes
from unbraid.errors import CodesError
from unbraid.metrics import MIG, RMIG, Informativeness
from unbraid.metrics.top_latents import top_latents

CODES = random_codes(1)


def test_they_are_in_the_order_of_the_table():
    score = RMIG()(CODES)
    for place, factor in enumerate(score.per_factor):
        told = score.tables["mutual_information"][:, place].tolist()
        best, second = sorted(range(3), key=lambda latent: -told[latent])[:2]
        assert top_latents(score, factor, 2) == {
            best: f"{factor} {told[best]:.4f}",
            second: f"{factor} {told[second]:.4f}",
        }


def test_a_traversal_takes_them_for_latents_and_labels():
    top = top_latents(MIG()(CODES), CODES.factor_names[0], 2)
    made = unbraid.traverse(lambda z: z[:, None, None, :], torch.zeros(3), latents=top, labels=top, num_frames=3)
    assert [strip.latent for strip in made.strips] == list(top)
    assert made.labels == tuple(f"z{latent} {text}" for latent, text in top.items())


def test_what_is_not_there_is_told():
    score = MIG()(CODES)
    with pytest.raises(CodesError, match="factor 'color'"):
        top_latents(score, "color")
    with pytest.raises(CodesError, match="1 to 3"):
        top_latents(score, CODES.factor_names[0], 4)
    with pytest.raises(CodesError, match="Informativeness"):
        top_latents(Informativeness()(CODES), CODES.factor_names[0])
