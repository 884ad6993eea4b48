"""Colors and markers belong to names."""

import itertools

import pytest

from unbraid.figures import family_look

FAMILIES = ("VAE", "beta-VAE", "beta-TCVAE", "FactorVAE", "DIP-VAE I", "DIP-VAE II", "HFVAE")


def test_families_of_one_figure_differ_in_color_and_in_marker():
    for one, other in itertools.combinations(map(family_look, FAMILIES), 2):
        assert one.color != other.color
        assert one.marker != other.marker


@pytest.mark.parametrize("name", ["beta-VAE", "BetaVAE", "beta-vae", "β-VAE", "Beta VAE"])
def test_a_family_has_one_look_however_it_is_spelt(name):
    assert family_look(name) == family_look("beta-vae")


def test_a_family_that_no_list_knows_has_a_look_of_its_name_alone():
    assert family_look("my own objective") == family_look("my own objective")
    assert len({family_look(f"own {number}") for number in range(100)}) > 20
    assert family_look("my own objective") not in [family_look(name) for name in FAMILIES]
