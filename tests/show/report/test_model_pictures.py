from dataclasses import replace

import numpy as np
import pytest
import torch

from unbraid.codes import Codes
from unbraid.datasets import DSprites, FromArrays
from unbraid.datasets.subsets import RowRange
from unbraid.datasets.weights import UniformJoint
from unbraid.metrics.latent_readings import Reading
from unbraid.models import MLP, Autoencoder
from unbraid.models.distributions import BernoulliLatents, ConcreteLatents, GaussianLatents, GroupedLatents
from unbraid.objectives import VAE
from unbraid.show.pages.pictures import sheet
from unbraid.show.report.members import read_members
from unbraid.show.report.model_pictures import (
    MAX_LATENTS,
    NUM_COLUMNS,
    NUM_ROWS,
    POSITIONS,
    prior_samples,
    reconstructions,
    traversal_sheet,
    traversals,
)
from unbraid.training import train
from unbraid.training.runs.pictures import NUM_IMAGES, ModelPictures, some_rows


def test_a_strip_moves_one_latent_and_leaves_the_others(trained):
    run = trained[0]
    model, codes = run.model(), run.codes()
    made = traversals(run.pictures, [Reading(2, nats=1.0)])
    moved = codes.mean[made.start].repeat(len(POSITIONS), 1)
    moved[:, 2] = torch.tensor(POSITIONS)
    with torch.no_grad():
        assert made.used[0][1] == sheet(model.decode(moved)[None])


def test_strips_come_in_the_order_of_the_readings_and_unused_ones_apart(trained):
    readings = [Reading(1, nats=2.0), Reading(2, nats=0.5), Reading(0, nats=0.001, is_unused=True)]
    made = traversals(trained[0].pictures, readings)
    assert [reading.latent for reading, _ in made.used] == [1, 2]
    assert [reading.latent for reading in made.unused] == [0]


def test_no_more_latents_are_drawn_than_a_page_can_hold(trained):
    readings = [Reading(0, nats=1.0)] * (MAX_LATENTS + 5)
    made = traversals(trained[0].pictures, readings)
    assert (len(made.used), made.num_hidden) == (MAX_LATENTS, 5)


def test_a_discrete_latent_is_put_at_each_of_its_categories_and_the_others_stand_still():
    latents = GroupedLatents((GaussianLatents(2), ConcreteLatents(3), BernoulliLatents(1)))
    model = Autoencoder(MLP(hidden=(8,), decoder_hidden=(8,)), latents=latents).build((1, 8, 8), seed=0)
    tables = [torch.tensor([[0.1, 0.8, 0.1]] * 3), torch.tensor([[0.2, 0.8]] * 3)]
    codes = Codes.from_arrays(torch.tensor([[-1.0, 0.5]] * 3), std=torch.ones(3, 2), probabilities=tables)
    pictures = ModelPictures(model, codes, None)
    made = traversals(pictures, [Reading(2, nats=1.0, num_categories=3), Reading(3, nats=0.5, num_categories=2)])
    expected = (
        [[-1.0, 0.5, 1, 0, 0, 1], [-1.0, 0.5, 0, 1, 0, 1], [-1.0, 0.5, 0, 0, 1, 1]],
        [[-1.0, 0.5, 0, 1, 0, 0], [-1.0, 0.5, 0, 1, 0, 1]],
    )
    with torch.no_grad():
        assert [strip for _, strip in made.used] == [sheet(model.decode(torch.tensor(code))[None]) for code in expected]


def test_a_model_is_one_sheet_with_a_row_for_each_latent(trained):
    made = traversal_sheet(trained[0].pictures, [Reading(0, 1.0), Reading(2, 0.5)], 5, 64, lossy=False)
    assert (made.width, made.height, made.num_columns) == (5 * 9 - 1, 2 * 9 - 1, 5)


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
    ((originals, by_role),) = reconstructions({"best": best, "worst": worst})
    assert list(by_role) == ["best", "worst"]
    assert {(made.width, made.height) for made in (originals, *by_role.values())} == {(NUM_IMAGES * 9 - 1, 8)}


def test_each_data_set_has_its_own_originals(trained, spec, tmp_path):
    other = FromArrays.from_arrays(trained[0].spec.dataset.load().pixels[:16].flip(3))
    first = read_members(trained[:1])
    second = read_members(train([spec(VAE(), other)], [0], folder=tmp_path))
    shown = reconstructions({"best": first[0], "worst": second[0]})
    assert [list(by_role) for _, by_role in shown] == [["best"], ["worst"]]
    assert shown[0][0] != shown[1][0]


def test_each_subset_has_its_own_originals_whatever_its_images_are_drawn_by(trained, spec, tmp_path):
    dataset = trained[0].spec.dataset
    name = dataset.factors[0].name
    half = replace(spec(VAE(), dataset), subset=RowRange(stop=dataset.num_images // 2), batch_size=4)
    members = read_members(train([half, replace(half, sampling=UniformJoint((name,)))], [0], folder=tmp_path))
    shown = reconstructions({"best": read_members(trained[:1])[0], "middle": members[0], "worst": members[1]})
    assert [list(by_role) for _, by_role in shown] == [["best"], ["middle", "worst"]]
    assert shown[0][0] != shown[1][0]


def test_each_member_is_shown_by_draws_from_its_prior(trained):
    best, worst = read_members(trained[:2])
    shown = prior_samples({"best": best, "worst": worst})
    assert list(shown) == ["best", "worst"]
    assert {(made.width, made.height) for made in shown.values()} == {(NUM_COLUMNS * 9 - 1, NUM_ROWS * 9 - 1)}
    images = best.run.model().sample(NUM_ROWS * NUM_COLUMNS).unflatten(0, (NUM_ROWS, NUM_COLUMNS))
    assert shown["best"] == sheet(images) != shown["worst"]
