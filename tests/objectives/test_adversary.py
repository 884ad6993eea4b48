"""The two losses of an adversarial game, against torch's cross-entropy."""

import torch
from torch.nn.functional import binary_cross_entropy_with_logits

from unbraid.objectives.terms.adversary import critic_loss, generator_loss


def test_they_are_sums_of_cross_entropies():
    real, fake = torch.tensor([[0.3], [-2.0], [40.0]]).double(), torch.tensor([[1.5], [-0.1], [-3.0]]).double()
    expected = binary_cross_entropy_with_logits(real, torch.ones_like(real)) + binary_cross_entropy_with_logits(
        fake, torch.zeros_like(fake)
    )
    torch.testing.assert_close(critic_loss(real, fake), expected)
    torch.testing.assert_close(generator_loss(fake), binary_cross_entropy_with_logits(fake, torch.ones_like(fake)))


def test_a_confident_critic_does_not_overflow():
    # log(sigmoid(-200)) is -inf when computed in that order.
    assert critic_loss(torch.tensor([[-200.0]]), torch.tensor([[200.0]])).item() == 400.0
