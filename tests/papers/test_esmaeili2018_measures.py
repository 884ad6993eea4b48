"""The HFVAE as its authors' library has it, which parts of it differ, and the curves of figure 6."""

import math
from dataclasses import dataclass

import pytest
import torch

from tests.papers.test_shared_runs import metrics_of, runs_of
from unbraid import Codes
from unbraid.distributions import ConcreteLatents, ConditionalLatents, GaussianLatents, GroupedLatents
from unbraid.errors import SpecError
from unbraid.models import Autoencoder
from unbraid.objectives import HFVAE
from unbraid.objectives.objective import Step
from unbraid.papers.esmaeili2018.combinations import COMBINATIONS, combined
from unbraid.papers.esmaeili2018.figure6_curve import DEAD, INFORMATION, PRUNED, examined
from unbraid.papers.esmaeili2018.mixed_measures import MixedMeasures, mixed_decomposition
from unbraid.runs.history import History

BATCH, SIZE = 4, 50


def step_of(latents) -> Step:
    generator = torch.Generator().manual_seed(0)
    randn = lambda *shape: torch.randn(*shape, dtype=torch.float64, generator=generator)  # noqa: E731
    end = torch.ones((), dtype=torch.float64)
    posterior = latents.posterior(randn(BATCH, latents.num_parameters), end)
    return Step(
        x=torch.zeros(BATCH, 1, 2, 2, dtype=torch.float64),
        posterior=posterior,
        z=posterior.rsample(randn(BATCH, latents.num_noise)),
        log_likelihood=randn(BATCH),
        prior=latents.make_prior().double()(),
        dataset_size=SIZE,
        progress=end,
        groups=latents.groups,
        widths=latents.widths,
    )


def mixture(log_table):
    """log q^ by eq. 13, from log q(z_i | x_j)."""
    weights = torch.full((BATCH, BATCH), (SIZE - 1) / (SIZE * (BATCH - 1)), dtype=torch.float64)
    weights.fill_diagonal_(1 / SIZE)
    return (log_table + weights.log()).logsumexp(dim=1)


def test_the_mixture_has_densities_and_probabilities_where_the_library_has_them():
    step = step_of(GroupedLatents((GaussianLatents(2), ConcreteLatents(3, measure="density"))))
    style, category = step.posterior.parts
    z, shares = step.z[:, :2], step.z[:, 2:]
    log_q, log_p = style.log_prob(z), -0.5 * (z.square() + math.log(2 * math.pi))
    pmf = category.logits.log_softmax(dim=1)
    drawn = shares.argmax(dim=1)
    pairs, pmf_pairs = style.pairwise_log_prob(z), pmf.T[drawn]
    density = category.log_prob(shares)[:, 0]
    of_prior = step.prior.parts[1].log_prob(shares)[:, 0]
    joint, of_style, of_category = mixture(pairs.sum(2) + pmf_pairs), mixture(pairs.sum(2)), mixture(pmf_pairs)
    each = mixture(pairs[..., 0]) + mixture(pairs[..., 1]) + of_category
    found = mixed_decomposition(step)
    torch.testing.assert_close(found.mutual_information, log_q.sum(1) + density - joint)
    torch.testing.assert_close(found.total_correlation, joint - of_style - of_category)
    within = (of_style + of_category - each) - (log_p.sum(1) + of_prior - (log_p.sum(1) - math.log(3)))
    torch.testing.assert_close(found.total_correlation_within, within)
    torch.testing.assert_close(found.dimension_wise_kl, each - (log_p.sum(1) - math.log(3)))


def test_without_a_discrete_latent_s_density_it_is_refused():
    for latents in (GaussianLatents(2), GroupedLatents((GaussianLatents(2), ConcreteLatents(3)))):
        with pytest.raises(SpecError, match='no discrete latent with measure="density"'):
            MixedMeasures().check(Autoencoder(latents=latents))
    for heads in (ConditionalLatents, lambda *parts: GroupedLatents(parts)):
        MixedMeasures().check(Autoencoder(latents=heads(GaussianLatents(2), ConcreteLatents(3, measure="density"))))


def test_what_is_logged_is_that_of_an_hfvae_and_the_loss_is_not():
    step = step_of(GroupedLatents((GaussianLatents(2), ConcreteLatents(3, measure="density"))))
    mixed, plain = MixedMeasures(alpha=1.0, beta=4.0, gamma=3.0)(step), HFVAE(alpha=1.0, beta=4.0, gamma=3.0)(step)
    torch.testing.assert_close(mixed.parts, plain.parts)
    assert abs((mixed.total - plain.total).item()) > 0.1


def test_the_combination_as_stated_is_the_hfvae_of_table_2_and_of_labels():
    assert len({combined(*how, 3, (1.0, 4.0, 3.0)) for how in COMBINATIONS.values()}) == 4
    for scale in ("smoke", "quick"):
        for small, large in (("table2", "table2-combinations"), ("labels", "labels-combinations")):
            shared = runs_of(f"esmaeili2018/{small}", scale) & runs_of(f"esmaeili2018/{large}", scale)
            assert len(shared) == (1 if scale == "smoke" else 8) * (2 if small == "labels" else 1)
            assert metrics_of(f"esmaeili2018/{small}", scale) == metrics_of(f"esmaeili2018/{large}", scale)


@dataclass
class Trained:
    """Has what is read of a run: latent 0 says much, latent 1 did, the others never did."""

    num_steps: int = 100

    @property
    def spec(self):
        return self

    @property
    def history(self) -> History:
        history = History()
        for step, second in ((10, 0.0), (50, 1.5), (100, 0.0)):
            values = [3.0, second, *([0.0] * 8)]
            history.append(step, {f"information_z{latent}": value for latent, value in enumerate(values)})
        return history

    def codes(self) -> Codes:
        mean = torch.zeros(200, 10, dtype=torch.float64)
        mean[:, 0] = torch.linspace(-2, 2, 200, dtype=torch.float64)
        return Codes(mean=mean, std=torch.cat([torch.full((200, 1), 0.1), torch.ones(200, 9)], dim=1).double())


def test_latents_that_lost_what_they_said_are_told_from_those_that_never_said_anything():
    found = examined(Trained())
    assert found[DEAD] == 9
    assert found[PRUNED] == pytest.approx(1 / 9)
    assert (found[f"{INFORMATION}:1 at 50 %"], found[f"{INFORMATION}:2 at 50 %"]) == (3.0, 1.5)
    assert found[f"{INFORMATION}:2 at 100 %"] == 0.0
