import torch

from unbraid.codes import Codes
from unbraid.metrics.latent_readings import Reading
from unbraid.models import MLP, Autoencoder
from unbraid.models.distributions import BernoulliLatents, ConcreteLatents, GaussianLatents, GroupedLatents
from unbraid.show.pages.pictures import sheet
from unbraid.show.report.traversals import MAX_LATENTS, POSITIONS, traversal_sheet, traversals
from unbraid.training.runs.pictures import ModelPictures


def test_a_strip_moves_one_latent_and_leaves_the_others(trained):
    run = trained[0]
    model, codes = run.model(), run.codes()
    made = traversals(run.pictures, [Reading(2, nats=1.0)])
    moved = codes.mean[made.start].repeat(len(POSITIONS), 1)
    moved[:, 2] = torch.tensor(POSITIONS)
    with torch.no_grad():
        assert made.strips[0][1] == sheet(model.decode(moved)[None])


def test_strips_come_in_the_order_of_the_readings_and_unused_ones_apart(trained):
    readings = [Reading(1, nats=2.0), Reading(2, nats=0.5), Reading(0, nats=0.001, is_unused=True)]
    made = traversals(trained[0].pictures, readings)
    assert [reading.latent for reading, _ in made.used] == [1, 2]
    assert [reading.latent for reading in made.unused] == [0]


def test_no_more_latents_are_drawn_than_a_page_can_hold(trained):
    readings = [Reading(0, nats=1.0)] * (MAX_LATENTS + 5)
    made = traversals(trained[0].pictures, readings)
    assert (len(made.strips), made.num_hidden) == (MAX_LATENTS, 5)


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
        assert [strip for _, strip in made.strips] == [
            sheet(model.decode(torch.tensor(code))[None]) for code in expected
        ]


def test_a_model_is_one_sheet_with_a_row_for_each_latent(trained):
    made = traversal_sheet(trained[0].pictures, [Reading(0, 1.0), Reading(2, 0.5)], 5, 64, lossy=False)
    assert (made.width, made.height, made.num_columns) == (5 * 9 - 1, 2 * 9 - 1, 5)
