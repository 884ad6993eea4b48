from unbraid.objectives import VAE, BetaVAE
from unbraid.report.groups import group_members
from unbraid.report.members import Ranking


def test_members_of_one_spec_are_a_group(member):
    groups = group_members([member(0.1, seed=1), member(0.3, seed=0), member(0.2, objective=BetaVAE())])
    assert [(group.index, group.label, group.seeds) for group in groups] == [(0, "vae", "0, 1"), (1, "beta-vae, beta 4", "0")]


def test_a_sweep_is_in_the_order_of_its_hyperparameter(member):
    groups = group_members([member(objective=o) for o in (BetaVAE(16.0), VAE(), BetaVAE(2.0), BetaVAE(8.0))])
    assert [group.label for group in groups] == ["beta-vae, beta 2", "beta-vae, beta 8", "beta-vae, beta 16", "vae"]


def test_a_group_knows_its_median_best_and_worst(member):
    (group,) = group_members([member(0.1), member(seed=3), member(0.5, seed=1), member(0.2, seed=2)])
    assert group.values(Ranking("MIG")) == [0.5, 0.2, 0.1]
    assert group.median(Ranking("MIG")) == 0.2
