"""Traversals of several models: rows show latents that are matched."""

import numpy as np
import pytest
import torch

from unbraid.codes import Codes
from unbraid.errors import CodesError
from unbraid.models.trained.matched_traversals import traverse_matched

MEAN = torch.randn(50, 3, generator=torch.Generator().manual_seed(1))


def seen(z):
    """A decoder whose image is the code."""
    return z[:, None, None, :]


def decoded(traversal):
    """The codes that were decoded, row by row."""
    return traversal.array()[:, :, 0, 0]


def test_each_row_moves_the_latent_that_is_matched_and_the_same_way():
    other = MEAN[:, [2, 0, 1]] * torch.tensor([-1.0, 1.0, 0.5])
    made = traverse_matched({"a": (seen, Codes(MEAN)), "b": (seen, Codes(other))}, image=4, num_frames=3)
    a, b = made.traversals.values()
    assert a.labels == ("z0", "z1", "z2")
    assert b.labels == ("z1  1.00", "z2  1.00", "-z0  1.00")
    assert a.positions == b.positions == (-2.0, 0.0, 2.0)
    for row, (latent, ends) in enumerate([(1, [-2, 0, 2]), (2, [-2, 0, 2]), (0, [2, 0, -2])]):
        expected = np.tile(other[4].numpy(), (3, 1))
        expected[:, latent] = ends
        np.testing.assert_allclose(decoded(b)[row], expected)
        assert decoded(a)[row][:, row].tolist() == [-2, 0, 2]


def test_positions_are_those_of_the_decoded_frames_if_the_range_decreases():
    made = traverse_matched(
        {"a": (seen, Codes(MEAN)), "b": (seen, Codes(-MEAN))}, image=4, range=(3.0, -3.0), num_frames=3
    )
    a, b = made.traversals.values()
    assert a.positions == b.positions == (3.0, 0.0, -3.0)
    assert decoded(a)[0][:, 0].tolist() == [3, 0, -3]
    assert decoded(b)[0][:, 0].tolist() == [-3, 0, 3]


def test_rows_are_those_of_the_first_model_and_blank_without_a_partner():
    other = torch.cat([MEAN[:, [1, 0]], 1e-3 * MEAN[:, 2:]], dim=1)
    made = traverse_matched(
        {"a": (seen, Codes(MEAN)), "b": (seen, Codes(other))}, latents=[2, 1], range=(0.0, 6.0), num_frames=2
    )
    a, b = made.traversals.values()
    assert a.labels == ("z2", "z1")
    assert b.labels == ("none", "z0  1.00")
    assert np.isnan(decoded(b)[0]).all()
    assert decoded(b)[1][:, 0].tolist() == [0, 6]
    assert {strip.start for each in (a, b) for strip in each.strips if strip.latent >= 0} == {a.strips[0].start}


def test_dead_latents_of_the_first_model_have_no_row():
    codes = Codes(torch.cat([MEAN, torch.zeros(50, 1)], dim=1))
    assert len(traverse_matched({"a": (seen, codes)}, num_frames=2).traversals["a"]) == 3


def test_the_picture_has_all_models_beside_each_other(tmp_path):
    pytest.importorskip("PIL")

    def picture(z):
        return z[:, None, :2, None].sigmoid().expand(-1, 1, 2, 2)

    models = {name: (picture, Codes(MEAN)) for name in ("VAE", "DIP-VAE")}
    made = traverse_matched(models, num_frames=3)
    alone = traverse_matched({"VAE": models["VAE"]}, num_frames=3)
    assert len(made) == 2
    assert made.image().width > 1.9 * alone.image().width
    assert made.image().height == alone.image().height
    assert made.save(tmp_path / "both.png").read_bytes() == made._repr_png_() == made.png()
    with pytest.raises(CodesError, match=r"ends in .png"):
        made.save(tmp_path / "both.pdf")


@pytest.mark.parametrize(
    ("models", "latents", "message"),
    [
        ({}, None, "models is empty"),
        ({"a": (seen, Codes(torch.zeros(5, 2)))}, None, "0.05"),
        ({"a": (seen, Codes(MEAN)), "b": (seen, Codes(0 * MEAN))}, None, "min_std"),
        ({"a": (seen, Codes(MEAN)), "b": (seen, Codes(MEAN[:9]))}, None, "50 and 9 images"),
        ({"a": (seen, Codes(MEAN))}, [3], "Latent 3"),
    ],
)
def test_what_cannot_be_shown_is_told(models, latents, message):
    with pytest.raises(CodesError, match=message):
        traverse_matched(models, latents=latents)
