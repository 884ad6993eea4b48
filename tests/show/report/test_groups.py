import math
from dataclasses import replace

from unbraid.config.schedule import Linear
from unbraid.metrics import Score
from unbraid.objectives import DIPVAE, VAE, BetaVAE
from unbraid.show.report.groups import group_members, seed_text
from unbraid.show.report.measures import Measure


def test_members_of_one_spec_are_a_group(member):
    groups = group_members([member(0.1, seed=1), member(0.3, seed=0), member(0.2, objective=BetaVAE())])
    assert [(group.index, group.label, group.seeds) for group in groups] == [
        (0, "vae", "0-1"),
        (1, "beta-vae, beta 4", "0"),
    ]


def test_a_sweep_is_in_the_order_of_its_hyperparameter(member):
    groups = group_members([member(objective=o) for o in (BetaVAE(16.0), VAE(), BetaVAE(2.0), BetaVAE(8.0))])
    assert [group.label for group in groups] == ["beta-vae, beta 2", "beta-vae, beta 8", "beta-vae, beta 16", "vae"]


def test_schedules_and_weights_that_were_left_out_find_their_place_among_numbers(member):
    objectives = (BetaVAE(16.0), BetaVAE(Linear(0.0, 32.0)), BetaVAE(2.0), DIPVAE(diagonal=5.0), DIPVAE())
    labels = [group.label for group in group_members([member(objective=o) for o in objectives])]
    assert labels[:3] == ["beta-vae, beta linear (start 0, end 32)", "beta-vae, beta 2", "beta-vae, beta 16"]
    assert len(labels) == 5


def test_a_group_knows_its_median_best_and_worst(member):
    (group,) = group_members([member(0.1), member(seed=3), member(0.5, seed=1), member(0.2, seed=2)])
    assert group.median(Measure("mig")) == 0.2


def test_seeds_are_told_as_one_types_them():
    assert seed_text([3, 0, 1, 2, 7]) == "0-3,7"
    assert seed_text([5]) == "5"


def test_the_color_of_a_group_is_that_of_its_family_in_every_report(member):
    alone = group_members([member(objective=BetaVAE(2.0))])
    among = group_members([member(objective=o) for o in (VAE(), BetaVAE(8.0), BetaVAE(2.0))])
    assert {group.color for group in (*alone, *among) if group.family == "beta-vae"} == {"g1"}
    assert {group.label: group.shade for group in among} == {
        "vae": 1.0,
        "beta-vae, beta 2": 0.4,
        "beta-vae, beta 8": 1.0,
    }


SAP = Score("SAP", 0.25, (0.2, 0.3))
MEASURES = (Measure("mig"), Measure("sap"), Measure("training-distortion", False))


def test_a_single_model_shows_its_interval(member):
    (group,) = group_members([replace(member(0.5), scores={"sap": SAP})])
    assert [group.cell(each) for each in MEASURES] == [("0.500", ""), ("0.250", "0.200 to 0.300"), ("–", "")]


def test_an_unknown_interval_is_not_shown(member):
    unknown = replace(SAP, interval=(-math.inf, math.inf))
    (group,) = group_members([replace(member(0.5), scores={"sap": unknown})])
    assert group.cell(Measure("sap")) == ("0.250", "")


def test_several_models_show_their_median_and_range(member):
    members = [
        replace(member(0.5, seed=seed), scores={"sap": replace(SAP, value=value)})
        for seed, value in enumerate((0.1, 0.4, math.nan, 0.2))
    ]
    (group,) = group_members(members)
    assert group.cell(Measure("sap")) == ("0.200", "0.100 to 0.400")
