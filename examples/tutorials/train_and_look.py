# %% [markdown]
# # Train and look
#
# From a config to trained models, their scores, and pictures of what each latent does.
#
# Runs in about half a minute on one core, because everything is small: 16 x 16 pixels, two seeds, 400 steps. A
# real run is longer, not different: [the quickstart](../quickstart.md) takes 1400 steps on 32 x 32 pixels (under
# a minute on two quiet cores), and dSprites in full 50 epochs (four minutes for twenty models on one H200).

# %%
from unbraid import Autoencoder, BetaTCVAE, Conv, DSprites, RunSpec, Scoring, figures, train, write_report
from unbraid.config.schedule import Linear
from unbraid.metrics.score_table import score_table
from unbraid.models.distributions import GaussianLatents
from unbraid.show.explorer import write_explorer
from unbraid.training import TrainingOptions
from unbraid.training.optimizers import Adam

# %% [markdown]
# ## The config
#
# A `RunSpec` says all that decides a run: images, net, latents, objective, how long. The images are hearts in
# four sizes at 8 x 8 places, drawn on the spot. The weights of the objective grow from nothing over training: a
# small net that has to be frugal from its first step on may never begin to use its code.

# %%
spec = RunSpec(
    dataset=DSprites(resolution=16, shapes=("heart",), num_scales=4, num_orientations=1, num_positions=8),
    model=Autoencoder(Conv(channels=(16, 32), hidden=128), latents=GaussianLatents(5)),
    objective=BetaTCVAE(alpha=Linear(0, 1), beta=Linear(0, 3), gamma=Linear(0, 1)),
    num_steps=400,
    batch_size=64,
    optimizer=Adam(4e-3),
)

# %% [markdown]
# ## Train
#
# All seeds are one *fleet*: they train side by side, and each sees the batches and the noise that it would see
# alone. Runs lie in a folder and are named by what they are, so running this cell again finds them.

# %%
runs = train(spec, seeds=range(2), options=TrainingOptions(latent_information_every=20))
print(runs[0].name)

# %% [markdown]
# ## Score
#
# The shape and the orientation do not vary here, so the scores look at the other three factors.

# %%
names = ["scale", "position_x", "position_y"]
cards = {f"seed {run.seed}": run.score("mig,dci,sap", Scoring(factors=tuple(names))) for run in runs}
score_table(cards)

# %%
best = max(runs, key=lambda run: cards[f"seed {run.seed}"]["mig"].value)
card = cards[f"seed {best.seed}"]
card

# %% [markdown]
# Seeds differ, here as in the literature; a comparison of methods needs many of them, and [a
# study](study_with_a_verdict.md) that says how sure its result is.
#
# ## Look
#
# First at how it came about. Each curve is what one latent says of the image. For a while the model draws the
# average of all images, and no latent says anything; then some find a factor, and the others stay silent.

# %%
steps, information = best.history.latent_information()
figures.latent_curves(steps, information, label="information (nats)")

# %% [markdown]
# What does each latent do? Move one, and leave the others where they are. The rows are sorted by how much a
# latent says.

# %%
best.traverse(order_by="informativeness", num_frames=11)

# %%
figures.latent_factor_map(card["mig"].tables["mutual_information"], names, label="nats")

# %%
figures.mean_code_curves(best.codes().with_factors(names))[0]

# %% [markdown]
# A row of the traversal is a latent; in a disentangled code it follows one factor, and its curve in the last
# picture is steep in one column and flat in the others. To hope for are a latent that moves the heart sideways,
# one that moves it up and down, and a third for its size, which changes fewer pixels and so comes last: a longer
# training sharpens it.
#
# ## Share
#
# One file shows all runs, without a server; another has a slider for each latent and decodes in the browser.

# %%
report = write_report(runs, "report.html")
explorer = write_explorer([best], "explorer.html")
print(report, f"{report.stat().st_size / 1e6:.1f} MB;", explorer, f"{explorer.stat().st_size / 1e6:.1f} MB")

# %% [markdown]
# Next: an explorer of a longer run stands on [the first page](../index.md); [objectives](../objectives/index.md),
# [data sets](../datasets/index.md), [runs](../runs.md) and the same [in a shell](../cli.md).
