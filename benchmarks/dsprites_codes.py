"""Codes of the shape of dSprites without training anything: 737,280 images, 10 latents, 5 factors."""

import torch

from unbraid._internal import draws
from unbraid.codes import Codes, Labels

SIZES = {"shape": 3, "scale": 6, "orientation": 40, "x": 32, "y": 32}
NUM_IMAGES = 737_280
NUM_LATENTS = 10


def dsprites_codes(
    num_images: int = NUM_IMAGES, num_latents: int = NUM_LATENTS, seed: int = 0, device: str = "cpu"
) -> Codes:
    """Five latents that follow a factor each, three that blend two of them, the rest prior-like; stds from 0.02 to 1.

    With fewer images than all, a random subset of the grid.
    """
    seeds = torch.tensor([seed])
    rows = (
        torch.arange(NUM_IMAGES)
        if num_images == NUM_IMAGES
        else draws.permutation(seeds, "rows", 0, NUM_IMAGES)[0, :num_images].sort().values
    )
    values, rest = {}, rows
    for name, size in reversed(SIZES.items()):
        values[name], rest = rest % size, rest // size
    scaled = {name: values[name].double() / (size - 1) * 3.4 - 1.7 for name, size in SIZES.items()}
    noise = draws.normal(seeds, "means", 0, (num_images, num_latents))[0]
    width = draws.uniform(seeds, "stds", 0, (num_images, num_latents))[0]
    mean, std = 0.01 * noise, 1 - 0.05 * width
    for latent, name in enumerate(("x", "y", "scale", "orientation", "shape")[:num_latents]):
        mean[:, latent] = scaled[name] + 0.05 * noise[:, latent]
        std[:, latent] = (0.02, 0.03, 0.1, 0.3, 0.2)[latent] * (1 + width[:, latent])
    for latent, (a, b) in enumerate((("x", "y"), ("scale", "shape"), ("orientation", "shape")), start=5):
        if latent < num_latents:
            mean[:, latent] = 0.5 * (scaled[a] + scaled[b]) + 0.1 * noise[:, latent]
            std[:, latent] = 0.02 + 0.98 * width[:, latent]
    factors = tuple(Labels(name, values[name].to(device), ordered=name != "shape") for name in SIZES)
    return Codes(mean.float().to(device), std.float().to(device), factors=factors)
