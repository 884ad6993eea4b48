from dataclasses import replace

from unbraid.datasets import DSprites
from unbraid.models import MLP, Autoencoder
from unbraid.models.distributions import GaussianLatents
from unbraid.objectives import VAE, BetaTCVAE
from unbraid.show.report.spec_table import flag_of, spec_table
from unbraid.training.optimizers import Adam
from unbraid.training.runs import RunSpec

HEARTS = DSprites(resolution=32, shapes=("heart",), num_scales=6, num_orientations=1, num_positions=16)
SPEC = RunSpec(
    HEARTS, Autoencoder(MLP(hidden=(128, 64)), latents=GaussianLatents(6)), VAE(), num_steps=1000, optimizer=Adam(3e-4)
)


def test_what_specs_share_is_told_once_and_the_rest_side_by_side():
    table = spec_table([SPEC, replace(SPEC, objective=BetaTCVAE(beta=4.0))])
    assert table.differing == {"--objective": ["vae", "beta-tcvae"], "--objective.beta": ["", "4"]}
    assert table.shared["--batch-size"] == "64"
    assert table.shared["--model.encoder.hidden"] == "128,64"
    assert not table.shared.keys() & table.differing.keys()


def test_what_only_one_objective_has_and_nobody_changed_is_no_difference():
    table = spec_table([SPEC, replace(SPEC, objective=BetaTCVAE(beta=4.0))])
    assert table.shared["--objective.analytic-kl"] == "false (beta-tcvae)"


def test_one_spec_differs_in_nothing():
    assert spec_table([SPEC]).differing == {}


def test_fields_are_named_as_one_types_them():
    assert flag_of("objective.analytic_kl") == "--objective.analytic-kl"
