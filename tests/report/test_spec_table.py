from dataclasses import replace

from unbraid.data import DSprites
from unbraid.distributions import GaussianLatents
from unbraid.models import MLP, Autoencoder
from unbraid.objectives import VAE, BetaTCVAE
from unbraid.report.spec_table import describe_spec, in_words, spec_labels, spec_table
from unbraid.runs import RunSpec

HEARTS = DSprites(resolution=32, shapes=("heart",), num_scales=6, num_orientations=1, num_positions=16)
SPEC = RunSpec(HEARTS, Autoencoder(MLP(hidden=(128, 64)), latents=GaussianLatents(6)), VAE(), num_steps=1000, learning_rate=3e-4)


def test_every_field_that_is_set_is_named_in_words():
    described = describe_spec(SPEC)
    assert described["dataset"] == "dsprites"
    assert described["dataset shapes"] == "heart"
    assert described["model encoder hidden"] == "128, 64"
    assert described["model likelihood"] == "bernoulli"
    assert described["number of steps"] == "1,000"
    assert described["learning rate"] == "0.0003"


def test_a_field_that_is_not_set_is_left_out():
    assert "max gradient norm" not in describe_spec(SPEC)
    assert describe_spec(replace(SPEC, max_gradient_norm=2.0))["max gradient norm"] == "2"


def test_what_specs_share_is_told_once_and_the_rest_side_by_side():
    table = spec_table([SPEC, replace(SPEC, objective=BetaTCVAE(beta=4.0))])
    assert table.differing["objective"] == ["vae", "beta-tcvae"]
    assert table.differing["objective beta"] == ["–", "4"]
    assert table.differing["objective analytic kl"] == ["–", "no"]
    assert table.shared["batch size"] == "64"
    assert not table.shared.keys() & table.differing.keys()


def test_one_spec_differs_in_nothing():
    assert spec_table([SPEC]).differing == {}


def test_a_label_tells_specs_of_one_objective_apart():
    longer = replace(SPEC, num_steps=2000)
    assert spec_labels([SPEC, longer]) == ["vae, number of steps 1,000", "vae, number of steps 2,000"]
    assert spec_labels([replace(SPEC, objective=BetaTCVAE(beta=b)) for b in (4.0, 6.0)]) == ["beta-tcvae, beta 4", "beta-tcvae, beta 6"]


def test_names_are_put_into_words():
    assert [in_words(name) for name in ("position_x", "num_holes", "scale")] == ["position x", "number of holes", "scale"]
