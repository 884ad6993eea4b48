# %% [markdown]
# # Train and look
#
# This tutorial goes from a config to trained models, their scores, and figures of the effect of each latent.
#
# Runs in about half a minute on one core, because everything is small: 16 x 16 pixels, two seeds, 400 steps. A real
# run differs only in size: [the quickstart](../quickstart.md) takes 1400 steps on 32 x 32 pixels (under a minute on
# two idle cores), and dSprites in full 50 epochs (four minutes for twenty models on one H200).

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
# A `RunSpec` holds all settings of a run: images, net, latents, objective, and number of steps. The images are hearts
# in four sizes at 8 x 8 positions, rendered when they are needed. The weights of the objective grow from 0 during
# training, because a small net with large weights from the first step may never use its code.

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
# All seeds form one *fleet*: they train side by side, and each gets the same batches and noise as in a separate run.
# Runs are stored in a folder under a name derived from their spec, so running this cell again finds them.

# %%
runs = train(spec, seeds=range(2), options=TrainingOptions(latent_information_every=20))
print(runs[0].name)

# %% [markdown]
# ## Score
#
# The shape and the orientation do not vary here, so the scores use the other three factors.

# %%
names = ["scale", "position_x", "position_y"]
cards = {f"seed {run.seed}": run.score("mig,dci,sap", Scoring(factors=tuple(names))) for run in runs}
score_table(cards)

# %%
best = max(runs, key=lambda run: cards[f"seed {run.seed}"]["mig"].value)
card = cards[f"seed {best.seed}"]
card

# %% [markdown]
# Seeds differ, here as in the literature. A comparison of methods needs many seeds and [a
# study](study_with_a_verdict.md) that tests the difference.
#
# ## Figures
#
# The first figure shows training. Each curve is the information of one latent about the image. At first the model
# outputs the average of all images, and no latent is informative. Then some latents encode a factor, and the others
# stay uninformative.

# %%
steps, information = best.history.latent_information()
figures.latent_curves(steps, information, label="information (nats)")

# %% [markdown]
# The traversal shows the effect of each latent: one latent moves, and the others are held fixed. The rows are sorted
# by information.

# %%
best.traverse(order_by="informativeness", num_frames=11)

# %%
figures.latent_factor_map(card["mig"].tables["mutual_information"], names, label="nats")

# %%
figures.mean_code_curves(best.codes().with_factors(names))[0]

# %% [markdown]
# A row of the traversal is a latent. In a disentangled code it follows one factor, and its curve in the last figure
# is steep in one column and flat in the others. A good result has a latent that moves the heart horizontally, one
# that moves it vertically, and a third for its size. The size changes fewer pixels and is therefore learned last;
# longer training improves it.
#
# ## Share
#
# One file shows all runs, without a server. Another file has a slider for each latent and decodes in the browser.

# %%
report = write_report(runs, "report.html")
explorer = write_explorer([best], "explorer.html")
print(report, f"{report.stat().st_size / 1e6:.1f} MB;", explorer, f"{explorer.stat().st_size / 1e6:.1f} MB")

# %% [markdown]
# Next: [the first page](../index.md) has an explorer of a longer run. See also [objectives](../objectives/index.md),
# [datasets](../datasets/index.md), [runs](../runs.md) and the same [in a shell](../cli.md).
