"""Faces with attributes: labels are the traits of the people who are drawn, in the poses that are told."""

import hashlib
import math

import numpy as np
import pytest
import torch

from unbraid.datasets import AttributeFaces, Factor, ShadedFaces
from unbraid.datasets.synthetic import heads, shading
from unbraid.datasets.synthetic.shading import points_of
from unbraid.errors import SpecError

SMALL = AttributeFaces(num_people=3, poses_per_person=2, resolution=16)
MEASURED = AttributeFaces(num_people=3, poses_per_person=2, resolution=16, attributes="continuous")


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    """The same six images with either kind of attributes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("UNBRAID_CACHE", str(tmp_path_factory.mktemp("faces")))
        return SMALL.open(), MEASURED.open()


def test_it_has_a_binary_factor_for_each_trait():
    assert AttributeFaces().num_images == 20_000
    assert len(AttributeFaces().factors) == 25
    assert AttributeFaces().factors[:2] == (Factor("width", 2), Factor("depth", 2))
    assert [factor.name for factor in MEASURED.factors[25:]] == ["azimuth", "elevation", "lighting"]
    assert SMALL.image_shape == (1, 16, 16)


def test_attributes_are_traits_above_the_middle_of_their_range(opened):
    binary, measured = opened
    for image in range(6):
        head = vars(heads.numbered(image // 2))
        for place, (name, (low, high)) in enumerate(heads.RANGES.items()):
            assert float(measured.factors[place].values[image]) == pytest.approx(head[name])
            assert int(binary.factors[place].values[image]) == (head[name] > (low + high) / 2)
    assert torch.equal(binary.pixels[:], measured.pixels[:])


def test_half_of_all_people_have_each_attribute():
    """The share of 1,000 people has a std of 0.016."""
    people = np.array([list(vars(heads.numbered(person)).values()) for person in range(1000)])
    low, high = np.array(list(heads.RANGES.values())).T
    np.testing.assert_allclose((people > (low + high) / 2).mean(axis=0), 0.5, atol=0.06)


def test_an_image_is_its_person_in_its_pose(opened):
    measured = opened[1]
    table = torch.stack([labels.values for labels in measured.factors], dim=1)
    for image in (0, 3):
        azimuth, elevation, lighting = (math.radians(float(value)) for value in table[image, 25:])
        points = points_of(heads.surfaces(heads.numbered(image // 2)), shading.spacing_for(16))
        drawn = shading.draw(points, azimuth, [elevation], shading.lamps_at([lighting]), 16)[0, 0]
        assert torch.equal(measured.pixels[image : image + 1][0, 0], drawn)
    assert table[:, 25].abs().max() <= 45
    assert table[:, 26].abs().max() <= 20
    assert table[:, 27].abs().max() <= 60
    assert len(table[:, 25].unique()) == 6


def test_people_are_those_of_the_shaded_faces(monkeypatch, tmp_path):
    monkeypatch.setenv("UNBRAID_CACHE", str(tmp_path))
    monkeypatch.setattr(AttributeFaces, "_poses", lambda self, person: np.zeros((1, 3)))
    still = AttributeFaces(num_people=2, poses_per_person=1, resolution=16).open()
    shaded = ShadedFaces(num_identities=2, num_azimuths=1, num_elevations=1, num_lightings=1, resolution=16).open()
    assert torch.equal(still.pixels[:], shaded.pixels[:])


def test_more_people_or_poses_change_none_that_there_are(opened, monkeypatch, tmp_path):
    monkeypatch.setenv("UNBRAID_CACHE", str(tmp_path))
    more = AttributeFaces(num_people=2, poses_per_person=3, resolution=16).open()
    assert torch.equal(more.pixels[[0, 1, 3, 4]], opened[0].pixels[:4])
    other = AttributeFaces(num_people=1, poses_per_person=2, resolution=16, seed=1).open()
    assert not torch.equal(other.pixels[:], opened[0].pixels[:2])


def test_the_bytes_are_the_same_everywhere(opened):
    digest = hashlib.sha256(opened[0].pixels[:].numpy().tobytes()).hexdigest()
    assert digest[:16] == "c9a5745db0b6021a"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"num_people": 0}, "num_people is 0"),
        ({"resolution": 65}, "from 16 to 64"),
        ({"num_people": 10**5, "poses_per_person": 10**3}, "100,000,000 images"),
    ],
)
def test_what_cannot_be_drawn_is_refused(fields, message):
    with pytest.raises(SpecError, match=message):
        AttributeFaces(**fields)
