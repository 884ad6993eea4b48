import inspect
import math

import numpy as np
import pytest
import torch
from torch import nn

import unbraid
from unbraid.codes import Codes
from unbraid.errors import CodesError
from unbraid.metrics import Score
from unbraid.models import MLP, Autoencoder
from unbraid.models.distributions import BernoulliLatents, ConcreteLatents, GaussianLatents, GroupedLatents
from unbraid.models.layers.initial_weights import seeded
from unbraid.models.trained.traverse import traverse, typical_image

CODE = [0.5, -0.5, 1.0]
CODES = Codes.from_arrays(torch.tensor([[-2.0, 0.0], [0.1, 0.0], [2.0, 0.0], [0.0, 3.0], [0.0, -3.0]]))


def seen(z):
    """A decoder whose image is the code."""
    return z[:, None, None, :]


def linear(num_outputs, num_inputs=3):
    return seeded(lambda: nn.Linear(num_inputs, num_outputs), 0)


def of_codes(traversal):
    """The codes that were decoded."""
    return traversal.array()[:, :, 0, 0].tolist()


def test_the_typical_image_has_the_code_nearest_the_mean_of_all():
    assert typical_image(CODES) == 1


def test_a_latent_that_says_nothing_has_no_say_in_what_is_typical():
    mean = torch.tensor([[-2.0, 0.0], [0.1, 1e-3], [2.0, 0.0]])
    assert typical_image(Codes.from_arrays(mean, std=torch.tensor([[0.1, 1.0]] * 3))) == 1


def test_a_latent_that_is_the_same_everywhere_has_no_say_in_what_is_typical():
    mean = torch.tensor([[-2.0, 5.0], [0.1, 5.0], [2.0, 5.0]])
    assert typical_image(Codes.from_arrays(mean, std=torch.zeros(3, 2))) == 1


def test_each_row_moves_one_latent_and_leaves_the_others():
    made = unbraid.traverse(seen, CODE, num_frames=3)
    assert of_codes(made) == [
        [[-2.0, -0.5, 1.0], [0.0, -0.5, 1.0], [2.0, -0.5, 1.0]],
        [[0.5, -2.0, 1.0], [0.5, 0.0, 1.0], [0.5, 2.0, 1.0]],
        [[0.5, -0.5, -2.0], [0.5, -0.5, 0.0], [0.5, -0.5, 2.0]],
    ]
    assert made.labels == ("z0", "z1", "z2")
    assert made.positions == (-2.0, 0.0, 2.0)


def test_latents_range_and_number_of_frames_are_chosen():
    made = traverse(seen, CODE, latents=[2, 0], range=(0, 1), num_frames=5)
    assert [strip.latent for strip in made.strips] == [2, 0]
    assert made.array()[0, :, 0, 0, 2].tolist() == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert len(traverse(seen, np.array(CODE), latents=1)) == 1


def test_a_latent_may_have_a_range_of_its_own():
    made = traverse(seen, CODE, range={1: (-4, 4)}, num_frames=2)
    assert [strip.positions for strip in made.strips] == [(-2.0, 2.0), (-4.0, 4.0), (-2.0, 2.0)]


def test_one_latent_moves_in_many_images():
    made = traverse(seen, CODES, latents=0, images=[0, 3], num_frames=2)
    assert of_codes(made) == [[[-2.0, 0.0], [2.0, 0.0]], [[-2.0, 3.0], [2.0, 3.0]]]
    assert made.labels == ("z0, image 0", "z0, image 3")
    assert [strip.start for strip in made.strips] == [0, 3]


def test_codes_are_started_from_at_the_typical_image_and_a_table_from_each_row():
    assert [strip.start for strip in traverse(seen, CODES).strips] == [1, 1]
    assert [strip.start for strip in traverse(seen, CODES.mean, latents=0).strips] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("order_by", "caption"),
    [
        ([0.1, 3.0, math.nan], ""),
        (torch.tensor([0.1, 3.0, math.nan]), ""),
        (Score("informativeness", 1.0, per_latent=(0.1, 3.0, math.nan)), "informativeness"),
    ],
)
def test_rows_are_ordered_and_labeled_by_a_number_for_each_latent(order_by, caption):
    made = traverse(seen, CODE, order_by=order_by)
    assert made.labels == ("z1  3.00", "z0  0.10", "z2  nan")
    assert made.caption == caption


def test_chosen_latents_are_ordered_among_themselves():
    made = traverse(seen, CODE, latents=[2, 0], order_by=[1.0, 2.0, 0.5])
    assert [strip.latent for strip in made.strips] == [0, 2]


def test_labels_have_words_of_the_users_own():
    assert traverse(seen, CODE, labels={1: "scale"}).labels == ("z0", "z1 scale", "z2")
    assert traverse(seen, CODE, latents=1, labels=["x", "scale", "y"]).labels == ("z1 scale",)


def test_a_grid_moves_two_latents():
    made = traverse(seen, CODE, grid=(2, 0), range={2: (0, 1)}, num_frames=2)
    assert of_codes(made) == [
        [[-2.0, -0.5, 0.0], [2.0, -0.5, 0.0]],
        [[-2.0, -0.5, 1.0], [2.0, -0.5, 1.0]],
    ]
    assert (made.labels, made.positions) == (("0", "1"), (-2.0, 2.0))
    assert made.caption == "z2 down, z0 across"


def test_a_discrete_latent_is_put_at_each_of_its_categories():
    codes = Codes.from_arrays(torch.zeros(2, 1), probabilities=[torch.tensor([[0.2, 0.5, 0.3]] * 2)])
    made = traverse(seen, codes, num_frames=2)
    assert of_codes(made)[1] == [[0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]]
    assert made.array().shape == (2, 3, 1, 1, 4)
    assert of_codes(traverse(seen, codes, grid=(1, 0), num_frames=2))[2] == [[-2.0, 0, 0, 1], [2.0, 0, 0, 1]]


@pytest.fixture(scope="module")
def model():
    latents = GroupedLatents((GaussianLatents(2), ConcreteLatents(3), BernoulliLatents(1)))
    return Autoencoder(MLP(hidden=(8,), decoder_hidden=(8,)), latents=latents).build((1, 8, 8), seed=0)


def test_a_model_of_unbraid_knows_which_of_its_latents_are_discrete(model):
    made = traverse(model, [0.5, -1.0, 0, 1, 0, 1], latents=[2, 3])
    codes = (
        [[0.5, -1.0, 1, 0, 0, 1], [0.5, -1.0, 0, 1, 0, 1], [0.5, -1.0, 0, 0, 1, 1]],
        [[0.5, -1.0, 0, 1, 0, 0], [0.5, -1.0, 0, 1, 0, 1]],
    )
    for strip, expected in zip(made.strips, codes, strict=True):
        torch.testing.assert_close(strip.frames, model.decode(torch.tensor(expected)).detach(), rtol=0, atol=0)


def test_a_model_starts_from_images(model):
    images = np.linspace(0, 1, 128, dtype=np.float32).reshape(2, 8, 8)
    made = model.traverse(images, latents=0, num_frames=3, range=(0, 1), labels={0: "across"})
    expected = unbraid.traverse(model, model(images).code, latents=0, num_frames=3, range=(0, 1))
    assert (made.array() == expected.array()).all()
    assert made.labels == ("z0 across, image 0", "z0 across, image 1")
    assert len(model.traverse(images[:1], grid=(0, 2))) == 9


def test_a_model_starts_from_codes_of_its_own(model):
    mean, categories = torch.tensor([[0.0, 0.0], [1.0, 1.0], [0.4, 0.6]]), torch.tensor([[1.0, 0.0]] * 3)
    codes = Codes.from_arrays(mean, probabilities=[torch.eye(3), categories])
    assert [strip.start for strip in model.traverse(codes).strips] == [2, 2, 2, 2]


def test_any_module_is_left_as_it_was():
    layers = [linear(4), nn.BatchNorm1d(4), nn.Dropout(), nn.Unflatten(1, (1, 2, 2))]
    decoder = nn.Sequential(*layers).double()
    decoder[2].eval()
    for given in (decoder, decoder.forward):
        assert traverse(given, CODE).array().dtype == np.float64
        assert [module.training for module in decoder.modules()] == [True, True, True, False, True]
        assert int(decoder[1].num_batches_tracked) == 0


def test_a_module_may_have_attributes_of_the_same_names():
    own = linear(2)
    own.latents, own.decode = 3, None
    assert traverse(own, CODE).array().shape == (3, 9, 2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"latents": 3}, "Latent 3 .*0 to 2"),
        ({"latents": []}, "latents is empty"),
        ({"latents": ["z1"]}, r"latents is \['z1'\]"),
        ({"images": 1}, "Image 1 .*0 to 0"),
        ({"range": 2}, r"range is 2"),
        ({"range": (0, math.inf)}, r"range is \(0, inf\)"),
        ({"num_frames": 1}, "num_frames is 1"),
        ({"order_by": [1.0]}, "order_by has 1 values; expected 3"),
        ({"order_by": Score("MIG", 0.4)}, r"order_by \(MIG\) has 0 values; expected 3"),
        ({"labels": {7: "scale"}}, "Latent 7"),
        ({"labels": ["scale"]}, r"labels is \['scale'\].* 3 "),
        ({"labels": "scale"}, "labels is 'scale'.* 3 "),
        ({"grid": (1, 1)}, r"grid is \(1, 1\)"),
        ({"grid": (0, 1), "latents": 2}, r"grid is \(0, 1\) .*latents"),
    ],
)
def test_what_makes_no_sense_is_refused(options, message):
    with pytest.raises(CodesError, match=message):
        inspect.unwrap(traverse)(seen, CODE, **options)  # without the check of types, which tests alone have


@pytest.mark.parametrize(
    ("decoder", "code", "message"),
    [
        (seen, [[[1.0]]], r"code has shape \(1, 1, 1\)"),
        (seen, [math.nan, 1.0], "finite"),
        (linear(2, num_inputs=5), CODE, r"\(9, 3\).*shapes"),
        (lambda z: (z, z), CODE, "tuple for 9 codes"),
        (lambda z: z[:2], CODE, r"torch.float32 of \(2, 3\) for 9 codes"),
    ],
)
def test_codes_and_decoders_that_do_not_fit_are_refused(decoder, code, message):
    with pytest.raises(CodesError, match=message):
        inspect.unwrap(traverse)(decoder, code)


def test_codes_of_another_model_are_refused(model):
    with pytest.raises(CodesError, match="3 columns; expected 6"):
        traverse(model, CODE)
    with pytest.raises(CodesError, match="2 latents"):
        traverse(model, CODES)
