"""What a class is called where one types its name, and what a misspelt name may have meant."""

import time

import pytest

from unbraid._internal.names import kebab_case, suggestion
from unbraid.models.distributions import GaussianLikelihood, Likelihood


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("VAE", "vae"),
        ("MIG", "mig"),
        ("BetaVAE", "beta-vae"),
        ("BetaTCVAE", "beta-tcvae"),
        ("DecomposedELBO", "decomposed-elbo"),
        ("FactorVAEScore", "factor-vae-score"),
        ("FromArrays", "from-arrays"),
        ("FashionMNIST", "fashion-mnist"),
        # A single capital at either end belongs to its neighbor.
        ("DSprites", "dsprites"),
        ("CelebA", "celeba"),
        ("Cars3D", "cars3d"),
        ("Lemma2Gap", "lemma2-gap"),
        ("HFVAE", "hfvae"),
        ("DIPVAE", "dip-vae"),
    ],
)
def test_the_command_line_spells_a_class(name, expected):
    assert kebab_case(type(name, (), {})) == expected


def test_the_name_of_the_kind_is_dropped_from_the_end():
    assert kebab_case(GaussianLikelihood, Likelihood) == "gaussian"
    assert kebab_case(Likelihood, Likelihood) == "likelihood"


def test_a_suggestion_is_near_or_none():
    assert suggestion("betta", ["gamma", "beta"]) == "Did you mean 'beta'? Valid: beta, gamma."
    assert suggestion("zzz", ["gamma", "beta"]) == "Valid: beta, gamma."
    assert suggestion("zzz", []) == "Valid: none."
    assert suggestion("", ["gamma", "beta"]) == "Valid: beta, gamma."


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("tcvae", "beta-tcvae"),  # difflib alone says vae
        ("beta", "beta-vae"),  # of two that contain it, the nearer
        ("beta-tc-vae", "beta-tcvae"),  # a slip, although vae is a word of it
        ("plain-vae", "vae"),
        ("my_vae", "vae"),
        ("vea", "vae"),
    ],
)
def test_a_part_of_a_name_suggests_the_whole_of_it(given, meant):
    assert suggestion(given, ["beta-tcvae", "beta-vae", "decomposed-elbo", "vae"]).startswith(
        f"Did you mean {meant!r}?"
    )


def test_a_text_of_megabytes_is_compared_in_no_time():
    begun = time.process_time()
    assert "Valid: rows, size." in suggestion("x" * 50_000_000, ["size", "rows"])
    assert time.process_time() - begun < 1
