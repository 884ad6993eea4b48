"""What the model draws from its prior for each category of a discrete latent."""

import torch

from unbraid.errors import CodesError
from unbraid.figures.traversal import Strip, Traversal
from unbraid.models.autoencoder import AutoencoderModule
from unbraid.models.trained.latent_moves import places

_AT_ONCE = 1024


@torch.no_grad()
def category_samples(
    model: AutoencoderModule, latent: int | None = None, *, num_draws: int = 10, seed: int = 0
) -> Traversal:
    """Returns a row of images for each category of a discrete latent, by default the first.

    The images are draws from the prior in which that latent has this category. Draw n has the same other latents in
    every row.
    """
    where = places(model, None, 0)
    discrete = [number for number, place in enumerate(where) if place.num_categories]
    if not discrete:
        raise CodesError("The model has no discrete latent, so there are no categories to draw images of.")
    chosen = discrete[0] if latent is None else latent
    if chosen not in discrete:
        known = ", ".join(map(str, discrete))
        raise CodesError(f"Latent {latent} is not discrete, or there is none; those with categories are {known}.")
    if num_draws < 1:
        raise CodesError(f"num_draws is {num_draws}; expected 1 or more.")
    place, rows = where[chosen], torch.arange(num_draws, device=next(model.parameters()).device)
    codes, others = model.prior_draws(rows, seed)
    strips = []
    for category in range(place.num_categories):
        put = torch.cat([place.moved(code, [float(category)]) for code in codes])
        blocks = torch.cat([put, others], dim=1).split(_AT_ONCE)
        frames = torch.cat([model.likelihood.mean(model.decoder(block)) for block in blocks]).cpu()
        draws = tuple(map(float, range(num_draws)))
        strips.append(Strip(f"category {category}", chosen, 0, draws, is_discrete=False, frames=frames))
    return Traversal(tuple(strips), f"draws from the prior by the category of z{chosen}")
