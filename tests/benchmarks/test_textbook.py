"""The textbook loop trains the same thing as a fleet: its losses are ours, written again."""

import pytest
import torch

from benchmarks.evidence import SMALL_SPRITES
from benchmarks.textbook import _beta_tcvae_loss, _forward, _vae_loss, textbook_step
from unbraid import MLP, VAE, Autoencoder, BetaTCVAE, RunSpec
from unbraid.objectives import AAE, FactorVAE, Step
from unbraid.training import Critic

MODEL = Autoencoder(MLP((8,), (8,)))


def spec_of(objective, critic=None):
    return RunSpec(SMALL_SPRITES, MODEL, objective, critic, batch_size=16)


@pytest.mark.parametrize(
    ("objective", "loss"),
    [
        (VAE(), _vae_loss),
        (BetaTCVAE(beta=6.0), lambda *of: _beta_tcvae_loss(*of, beta=6.0, dataset_size=SMALL_SPRITES.num_images)),
    ],
)
def test_losses_are_those_of_the_objectives(objective, loss):
    images = SMALL_SPRITES.load()
    net, x = MODEL.build(images.image_shape, seed=0), images.batch(torch.arange(16))
    with torch.random.fork_rng():
        torch.manual_seed(0)
        logits, mean, log_var, z = _forward(net, x)
    ours = objective(
        Step(
            x=x,
            posterior=net.encode(x),
            z=z,
            log_likelihood=net.likelihood.log_prob(x, logits),
            prior=net.prior,
            dataset_size=len(images),
            progress=torch.tensor(0.0),
        )
    )
    torch.testing.assert_close(loss(x, logits, mean, log_var, z), ours.total)


@pytest.mark.parametrize("spec", [spec_of(VAE()), spec_of(BetaTCVAE()), spec_of(FactorVAE(), Critic(hidden=(8,)))])
def test_a_step_changes_the_weights(spec, monkeypatch):
    built = []
    build = Autoencoder.build
    monkeypatch.setattr(Autoencoder, "build", lambda *of: built.append(build(*of)) or built[0])
    step = textbook_step(spec, SMALL_SPRITES.load())
    before = torch.nn.utils.parameters_to_vector(built[0].parameters()).detach().clone()
    with torch.random.fork_rng():  # a textbook draws from it
        torch.manual_seed(0)
        step()
    assert not torch.equal(torch.nn.utils.parameters_to_vector(built[0].parameters()), before)


def test_what_is_in_no_textbook_is_refused():
    with pytest.raises(ValueError, match="AAE"):
        textbook_step(spec_of(AAE(), Critic(hidden=(8,))), SMALL_SPRITES.load())
