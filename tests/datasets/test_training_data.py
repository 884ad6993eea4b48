"""What is trained on: some of the images of a dataset, some more often than others."""

import pytest
import torch

from unbraid.datasets import DSprites, TrainingData
from unbraid.datasets.subsets import HeldOutCombinations, RowRange
from unbraid.datasets.weights import ChenDesign, UniformJoint
from unbraid.errors import SpecError

DATA = DSprites(resolution=32, shapes=("square",), num_scales=2, num_orientations=2, num_positions=4)


def test_the_images_are_those_of_the_subset_with_the_weights_of_the_joint():
    joint = ChenDesign("D", ("position_x", "position_y"))
    data = TrainingData(DATA, joint, HeldOutCombinations(("scale", "orientation"), ((0, 1),)))
    images, whole = data.open(), DATA.open()
    kept = (whole.values[:, 1] != 0) | (whole.values[:, 2] != 1)
    assert len(images) == 48
    assert torch.equal(images.values, whole.values[kept])
    assert torch.equal(images.pixels[:], whole.pixels[:][kept])
    table = torch.zeros(4, 4, dtype=torch.float64).index_put_(
        tuple(images.values[:, 3:].T), images.weights, accumulate=True
    )
    torch.testing.assert_close(table, joint.table((4, 4)), rtol=1e-12, atol=0)
    loaded = data.load("cpu")
    assert torch.equal(loaded.pixels[:], images.pixels[:])
    assert torch.equal(loaded.weights, images.weights)


def test_without_either_they_are_the_images_of_the_dataset():
    images = TrainingData(DATA).open()
    assert len(images) == DATA.num_images
    assert images.weights is None


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (TrainingData(DATA, sampling=UniformJoint(("hue",))), "there.*'hue'"),
        (TrainingData(DATA, subset=RowRange(0, 65)), "for 64 images"),
    ],
)
def test_what_cannot_be_is_told_before_an_image_is_drawn(data, message, monkeypatch):
    monkeypatch.setattr(DSprites, "open", lambda *_, **__: pytest.fail("drawn"))
    with pytest.raises(SpecError, match=message):
        data.check()
