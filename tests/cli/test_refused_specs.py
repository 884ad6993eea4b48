"""Specs that make no sense: refused when they are built, in Python and at the command line, before anything is trained
or written.
"""

from dataclasses import dataclass
from typing import Any

import pytest
from torch import nn

from tests.training.squares import Squares
from unbraid.config.schedule import Linear
from unbraid.datasets import DSprites
from unbraid.errors import SpecError
from unbraid.models import MLP, Architecture, Autoencoder, Conv, SharingConv, SplitConv
from unbraid.models.distributions import (
    BernoulliLatents,
    ConcreteLatents,
    CorrelatedGaussianLatents,
    DeterministicLatents,
    GaussianLatents,
    GroupedLatents,
    LearnedCategories,
)
from unbraid.objectives import HFVAE, VAE, DecomposedELBO, FactorVAE
from unbraid.training import Critic
from unbraid.training.runs import RunSpec

DATA = ("--dataset", "dsprites", "--dataset.resolution", "32")
IMAGES = DSprites(resolution=32)


def hfvae(groups):
    return lambda: RunSpec(IMAGES, Autoencoder(latents=GaussianLatents(3)), HFVAE(groups=groups))


def with_latents(latents, encoder=MLP):
    return lambda: RunSpec(IMAGES, Autoencoder(encoder(), latents=latents()), VAE())


CASES = {
    "a group tree that misses a latent": (
        hfvae(((0,), (2,))),
        ("--model.latents.size", "3", "--objective", "hfvae", "--objective.groups", "0;2"),
        r"missing \[1\]",
    ),
    "a group tree that repeats a latent": (
        hfvae(((0, 1), (1, 2))),
        ("--model.latents.size", "3", "--objective", "hfvae", "--objective.groups", "0,1;1,2"),
        r"repeated \[1\]",
    ),
    "a group tree with a latent that is not there": (
        lambda: RunSpec(IMAGES, Autoencoder(latents=GaussianLatents(3)), DecomposedELBO(groups=((0, 1, 2), (3,)))),
        ("--model.latents.size", "3", "--objective", "decomposed-elbo", "--objective.groups", "0,1,2;3"),
        r"unknown \[3\]",
    ),
    "steps beyond 64 bits": (
        lambda: RunSpec(IMAGES, num_steps=10**30),
        ("--steps", str(10**30)),
        "num_steps is beyond 64 bits; expected an integer",
    ),
    "a net beyond all memory": (
        lambda: RunSpec(IMAGES, Autoencoder(MLP(hidden=(10**18,)))),
        ("--model.encoder.hidden", str(10**18)),
        "nets of this spec cannot be built .*fewer channels, units or latents",
    ),
    "a critic beyond all memory": (
        lambda: RunSpec(IMAGES, objective=FactorVAE(), critic=Critic(hidden=(10**18,))),
        ("--objective", "factor-vae", "--critic.hidden", str(10**18)),
        "nets of this spec cannot be built .*fewer channels, units or latents",
    ),
    "a temperature of 0": (
        with_latents(lambda: ConcreteLatents(temperature=0.0)),
        ("--model.latents", "concrete", "--model.latents.temperature", "0"),
        r"temperature is 0",
    ),
    "a temperature that falls to 0": (
        with_latents(lambda: BernoulliLatents(temperature=Linear(1.0, 0.0))),
        ("--model.latents", "bernoulli", "--model.latents.temperature", "linear:1:0"),
        r"temperature is Linear",
    ),
    "a rho of 1": (
        with_latents(lambda: CorrelatedGaussianLatents(rho=1.0)),
        ("--model.latents", "correlated-gaussian", "--model.latents.rho", "1"),
        r"rho is 1",
    ),
    "a negative rho": (
        with_latents(lambda: CorrelatedGaussianLatents(rho=-0.1)),
        ("--model.latents", "correlated-gaussian", "--model.latents.rho", "-0.1"),
        r"rho is -0.1",
    ),
    "a critic on an objective without one": (
        lambda: RunSpec(IMAGES, objective=VAE(), critic=Critic()),
        ("--objective", "vae", "--critic.hidden", "8"),
        r"VAE.*critic",
    ),
    "a categorical prior of the wrong size": (
        with_latents(lambda: ConcreteLatents(3, prior=LearnedCategories((0.5, 0.5)))),
        (
            *("--model.latents", "concrete", "--model.latents.categories", "3"),
            *("--model.latents.prior", "learned-categories", "--model.latents.prior.initial", "0.5,0.5"),
        ),
        r"2 probabilities; expected 3",
    ),
    "an encoder whose maps do not fit the posterior": (
        with_latents(lambda: GaussianLatents(3), SharingConv),
        ("--model.encoder", "sharing-conv", "--model.latents.size", "3"),
        r"have 6 .*multiple of 4",
    ),
    "images of a size that a net cannot take": (
        lambda: RunSpec(DSprites(resolution=8), Autoencoder(Conv())),
        ("--dataset.resolution", "8", "--model.encoder", "conv"),
        r"1 x 8 x 8 .*16 to 256 .*MLP",
    ),
    "images of a size that the decoder cannot take": (
        lambda: RunSpec(DSprites(resolution=8), Autoencoder(MLP(), SplitConv())),
        ("--dataset.resolution", "8", "--model.decoder", "split-conv"),
        r"1 x 8 x 8 .*16 to 256 .*MLP",
    ),
    "a density of codes that have none": (
        with_latents(DeterministicLatents),
        ("--model.latents", "deterministic", "--objective", "vae"),
        r"VAE.* AAE",
    ),
    "a total correlation of one latent": (
        lambda: RunSpec(IMAGES, Autoencoder(latents=GaussianLatents(1)), FactorVAE()),
        ("--model.latents.size", "1", "--objective", "factor-vae"),
        r"1 latent",
    ),
    "discrete latents before continuous ones": (
        with_latents(lambda: GroupedLatents((ConcreteLatents(), GaussianLatents()))),
        ("--model.latents", "grouped", "--model.latents.parts", "concrete,gaussian"),
        r"ConcreteLatents, GaussianLatents",
    ),
}
every_case = pytest.mark.parametrize(("build", "typed", "message"), CASES.values(), ids=CASES)


@every_case
def test_the_spec_cannot_be_built(build, typed, message):
    with pytest.raises(SpecError, match=message):
        build()


@every_case
def test_the_command_line_says_so_in_a_line_and_writes_nothing(unbraid, tmp_path, monkeypatch, build, typed, message):
    monkeypatch.chdir(tmp_path)
    arguments = [*(DATA[:2] if "--dataset.resolution" in typed else DATA), *typed]
    outcome = unbraid("train", *arguments)
    assert outcome.code == 2
    assert outcome.err.startswith("Error: ")
    assert outcome.err.count("\n") == 1
    with pytest.raises(SpecError, match=message):
        raise SpecError(outcome.err)
    assert list(tmp_path.iterdir()) == []


@dataclass(frozen=True)
class TooFew(Architecture):
    """A net of one's own that puts out a mean for each latent, and nothing else."""

    def make_encoder(self, image_shape: Any, latents: Any) -> nn.Module:
        return nn.Sequential(nn.Flatten(), nn.Linear(64, latents.num_latents))

    def make_decoder(self, num_inputs: int, image_shape: Any) -> nn.Module:
        return nn.Sequential(nn.Linear(num_inputs, 64), nn.Unflatten(1, image_shape))


def test_an_encoder_of_ones_own_whose_output_does_not_fit_the_posterior_is_refused():
    with pytest.raises(SpecError, match="outputs 3 numbers.*GaussianLatents"):
        RunSpec(Squares(), Autoencoder(TooFew(), latents=GaussianLatents(3)), VAE(), batch_size=8)
    RunSpec(Squares(), Autoencoder(MLP(), TooFew(), latents=GaussianLatents(3)), VAE(), batch_size=8)
