import functools
import math
from dataclasses import dataclass, replace
from typing import final

import pytest
import torch
from torch import nn
from torch.distributions import Normal
from torch.nn.functional import binary_cross_entropy_with_logits
from torch.utils._pytree import tree_leaves

from tests.training.squares import CONV_SPEC, MLP_SPEC, Squares
from unbraid import draws
from unbraid.distributions import ConcreteLatents, GaussianLatents, GaussianLikelihood, GroupedLatents
from unbraid.models import MLP, Architecture, Autoencoder, encode
from unbraid.objectives import VAE, BetaTCVAE, BetaVAE, Loss, Objective, Step
from unbraid.optimisers import Adagrad, Adam
from unbraid.training.batches import Batches
from unbraid.training.fleet import Fleet
from unbraid.training.state import Member, fleet_key

SPECS = {"mlp": MLP_SPEC, "conv": CONV_SPEC}


@functools.cache
def trained(members, num_steps=10, device="cpu"):
    """A fleet after so many steps. Shared between tests: read it, do not advance it."""
    fleet = Fleet(members, members[0].spec.dataset.load(device))
    for _ in range(num_steps):
        fleet.advance()
    return fleet


def alone(spec, seed, num_steps=10):
    return trained((Member(spec, seed),), num_steps).weights[0]


def seeds_of(spec, *seeds):
    return tuple(Member(spec, seed) for seed in seeds)


# ---- against a textbook


def textbook(spec, seed, num_steps):
    """beta-TCVAE as one would write it for one model: Chen et al., arXiv:1802.04942v5, eq. 4 with eq. 3, and torch's
    own Adam. The losses are without the constants of eq. 3: log N for each logarithm of an aggregate.
    """
    images, seeds, beta = spec.dataset.load(), torch.tensor([seed]), spec.objective.beta
    N, B = len(images), spec.batch_size
    model = spec.model.build(images.image_shape, seed).double()
    optimiser = torch.optim.Adam(model.parameters(), lr=spec.optimiser.learning_rate)
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
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
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
    swept = [replace(MLP_SPEC, objective=BetaTCVAE(beta=beta), optimiser=Adam(rate)) for beta, rate in sorted(rates)]
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
    assert {tensor.device.type for tensor in tree_leaves(there.state(0).carried)} == {"cpu"}


# ---- who may share


@pytest.mark.parametrize(
    "changes",
    [
        {"optimiser": Adam(0.5)},
        {"objective": BetaTCVAE(beta=1.0)},
        {"objective": BetaTCVAE(alpha=2.0, gamma=3.0)},
        {"objective": VAE()},
    ],
    ids=str,
)
def test_floats_may_differ_in_a_fleet(changes):
    assert fleet_key(replace(MLP_SPEC, **changes)) == fleet_key(MLP_SPEC)


@pytest.mark.parametrize(
    "changes",
    [
        {"batch_size": 9},
        {"num_steps": 51},
        {"precision": "float32"},
        {"max_gradient_norm": 1.0},
        {"optimiser": Adam(betas=(0.5, 0.999))},
        {"optimiser": Adam(epsilon=1e-4)},
        {"optimiser": Adagrad(1e-3)},
        {"dataset": Squares(16)},
        {"objective": BetaTCVAE(estimator="mss")},
        {"model": Autoencoder(encoder=MLP(hidden=(13,), decoder_hidden=(12,)), latents=GaussianLatents(3))},
        {"model": replace(MLP_SPEC.model, latents=GaussianLatents(4))},
        {"model": replace(MLP_SPEC.model, likelihood=GaussianLikelihood())},
    ],
    ids=str,
)
def test_all_else_splits_a_fleet(changes):
    assert fleet_key(replace(MLP_SPEC, **changes)) != fleet_key(MLP_SPEC)


@final
@dataclass(frozen=True)
class Steep(Objective):
    """An objective of somebody's own. It is linear in the codes, so its gradient is as large as one likes while the
    loss is finite.
    """

    slope: float = 1.0

    def __call__(self, step: Step) -> Loss:
        total = -step.log_likelihood.mean() + self.slope * step.posterior.mean.sum(dim=1).mean()
        return Loss(total, {"progress": step.progress, "num_images": torch.full_like(total, step.dataset_size)})


def namesake():
    @final
    @dataclass(frozen=True)
    class Steep(Objective):
        slope: float = 1.0

        def __call__(self, step: Step) -> Loss:
            return Loss(step.z.sum(), {})

    Steep.__qualname__ = "Steep"
    Steep.__module__ = "elsewhere"
    return Steep


def test_classes_of_one_name_from_two_modules_do_not_share():
    assert fleet_key(replace(MLP_SPEC, objective=Steep())) != fleet_key(replace(MLP_SPEC, objective=namesake()()))


def test_an_objective_of_ones_own_is_swept_too_and_told_how_far_training_is():
    members = [Member(replace(MLP_SPEC, num_steps=5, objective=Steep(slope=slope)), 0) for slope in (1.0, 2.0)]
    assert len({fleet_key(member.spec) for member in members}) == 1
    fleet = Fleet(members, MLP_SPEC.dataset.load())
    losses = [fleet.advance() for _ in range(5)]
    assert [parts["progress"].tolist() for parts in losses] == [[p, p] for p in (0.0, 0.25, 0.5, 0.75, 1.0)]
    assert losses[0]["num_images"].tolist() == [36, 36]
    assert losses[-1]["loss"][0] != losses[-1]["loss"][1]


@final
@dataclass(frozen=True)
class Weighed(Objective):
    """Tells what it was shown."""

    def __call__(self, step: Step) -> Loss:
        return Loss(-step.log_likelihood.mean(), {"probability": step.weights.sum(), "light": step.x.sum()})


def test_weighted_images_are_shown_with_their_probabilities():
    weights = torch.linspace(0, 1, 36) / 18
    images = replace(MLP_SPEC.dataset.load(), weights=weights)
    fleet = Fleet(seeds_of(replace(MLP_SPEC, objective=Weighed()), 4, 5), images)
    batches = Batches(torch.tensor([4, 5]), 36, MLP_SPEC.batch_size, weights)
    for step in range(3):
        shown, rows = fleet.advance(), batches.rows(step)
        torch.testing.assert_close(shown["probability"], weights[rows].double().sum(dim=1))
        torch.testing.assert_close(shown["light"], images.batch(rows).double().sum(dim=(1, 2, 3, 4)))


# ---- members that fail

ABSURD = replace(MLP_SPEC, optimiser=Adam(1e30))
"""Its first step leads to weights of 1e30, from which the second loss is not finite."""


def test_a_member_that_diverges_keeps_its_last_good_weights_and_the_others_go_on_as_if_it_were_not_there():
    fleet = Fleet([Member(MLP_SPEC, 0), Member(ABSURD, 1), Member(MLP_SPEC, 2)], MLP_SPEC.dataset.load())
    fleet.advance()
    last_good = fleet.weights[1].clone()
    for _ in range(9):
        fleet.advance()
    assert fleet.alive.tolist() == [True, False, True]
    assert torch.equal(fleet.weights[1], last_good)
    assert bool(last_good.isfinite().all())
    without = trained(seeds_of(MLP_SPEC, 0, 2)).weights
    torch.testing.assert_close(fleet.weights[[0, 2]], without, rtol=0, atol=1e-12)


def test_the_step_at_which_a_member_failed_is_counted_as_in_its_history():
    fleet = trained((Member(MLP_SPEC, 0), Member(ABSURD, 1)), 3)
    assert [fleet.state(index).failed_at for index in (0, 1)] == [None, 2]


def test_a_gradient_whose_square_overflows_is_a_failure_and_not_a_standstill():
    # 1e25 is a float32 and its square is not: the second moment would be infinite for ever, and every step 0 long.
    spec = replace(MLP_SPEC, precision="float32", objective=Steep(slope=1e25))
    fleet = Fleet([Member(spec, 0)], spec.dataset.load())
    assert bool(fleet.advance()["loss"].isfinite())
    assert not bool(fleet.alive.any())
    moments = fleet.state(0).carried.model.memory["second_moment"].values()
    assert moments
    assert all(bool(moment.isfinite().all()) for moment in moments)


HASTY = replace(MLP_SPEC, optimiser=Adam(1.0))
"""From seed 1 its losses are 81, then 2e4, then 3e7: finite, and no use."""


@pytest.mark.parametrize(("max_loss", "failed_at"), [(1e3, 2), (1e5, 3)])
def test_a_member_whose_loss_is_above_the_most_allowed_is_stopped_alone_at_that_step(max_loss, failed_at):
    images = MLP_SPEC.dataset.load()
    limited, free = (
        Fleet(
            [Member(replace(spec, max_loss=most), seed) for seed, spec in enumerate((MLP_SPEC, HASTY, MLP_SPEC))],
            images,
        )
        for most in (max_loss, MLP_SPEC.max_loss)
    )
    for step in range(1, 6):
        if step == failed_at:
            last_good = limited.weights[1].clone()
        losses = limited.advance()["loss"]
        assert torch.equal(losses[[0, 2]], free.advance()["loss"][[0, 2]])
        assert bool(losses[1] <= max_loss) == (step < failed_at)
    assert [limited.failed_at(index) for index in range(3)] == [None, failed_at, None]
    assert bool(free.alive.all())
    assert torch.equal(limited.weights[1], last_good)
    assert torch.equal(limited.weights[[0, 2]], free.weights[[0, 2]])
    torch.testing.assert_close(
        limited.weights[[0, 2]], trained(seeds_of(MLP_SPEC, 0, 2), 5).weights, rtol=0, atol=1e-12
    )


def test_the_most_a_loss_may_be_is_allowed():
    first = float(Fleet(seeds_of(MLP_SPEC, 0), MLP_SPEC.dataset.load()).advance()["loss"])
    for max_loss, is_alive in ((first, True), (first - 1e-9, False)):
        fleet = trained(seeds_of(replace(MLP_SPEC, max_loss=max_loss), 0), 1)
        assert fleet.alive.tolist() == [is_alive]


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
    before = [tensor.clone() for tensor in (*tree_leaves(state.carried), *model.state_dict().values())]
    fleet.advance()
    after = [*tree_leaves(state.carried), *model.state_dict().values()]
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


class _Centred(nn.Module):
    """A module with a buffer that training leaves alone."""

    def __init__(self, num_pixels: int) -> None:
        super().__init__()
        self.register_buffer("grey", torch.full((num_pixels,), 0.5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.flatten(1) - self.grey


@final
@dataclass(frozen=True)
class CentredMLP(Architecture):
    """An architecture of somebody's own."""

    def make_encoder(self, image_shape, latents):
        num_pixels = image_shape[1] * image_shape[2]
        return nn.Sequential(_Centred(num_pixels), nn.Linear(num_pixels, latents.num_parameters))

    def make_decoder(self, num_inputs, image_shape):
        return MLP(hidden=(4,), decoder_hidden=(4,)).make_decoder(num_inputs, image_shape)


def test_a_net_may_hold_constants():
    spec = replace(MLP_SPEC, model=Autoencoder(encoder=CentredMLP(), latents=GaussianLatents(3)))
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
