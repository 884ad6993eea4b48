# %% [markdown]
# # Score codes of another library
#
# A metric of unbraid needs two arrays: the codes of some images, and the factors of these images. The codes may come
# from any library. Here they come from scikit-learn (PCA and ICA) and from a few lines of plain torch. The scores get
# intervals, a figure and a file.
#
# Runs in a few seconds on one core. A real comparison differs only in its data: all 737,280 sprites with 10 latents
# are scored with every metric in six minutes on two cores, and in 20 s on a GPU.

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
# ## Codes without a standard deviation
#
# PCA and ICA output one number for each latent and image. Metrics that read only means, such as DCI and SAP, accept
# them. MIG is based on mutual information, which requires the width of a code; `mig:neighbors` estimates it from the
# distances between codes instead.

# %%
linear = {
    "PCA": PCA(3).fit_transform(pixels),
    "ICA": FastICA(3, whiten="unit-variance", random_state=0, max_iter=1000).fit_transform(pixels),
}
metrics = ["mig:neighbors", "dci", "sap"]
cards = {name: evaluate(Codes.from_arrays(mean, factors=factors), metrics=metrics) for name, mean in linear.items()}
score_table(cards)

# %% [markdown]
# ## Codes with a standard deviation
#
# The encoder of a VAE outputs a mean and a standard deviation. This one is plain torch and briefly trained. Codes may
# also come from JAX, Keras or a file: `Codes.from_arrays` takes all arrays that NumPy can read, and `log_var=`
# instead of `std`.

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
card = cards["plain torch"] = evaluate(codes, metrics=["mig", *metrics, "sepin", "gaussian-total-correlation"])
card

# %% [markdown]
# Each row has a 95 % interval, for other images of the same kind. The interval does not cover other seeds; train
# several seeds for that. `settled` is `no` if more bins or samples would change the value by more than its interval.
#
# ## Information of each latent about each factor
#
# MIG is computed from the mutual information of each latent with each factor. It averages, over columns, the gap
# between the two brightest cells.

# %%
information = card["mig"].tables["mutual_information"]
figures.latent_factor_map(information, list(factors), label="nats")

# %%
figures.code_map(codes, (0, 1))[0]

# %% [markdown]
# If two cells of a column are bright, two latents share a factor, and MIG is low. A convolutional net and an
# objective that penalizes dependence score higher; [the first tutorial](train_and_look.md) trains them.
#
# ## Save the results

# %%
card.save("scores.json")  # everything; .csv and .md for others
codes.save("codes.npz")  # `unbraid score codes.npz` scores it from a shell
print(Path("scores.json").stat().st_size, "bytes of scores,", Path("codes.npz").stat().st_size, "bytes of codes")

# %% [markdown]
# Next: [what each metric takes](../scorecard.md#what-each-metric-takes), the [settings of published
# code](../metrics/published.md), and scores inside of [scikit-learn and torchmetrics](../interop/index.md).
