import itertools
from dataclasses import astuple, fields, replace

import numpy as np
import pytest

from unbraid.datasets.synthetic import heads
from unbraid.datasets.synthetic.shading import FRAME, MAX_ELEVATION, points_of

MIDDLE = heads.Head(**{name: (low + high) / 2 for name, (low, high) in heads.RANGES.items()})


def grid(num_rings=60, num_meridians=120):
    polar = (np.arange(num_rings) + 0.5) * np.pi / num_rings
    longitude = (np.arange(num_meridians) - (num_meridians - 1) / 2) * 2 * np.pi / num_meridians
    return tuple(axis.ravel() for axis in np.meshgrid(polar, longitude, indexing="ij"))


def face(head):
    return heads.surfaces(head)[0]


def test_each_trait_has_its_range():
    assert [field.name for field in fields(heads.Head)] == list(heads.RANGES)
    assert all(low < high for low, high in heads.RANGES.values())


@pytest.mark.parametrize("identity", [0, 1, 49, 1_000_000])
def test_traits_lie_in_their_ranges(identity):
    for (low, high), trait in zip(heads.RANGES.values(), astuple(heads.numbered(identity)), strict=True):
        assert low < trait < high


def test_a_person_is_the_same_always():
    assert heads.numbered(7) == heads.numbered(7)
    # Fixed for good: a change here changes every image.
    assert heads.numbered(0).width == pytest.approx(0.6389787536428492, rel=1e-12)


def test_no_two_of_fifty_people_are_alike():
    low, high = np.array(list(heads.RANGES.values())).T
    people = (np.array([astuple(heads.numbered(identity)) for identity in range(50)]) - low) / (high - low)
    # Traits are independent and uniform on [0, 1], so a pair differs by 1/3 on average.
    differences = [np.abs(one - other).mean() for one, other in itertools.combinations(people, 2)]
    assert min(differences) > 0.15
    assert np.mean(differences) == pytest.approx(1 / 3, abs=0.02)


@pytest.mark.parametrize("identity", range(0, 50, 7))
def test_a_head_is_its_own_mirror_image(identity):
    polar, longitude = grid()
    skin, right, left, neck = heads.surfaces(heads.numbered(identity))
    for one, other in ((skin, skin), (right, left), (neck, neck)):
        np.testing.assert_allclose(
            one.place(polar, longitude) * [[-1], [1], [1]], other.place(polar, -longitude), atol=1e-12
        )
        np.testing.assert_allclose(one.albedo(polar, longitude), other.albedo(polar, -longitude), atol=1e-12)


def test_the_normals_of_every_part_point_outwards():
    for surface in heads.surfaces(MIDDLE):
        points = points_of([surface], 0.05)
        outwards = points.positions - points.positions.mean(dim=1, keepdim=True)
        # Details of a face may look sideways, and the neck has no lid; the inside of a part turned inside out would
        # show everywhere.
        assert ((points.normals * outwards).sum(dim=0) > 0).double().mean() > 0.97


def test_heads_stay_in_the_frame_and_albedos_between_0_and_1():
    polar, longitude = grid(40, 60)
    for identity in range(50):
        skin, right, left, neck = heads.surfaces(heads.numbered(identity))
        for surface in (skin, right, left):
            # However a head is turned and tilted, nothing but the neck is cut off.
            x, y, z = surface.place(polar, longitude)
            aside = np.hypot(x, z)
            assert aside.max() < FRAME
            for tilt in (0.0, MAX_ELEVATION / 2, MAX_ELEVATION):
                assert (np.abs(y) * np.cos(tilt) + aside * np.sin(tilt)).max() < FRAME
        for surface in (skin, right, left, neck):
            albedo = surface.albedo(polar, longitude)
            assert albedo.min() >= 0.02
            assert albedo.max() <= 1


@pytest.mark.parametrize("trait", [name for name in heads.RANGES if name not in ("ears", "neck")])
def test_each_trait_changes_the_shape_or_the_albedo_of_the_face(trait):
    polar, longitude = grid()
    low, high = (replace(MIDDLE, **{trait: end}) for end in heads.RANGES[trait])
    moved = np.abs(face(high).place(polar, longitude) - face(low).place(polar, longitude)).max()
    shaded = np.abs(face(high).albedo(polar, longitude) - face(low).albedo(polar, longitude)).max()
    assert max(moved, shaded) > 0.03


@pytest.mark.parametrize(("trait", "part"), [("ears", 1), ("ears", 2), ("neck", 3)])
def test_ears_and_neck_have_traits_of_their_own(trait, part):
    polar, longitude = grid()
    low, high = (
        heads.surfaces(replace(MIDDLE, **{trait: end}))[part].place(polar, longitude) for end in heads.RANGES[trait]
    )
    assert np.abs(high - low).max() > 0.05


def test_a_nose_stands_out_where_it_should_and_nowhere_else():
    polar, longitude = grid(200, 300)
    without = face(replace(MIDDLE, nose_height=0.05)).place(polar, longitude)
    with_nose = face(replace(MIDDLE, nose_height=0.29)).place(polar, longitude)
    moved = np.abs(with_nose - without).max(axis=0) > 0.02
    x, y, z = without
    assert moved.any()
    assert np.abs(x[moved]).max() < 0.25
    assert y[moved].min() > MIDDLE.nose_tip - 0.1
    assert y[moved].max() < MIDDLE.eye_height + 0.1
    assert z[moved].min() > 0.5
