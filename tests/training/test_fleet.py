import math
from dataclasses import dataclass, replace
from typing import final

import pytest
import torch
from torch import nn
from torch.distributions import Normal
from torch.nn.functional import binary_cross_entropy_with_logits
from torch.utils._pytree import tree_leaves

from tests.training.squares import CONV_SPEC, MLP_SPEC
from tests.training.trained_fleets import ABSURD, alone, seeds_of, trained
from unbraid._internal import draws
from unbraid.models import MLP, Architecture, Autoencoder, encode
from unbraid.models.distributions import ConcreteLatents, GaussianLatents, GroupedLatents
from unbraid.objectives import VAE, BetaTCVAE, BetaVAE
from unbraid.training.fleet import Fleet
from unbraid.training.optimizers import Adam
from unbraid.training.state import Member, fleet_key

SPECS = {"mlp": MLP_SPEC, "conv": CONV_SPEC}


# ---- against a textbook


def textbook(spec, seed, num_steps):
    """beta-TCVAE as one would write it for one model: Chen et al., arXiv:1802.04942v5, eq. 4 with eq. 3, and torch's
    own Adam. The losses are without the constants of eq. 3: log N for each logarithm of an aggregate.
    """
    images, seeds, beta = spec.dataset.load(), torch.tensor([seed]), spec.objective.beta
    N, B = len(images), spec.batch_size
    model = spec.model.build(images.image_shape, seed).double()
    optimizer = torch.optim.Adam(model.parameters(), lr=spec.optimizer.learning_rate)
    losses = []
    for step in range(num_steps):
        epoch, place = divmod(step, N // B)
        rows = draws.permutation(seeds, "batch", epoch, N)[0, place * B : (place + 1) * B]
        x = images.pixels[rows].double() / 255
        mean, log_var = model.encoder(x).chunk(2, dim=1)
        posterior = Normal(mean, (log_var / 2).exp())
        z = mean + posterior.scale * draws.normal(seeds, "noise", step, (B, 3))[0]
        distortion = binary_cross_entropy_with_logits(model.decoder(z), x, reduction="sum") / B
        pairwise = Normal(mean[None], posterior.scale[None]).log_prob(z[:, None])
        log_constant = torch.tensor(N * B, dtype=torch.float64).log()
        log_q_joint = pairwise.sum(dim=2).logsumexp(dim=1) - log_constant
        log_q_product = (pairwise.logsumexp(dim=1) - log_constant).sum(dim=1)
        mutual_information = (posterior.log_prob(z).sum(dim=1) - log_q_joint).mean()
        total_correlation = (log_q_joint - log_q_product).mean()
        dimension_wise_kl = (log_q_product - Normal(0.0, 1.0).log_prob(z).sum(dim=1)).mean()
        loss = distortion + mutual_information + beta * total_correlation + dimension_wise_kl
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item() - math.log(N) * (1 + (3 - 1) * beta - 3))
    return nn.utils.parameters_to_vector(model.parameters()).detach(), losses


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
def test_a_fleet_of_one_is_the_textbook_loop(spec):
    fleet = Fleet([Member(spec, 3)], spec.dataset.load())
    losses = [fleet.advance()["loss"].item() for _ in range(15)]
    expected_weights, expected_losses = textbook(spec, 3, 15)
    assert losses == pytest.approx(expected_losses, rel=1e-8)
    torch.testing.assert_close(fleet.weights[0], expected_weights, rtol=0, atol=1e-8)


# ---- a member is the same in any company


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
def test_a_member_is_the_same_alone_among_three_and_among_eight_in_another_order(spec):
    among_three = trained(seeds_of(spec, 0, 3, 1), 30).weights[1]
    among_eight = trained(seeds_of(spec, 7, 6, 5, 4, 3, 2, 1, 0), 30).weights[4]
    torch.testing.assert_close(among_three, alone(spec, 3, 30), rtol=0, atol=1e-8)
    torch.testing.assert_close(among_eight, alone(spec, 3, 30), rtol=0, atol=1e-8)
    assert not torch.allclose(among_three, trained(seeds_of(spec, 0, 3, 1), 30).weights[0], atol=1e-2)


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
@pytest.mark.slow
def test_in_float32_company_costs_small_nets_less_than_a_hundredth_of_a_step(spec):
    # Measured on these nets: nothing for the MLP, 5e-8 for the convolutions, where a step is 1e-3 long. The full nets,
    # whose sums are longer, drift further: docs/runs.md says how far.
    spec = replace(spec, precision="float32")
    among_three = trained(seeds_of(spec, 0, 3, 1), 30).weights[1]
    torch.testing.assert_close(among_three, alone(spec, 3, 30), rtol=0, atol=1e-5)


def test_a_sweep_in_one_fleet_equals_single_runs():
    rates = {(1.0, 1e-3), (40.0, 1e-3), (40.0, 1e-2)}
    swept = [replace(MLP_SPEC, objective=BetaTCVAE(beta=beta), optimizer=Adam(rate)) for beta, rate in sorted(rates)]
    weights = trained(tuple(Member(spec, 0) for spec in swept)).weights
    for row, spec in zip(weights, swept, strict=True):
        torch.testing.assert_close(row, alone(spec, 0), rtol=0, atol=1e-8)
    assert not torch.allclose(weights[0], weights[1], atol=1e-3)
    assert not torch.allclose(weights[1], weights[2], atol=1e-3)


def test_vae_and_beta_vae_and_beta_tcvae_share_a_fleet_and_stay_what_they_are():
    kin = [
        replace(MLP_SPEC, objective=objective)
        for objective in (VAE(), BetaVAE(beta=8.0), BetaTCVAE(), BetaTCVAE(analytic_kl=True))
    ]
    assert len({fleet_key(spec) for spec in kin}) == 1
    weights = trained(tuple(Member(spec, 0) for spec in kin)).weights
    for row, spec in zip(weights, kin, strict=True):
        torch.testing.assert_close(row, alone(spec, 0), rtol=0, atol=1e-8)


def test_clipping_is_by_member():
    spec = replace(MLP_SPEC, max_gradient_norm=1.0)
    gentle, steep = replace(spec, objective=BetaVAE(beta=0.1)), replace(spec, objective=BetaVAE(beta=1000.0))
    together = trained((Member(gentle, 0), Member(steep, 0))).weights
    torch.testing.assert_close(together[0], alone(gentle, 0), rtol=0, atol=1e-8)
    torch.testing.assert_close(together[1], alone(steep, 0), rtol=0, atol=1e-8)
    assert not torch.allclose(together[1], alone(replace(steep, max_gradient_norm=None), 0), atol=1e-4)


@pytest.mark.parametrize("weights", [None, torch.full((36,), 1 / 36)], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
def test_every_tensor_is_made_where_the_images_are(spec, weights):
    # What is made without naming a device lands on "meta", whose tensors hold nothing and mix with no others.
    images = replace(spec.dataset.load(), weights=weights)
    with torch.device("meta"):
        fleet = Fleet(seeds_of(replace(spec, max_gradient_norm=1.0), 0, 1), images)
        losses = fleet.advance()
        fleet.restore([fleet.state(0), fleet.state(1)])
        codes = encode(fleet.model(0), images)
    assert {tensor.device.type for tensor in (*losses.values(), fleet.weights, fleet.alive, codes.mean)} == {"cpu"}


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
def test_a_member_is_the_same_on_the_gpu(spec):
    # 1e-6, not 1e-8: a GPU sums in another order, and Adam divides by the root of small second moments.
    here, there = trained(seeds_of(spec, 3, 1)), trained(seeds_of(spec, 3, 1), device="cuda")
    torch.testing.assert_close(there.weights.cpu(), here.weights, rtol=0, atol=1e-6)
    assert {tensor.device.type for tensor in tree_leaves(there.state(0).tensors)} == {"cpu"}


# ---- leaving and joining


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_a_fleet_goes_on_from_its_states_to_the_same_bits(precision):
    members = tuple(
        Member(replace(spec, precision=precision), seed) for seed, spec in enumerate((MLP_SPEC, ABSURD, MLP_SPEC))
    )
    undisturbed = trained(members, 10)
    left, joined = trained(members, 3), Fleet(members, MLP_SPEC.dataset.load())
    joined.restore([left.state(index) for index in range(3)])
    assert joined.step == 3
    for _ in range(7):
        joined.advance()
    assert torch.equal(joined.weights, undisturbed.weights)
    assert torch.equal(joined.alive, undisturbed.alive)
    assert [joined.state(index).failed_at for index in range(3)] == [
        undisturbed.state(index).failed_at for index in range(3)
    ]


def test_a_state_is_a_copy():
    fleet = Fleet([Member(MLP_SPEC, 0)], MLP_SPEC.dataset.load())
    state, model = fleet.state(0), fleet.model(0)
    before = [tensor.clone() for tensor in (*tree_leaves(state.tensors), *model.state_dict().values())]
    fleet.advance()
    after = [*tree_leaves(state.tensors), *model.state_dict().values()]
    assert all(torch.equal(a, b) for a, b in zip(before, after, strict=True))


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
def test_a_member_can_be_taken_out_as_a_plain_model(spec):
    fleet = trained(seeds_of(spec, 4, 5), 3)
    model = fleet.model(1)
    torch.testing.assert_close(
        nn.utils.parameters_to_vector(model.parameters()).detach(), fleet.weights[1], rtol=0, atol=0
    )
    assert model.decode(torch.zeros(2, 3, dtype=torch.float64)).shape == (2, *spec.dataset.image_shape)


# ---- nets with constants


class _Centered(nn.Module):
    """A module with a buffer that training leaves alone."""

    def __init__(self, num_pixels: int) -> None:
        super().__init__()
        self.register_buffer("gray", torch.full((num_pixels,), 0.5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.flatten(1) - self.gray


@final
@dataclass(frozen=True)
class CenteredMLP(Architecture):
    """An architecture of somebody's own."""

    def make_encoder(self, image_shape, latents):
        num_pixels = image_shape[1] * image_shape[2]
        return nn.Sequential(_Centered(num_pixels), nn.Linear(num_pixels, latents.num_parameters))

    def make_decoder(self, num_inputs, image_shape):
        return MLP(hidden=(4,), decoder_hidden=(4,)).make_decoder(num_inputs, image_shape)


def test_a_net_may_hold_constants():
    spec = replace(MLP_SPEC, model=Autoencoder(encoder=CenteredMLP(), latents=GaussianLatents(3)))
    model = trained(seeds_of(spec, 0, 1), 2).model(1)
    assert model.encode(torch.zeros(2, 1, 8, 8, dtype=torch.float64)).mean.dtype == torch.float64


# ---- discrete latents


def first_losses(hard, temperature, measure="pmf"):
    parts = (GaussianLatents(2), ConcreteLatents(3, temperature, measure, hard=hard))
    spec = replace(MLP_SPEC, model=replace(MLP_SPEC.model, latents=GroupedLatents(parts)), objective=VAE())
    return {name: value.item() for name, value in Fleet(seeds_of(spec, 0), spec.dataset.load()).advance().items()}


def test_a_decoder_that_sees_categories_does_not_see_their_temperature():
    """The category drawn is the same at any temperature, and its relaxation is not."""
    assert first_losses(True, 0.3) == first_losses(True, 3.0)
    assert first_losses(False, 0.3)["distortion"] != first_losses(False, 3.0)["distortion"]


def test_with_hard_decoding_a_density_is_still_that_of_the_relaxed_code():
    """So every measure goes with both ways of decoding."""
    hard, relaxed = (first_losses(hard, 0.66, "density") for hard in (True, False))
    assert hard["rate"] == relaxed["rate"]
    assert hard["distortion"] != relaxed["distortion"]
