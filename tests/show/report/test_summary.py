from dataclasses import replace

import numpy as np

from unbraid.datasets import FromArrays
from unbraid.datasets.subsets import RowRange
from unbraid.objectives import VAE, BetaTCVAE, BetaVAE
from unbraid.show.report.groups import group_members
from unbraid.show.report.measures import Measure
from unbraid.show.report.members import ReportedRun
from unbraid.show.report.summary import summary_of, title_of
from unbraid.training.runs import History, Run


def test_a_report_in_one_sentence(member):
    best = member(0.834, seed=2, objective=BetaTCVAE(beta=16.0))
    groups = group_members([member(0.1), member(0.2, seed=1), best])
    assert title_of(groups) == "vae and beta-tcvae on from-arrays"
    assert summary_of(groups, Measure("mig"), best) == (
        "3 models, 2 objectives, 24 images of 8 × 8. Best: beta-tcvae, beta 16, seed 2, MIG 0.834."
    )


def test_a_single_model_is_not_called_the_best(member):
    only = member(0.5)
    assert (
        summary_of(group_members([only]), Measure("mig"), only)
        == "1 model, 1 objective, 24 images of 8 × 8. vae, seed 0, MIG 0.500."
    )


def test_a_sweep_says_how_many_settings_it_has(member):
    members = [member(0.1, objective=BetaVAE(beta)) for beta in (1.0, 2.0, 4.0)]
    assert summary_of(group_members(members), Measure("mig"), members[0]).startswith(
        "3 models, 3 settings of 1 objective, "
    )


def test_without_factors_the_elbo_is_told(member):
    only = member(history=History(("step", "distortion", "rate"), [(1.0, 100.0, 2.5)]))
    assert summary_of(group_members([only]), Measure("training-elbo"), only).endswith(
        ". vae, seed 0, training-elbo −102.5."
    )


def test_what_is_not_known_is_not_told(member):
    only = member()
    assert (
        summary_of(group_members([only]), Measure("training-elbo"), only) == "1 model, 1 objective, 24 images of 8 × 8."
    )


def test_data_sets_are_counted_if_there_are_several(member, spec):
    other = FromArrays.from_arrays(np.zeros((9, 8, 8, 3), dtype=np.uint8))
    members = [member(0.1), ReportedRun(Run(member().run.folder, spec(VAE(), other), 0), History())]
    assert "2 datasets" in summary_of(group_members(members), Measure("mig"), members[0])
    assert "8 × 8" in summary_of(group_members(members[1:]), Measure("mig"), members[1])


def test_subsets_are_told(member):
    whole = member(0.5)
    part = ReportedRun(
        Run(whole.run.folder, replace(whole.run.spec, subset=RowRange(0, 12), batch_size=4), 0), History()
    )
    assert "8 × 8" in summary_of(group_members([part]), Measure("training-elbo"), part)
