# %% [markdown]
# # A study with a verdict
#
# A study tests whether one method scores higher than another, and how certain the difference is. A `Study` consists
# of settings, seeds, metrics, and claims that are decided from the scores.
#
# Runs in about a quarter of a minute on one core: two settings, five seeds each, 250 steps. A real study, such as
# [the first one](../first-study.md) of this repository, has 19 settings with 8 seeds and 4,000 steps; it took six
# minutes on one H200.

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
# A larger beta lowers the rate. Two claims are fixed before training: a beta of 3 increases the distortion, so that
# the ELBO falls; and it raises WSEPIN, which measures the separability of informative latents without labels.

# %%
spec = RunSpec(
    dataset=DSprites(resolution=16, shapes=("heart",), num_scales=3, num_orientations=1, num_positions=8),
    model=Autoencoder(MLP(hidden=(64,), decoder_hidden=(64,)), latents=GaussianLatents(5)),
    num_steps=250,
    batch_size=32,
    optimizer=Adam(5e-3),
)


def setting(beta: float) -> Setting:
    """Returns the setting of a beta-VAE with this beta and five seeds."""
    label = f"beta {beta:g}"
    return Setting(label, replace(spec, objective=BetaVAE(beta)), seeds=tuple(range(5)), family=label)


study = Study(
    name="small-betas",
    question="How does a larger beta change the ELBO and WSEPIN?",
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
# Compatible runs train together. The study stores no state except its runs. The same call therefore resumes after a
# crash, and after an increase of the number of seeds it trains only the new runs.

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
# The second claim is plausible, but it does not hold here. This is a valid result: for images this small a beta of
# 3 is so large that almost no latent is informative, and uninformative latents are not separable.

# %%
figures.scatter_plot(run_table(scores), "rate", "sepin")

# %% [markdown]
# Next: `unbraid study report study.json` writes a page about the study. See also [claims](../claims.md), their
# [statistics](../statistics.md), and studies on [many GPUs](../cluster.md).
