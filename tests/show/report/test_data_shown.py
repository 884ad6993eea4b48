from dataclasses import replace

from unbraid.datasets.subsets import RowRange
from unbraid.objectives import VAE
from unbraid.show.report.data_shown import data_shown
from unbraid.show.report.groups import group_members
from unbraid.show.report.made import made
from unbraid.show.report.members import read_members
from unbraid.training import TrainingOptions, train


def test_the_data_set_is_told_once_with_its_factors(trained):
    (shown,) = data_shown(group_members(read_members(trained)))
    assert shown.name == "from-arrays"
    assert (shown.trained_on, shown.held_out) == ("all 24 images", "")
    assert shown.factors == (("across", "4"), ("down", "3"), ("nothing", "1"))
    assert (shown.images.width, shown.images.height) == (12 * 9 - 1, 2 * 9 - 1)


def test_what_was_held_out_is_told_and_how_well_it_is_explained(spec, tmp_path):
    part = replace(spec(VAE()), subset=RowRange(0, 18), num_steps=4)
    runs = train([part], [0], folder=tmp_path, options=TrainingOptions(held_out_every=1))
    (shown,) = data_shown(group_members(read_members(runs)))
    assert shown.trained_on == "18 of 24 images"
    assert shown.held_out.startswith("6 images, by --subset row-range:")
    assert "their ELBO at the end is −" in shown.held_out


def test_runs_tell_by_what_they_were_made(trained):
    found = made(group_members(read_members(trained)), "unbraid report runs")
    assert found.facts["device"] == "CPU"
    assert found.facts["training"].endswith("for 4 models in 1 fleet")
    assert len(found.commands) == 2
    assert found.report == "unbraid report runs"


def test_what_a_folder_no_longer_tells_is_left_out(trained, member):
    found = made(group_members([member(0.1)]), "unbraid report runs")
    assert list(found.facts) == ["unbraid"]
