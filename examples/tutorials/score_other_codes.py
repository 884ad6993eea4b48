# %% [markdown]
# # Score codes of another library
#
# A metric of unbraid needs two arrays: the codes of some images, and the factors of these images. It does not
# matter who made the codes. Here they come from scikit-learn (PCA and ICA) and from a few lines of plain torch,
# and one of them gets an interval, a picture and a file.
#
# Runs in a few seconds on one core. A real comparison differs in its data alone: all 737,280 sprites with 10
# latents are scored with every metric in six minutes on two cores, and in 20 s on a GPU.

# %%
from pathlib import Path

import torch
from sklearn.decomposition import PCA, FastICA
from torch import nn

from unbraid import Codes, DSprites, evaluate, figures
from unbraid.metrics.score_table import score_table

sprites = DSprites(resolution=16, shapes=("heart",), num_scales=4, num_orientations=1, num_positions=8)
images = sprites.load()
pixels = images.batch(slice(None)).flatten(start_dim=1)
factors = {
    labels.name: labels.values for labels in images.factors if labels.name in ("scale", "position_x", "position_y")
}
print(f"{len(pixels)} images of {pixels.shape[1]} pixels; factors: {', '.join(factors)}")

# %% [markdown]
# ## Codes without a spread
#
# PCA and ICA give a number for each latent and image. Metrics that read means alone, such as DCI and SAP, take
# them as they are. MIG asks how much a latent *tells*, for which a code needs a width; `mig:neighbors` estimates
# that from the distances between codes instead.

# %%
linear = {
    "PCA": PCA(3).fit_transform(pixels),
    "ICA": FastICA(3, whiten="unit-variance", random_state=0, max_iter=1000).fit_transform(pixels),
}
metrics = ["mig:neighbors", "dci", "sap"]
cards = {name: evaluate(Codes.from_arrays(mean, factors=factors), metrics) for name, mean in linear.items()}
score_table(cards)

# %% [markdown]
# ## Codes with a spread
#
# The encoder of a VAE gives a mean and a standard deviation. This one is plain torch, trained for a moment; bring
# your own from JAX, Keras or a file: `Codes.from_arrays` takes whatever NumPy can read, and `log_var=` in place
# of `std`.

# %%
generator = torch.Generator().manual_seed(0)
torch.manual_seed(0)
encoder = nn.Sequential(nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 6))
decoder = nn.Sequential(nn.Linear(3, 128), nn.ReLU(), nn.Linear(128, 256))
optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=3e-3)
for _ in range(400):
    mean, log_var = encoder(pixels).chunk(2, dim=1)
    z = mean + (log_var / 2).exp() * torch.randn(mean.shape, generator=generator)
    distortion = nn.functional.binary_cross_entropy_with_logits(decoder(z), pixels, reduction="sum")
    rate = 0.5 * (mean.square() + log_var.exp() - log_var - 1).sum()
    optimizer.zero_grad()
    ((distortion + rate) / len(pixels)).backward()
    optimizer.step()

codes = Codes.from_arrays(mean, log_var=log_var, factors=factors)
card = cards["plain torch"] = evaluate(codes, ["mig", *metrics, "sepin", "gaussian-total-correlation"])
card

# %% [markdown]
# Each row has a 95 % interval: where the value would lie for other images of the same kind. It says nothing of
# other seeds; for these, train several. `settled` says whether more bins or samples would move the value.
#
# ## Which latent knows what
#
# Behind MIG stands the mutual information of each latent with each factor. The gap between the two brightest
# fields of a column is what MIG averages.

# %%
information = card["mig"].tables["mutual_information"]
figures.latent_factor_map(information, list(factors), label="nats")

# %%
figures.code_map(codes, (0, 1))[0]

# %% [markdown]
# Where two fields of a column are bright, two latents share a factor, and MIG is low. A net with convolutions and
# an objective that asks for independence do better, which is what [the first tutorial](train_and_look.md) trains.
#
# ## Keep it

# %%
card.save("scores.json")  # everything; .csv and .md for others
codes.save("codes.npz")  # `unbraid score codes.npz` scores it from a shell
print(Path("scores.json").stat().st_size, "bytes of scores,", Path("codes.npz").stat().st_size, "bytes of codes")

# %% [markdown]
# Next: [what each metric takes](../scorecard.md#what-each-metric-takes), the [settings of published
# code](../metrics/published.md), and scores inside of [scikit-learn and torchmetrics](../interop/index.md).
