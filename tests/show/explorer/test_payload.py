"""How another model follows the sliders of the first one."""

import torch

from tests.models.nets import a_draw
from unbraid.codes import Codes
from unbraid.show.explorer.payload import partners


def test_a_partner_is_the_latent_that_correlates_most_with_its_sign_and_scale():
    mean = a_draw(200, 3)
    others = torch.stack([-2 * mean[:, 2], mean[:, 0], 0.001 * mean[:, 1]], dim=1)
    first, dead, last = partners(Codes(mean), Codes(others))
    assert (first["latent"], last["latent"]) == (1, 0)
    assert (first["scale"], last["scale"]) == (1, -2)
    assert (first["correlation"], last["correlation"]) == (1, -1)
    assert dead is None


def test_categories_that_come_together_go_together():
    categories = torch.eye(3, dtype=torch.float64)[torch.arange(30) % 3]
    mean = a_draw(30, 1)
    ours = Codes(mean, probabilities=(categories,))
    theirs = Codes(mean, probabilities=(categories[:, [2, 0, 1]],))
    assert partners(ours, theirs)[1]["categories"] == [1, 2, 0]
    assert partners(ours, theirs)[1]["correlation"] == 1
    fewer = Codes(mean, probabilities=(torch.full((30, 2), 0.5, dtype=torch.float64),))
    assert partners(ours, fewer)[1] is None


def test_agreement_is_the_weighted_share_of_images_with_paired_categories():
    mean, soft = a_draw(4, 1), torch.tensor([[0.6, 0.4], [0.6, 0.4], [0.4, 0.6], [0.3, 0.7]], dtype=torch.float64)
    ours = Codes(mean, probabilities=(soft,), weights=torch.tensor([3.0, 1.0, 2.0, 4.0]))
    assert partners(ours, ours)[1]["correlation"] == 1
    theirs = Codes(mean, probabilities=(soft[[0, 2, 2, 3]],))
    assert partners(ours, theirs)[1]["correlation"] == 0.9
