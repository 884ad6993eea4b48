"""Short names for specs."""

from dataclasses import replace

from unbraid.cli.labels import objective_label, spec_labels
from unbraid.data import DSprites
from unbraid.models import Autoencoder, Conv
from unbraid.objectives import VAE, BetaTCVAE, BetaVAE
from unbraid.runs import RunSpec

SPEC = RunSpec(DSprites(), objective=VAE())


def test_an_objective_is_named_with_the_weights_that_matter():
    assert objective_label(VAE()) == "vae"
    assert objective_label(BetaVAE()) == "beta-vae beta=4"
    assert objective_label(BetaVAE(beta=1.0)) == "beta-vae beta=1"
    assert objective_label(BetaTCVAE(beta=6.0, alpha=0.5, estimator="mss")) == "beta-tcvae alpha=0.5 beta=6 estimator=mss"


def test_specs_that_differ_in_the_objective_alone_are_named_by_it():
    other = replace(SPEC, objective=BetaVAE())
    assert spec_labels([SPEC, other]) == {SPEC.digest: "vae", other.digest: "beta-vae beta=4"}


def test_whatever_else_differs_is_told():
    other = replace(SPEC, learning_rate=1e-4, model=Autoencoder(Conv()))
    labels = spec_labels([SPEC, other])
    assert labels[SPEC.digest].startswith("vae learning_rate=0.001 model.encoder.")
    assert "learning_rate=0.0001" in labels[other.digest]
    assert len(set(labels.values())) == 2
