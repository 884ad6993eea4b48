# %% [markdown]
# # A study with a verdict
#
# Does a method do better than another, and how sure is that? A `Study` is settings times seeds, metrics, and
# sentences that the scores decide.
#
# Runs in about a quarter of a minute on one core: two settings, five seeds each, 250 steps. A real study, such as
# [the first one](../first-study.md) of this repository, has 19 settings with 8 seeds and 4,000 steps; that took
# six minutes on one H200.

# %%
from dataclasses import replace

from unbraid import MLP, Autoencoder, BetaVAE, DSprites, RunSpec, figures
from unbraid._internal.table import Table
from unbraid.models.distributions import GaussianLatents
from unbraid.studies import Claim, Setting, Study, StudyOptions, collect, difference, judge, run_study
from unbraid.studies.figures import run_table
from unbraid.training.optimizers import Adam

# %% [markdown]
# ## The question
#
# A larger beta makes the code frugal. Two claims are made before anything is trained: that a beta of 3 costs
# reconstruction, so that the ELBO falls, and that it raises WSEPIN, which says how separable informative latents
# are and needs no labels.

# %%
spec = RunSpec(
    dataset=DSprites(resolution=16, shapes=("heart",), num_scales=3, num_orientations=1, num_positions=8),
    model=Autoencoder(MLP(hidden=(64,), decoder_hidden=(64,)), latents=GaussianLatents(5)),
    num_steps=250,
    batch_size=32,
    optimizer=Adam(5e-3),
)


def setting(beta: float) -> Setting:
    """A beta-VAE of this beta, five seeds."""
    label = f"beta {beta:g}"
    return Setting(label, replace(spec, objective=BetaVAE(beta)), seeds=tuple(range(5)), family=label)


study = Study(
    name="small-betas",
    question="What does a larger beta cost, and what does it buy?",
    settings=(setting(1.0), setting(3.0)),
    metrics=("sepin", "elbo", "rate"),
    claims=(
        Claim("Beta 3 has a lower ELBO than beta 1.", difference("elbo", "beta 3", "beta 1"), below=0, central=True),
        Claim("Beta 3 has a higher WSEPIN than beta 1.", difference("sepin", "beta 3", "beta 1"), above=0),
    ),
)
file = study.save("study.json")  # `unbraid study run study.json` runs it from a shell, or on a cluster

# %% [markdown]
# ## Run it
#
# What can train side by side does. The study knows nothing but its runs, so the same call after a crash, or with
# more seeds, goes on where it was.

# %%
run_study(study, "runs", StudyOptions(num_scorers=0))
scores = collect(study, "runs")
figures.strip_plot(run_table(scores), "elbo", label="ELBO (nats)")

# %% [markdown]
# ## The verdict
#
# Each claim is tested over seeds, with p-values adjusted for the number of claims. It is supported, contradicted or
# undecided.

# %%
judgment = judge(study.claims, scores)
print(judgment.text)
Table.from_records(
    {"claim": each.claim.sentence, "verdict": each.verdict, "reason": each.reason} for each in judgment.claims
)

# %% [markdown]
# The second sentence sounds plausible, and here it is false, which is a result and no error: for images this
# small a beta of 3 is so dear that hardly any latent says anything, and what says nothing cannot be told apart.

# %%
figures.scatter_plot(run_table(scores), "rate", "sepin")

# %% [markdown]
# Next: `unbraid study report study.json` makes a page of it; [claims](../claims.md), the
# [statistics](../statistics.md) behind them, and studies on [many GPUs](../cluster.md).
