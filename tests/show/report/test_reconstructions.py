from dataclasses import replace

import numpy as np
import pytest

from unbraid.datasets import DSprites, FromArrays
from unbraid.datasets.subsets import RowRange
from unbraid.datasets.weights import UniformJoint
from unbraid.objectives import VAE
from unbraid.show.report.members import read_members
from unbraid.show.report.reconstructions import reconstructions
from unbraid.training import train
from unbraid.training.runs.pictures import NUM_IMAGES, some_rows


@pytest.mark.parametrize("num_images", [2, 8, 24, 1536, 737_280])
def test_rows_are_distinct_and_inside_the_data(num_images):
    rows = some_rows(num_images, NUM_IMAGES).tolist()
    assert len(set(rows)) == len(rows) > 1
    assert 0 <= min(rows) <= max(rows) < num_images


def test_rows_of_a_grid_differ_in_every_factor():
    # Equal steps through dSprites would show one position eight times.
    sizes = [factor.size for factor in DSprites().factors]
    rows = some_rows(DSprites().num_images, NUM_IMAGES).tolist()
    values = np.unravel_index(rows, sizes)
    assert all(len(set(of_factor.tolist())) > 2 for of_factor in values)


def test_members_of_one_data_set_are_shown_on_the_same_images(trained):
    best, worst = read_members(trained[:2])
    (shown,) = reconstructions({"best": best, "worst": worst})
    assert list(shown.by_role) == ["best", "worst"]
    assert {(made.width, made.height) for made in (shown.originals, *shown.by_role.values())} == {
        (NUM_IMAGES * 9 - 1, 8)
    }


def test_each_data_set_has_its_own_originals(trained, spec, tmp_path):
    other = FromArrays.from_arrays(trained[0].spec.dataset.load().pixels[:16].flip(3))
    first = read_members(trained[:1])
    second = read_members(train([spec(VAE(), other)], [0], folder=tmp_path))
    shown = reconstructions({"best": first[0], "worst": second[0]})
    assert [list(each.by_role) for each in shown] == [["best"], ["worst"]]
    assert shown[0].originals != shown[1].originals


def test_each_subset_has_its_own_originals_whatever_its_images_are_drawn_by(trained, spec, tmp_path):
    dataset = trained[0].spec.dataset
    name = dataset.factors[0].name
    half = replace(spec(VAE(), dataset), subset=RowRange(stop=dataset.num_images // 2), batch_size=4)
    members = read_members(train([half, replace(half, sampling=UniformJoint((name,)))], [0], folder=tmp_path))
    shown = reconstructions({"best": read_members(trained[:1])[0], "middle": members[0], "worst": members[1]})
    assert [list(each.by_role) for each in shown] == [["best"], ["middle", "worst"]]
    assert shown[0].originals != shown[1].originals
