"""The benchmark measures what it says: every objective has a row, and a row is two fleets that take steps."""

from benchmarks.objective_speed import LIMIT, LIMIT_WITH_CRITIC, SMALL, Row, every_row, measure
from tests.discovery import concrete_subclasses
from unbraid import MLP, VAE, Autoencoder
from unbraid.objectives import FactorVAE, Objective

NET = Autoencoder(MLP(hidden=(8,)))


def test_every_objective_has_a_row():
    assert {type(row.objective) for row in every_row()} == set(concrete_subclasses(Objective))
    names = [(row.name, type(row.model.encoder)) for row in every_row()]
    assert len(set(names)) == len(names)


def test_a_critic_may_cost_more_and_has_no_limit_with_a_small_net():
    assert [row.limit for row in (Row(VAE()), Row(FactorVAE()), Row(VAE(), NET), Row(FactorVAE(), NET))] == [
        LIMIT,
        LIMIT_WITH_CRITIC,
        LIMIT,
        None,
    ]


def test_a_row_is_measured_against_beta_tcvae():
    own, of_beta_tcvae = measure(Row(VAE(), NET), SMALL, SMALL.dataset.load())
    assert own > 0 < of_beta_tcvae
