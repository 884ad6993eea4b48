"""Latents with the most information about a factor."""

from unbraid._internal.names import suggestion
from unbraid.errors import CodesError
from unbraid.metrics.metric import Score

_TABLE = "mutual_information"


def top_latents(score: Score, factor: str, num_latents: int = 3) -> dict[int, str]:
    """Returns the latents with the most information about a factor, as a dictionary from latent index to label.

    The most informative latent is first. A label consists of the factor name and the information in nats. The score
    must have a table of mutual information, as MIG and RMIG. `traverse` accepts the result as `latents` and `labels`.
    """
    if _TABLE not in score.tables or not score.per_factor:
        raise CodesError(f"{score.metric} has no table of mutual information. Pass a score of MIG, RMIG or JEMMIG.")
    names = list(score.per_factor)
    if factor not in names:
        raise CodesError(f"The score has no factor {factor!r}. {suggestion(factor, names)}")
    nats = score.tables[_TABLE][:, names.index(factor)]
    if not 1 <= num_latents <= len(nats):
        raise CodesError(
            f"num_latents is {num_latents}; expected 1 to {len(nats)}. Pass at most the number of latents."
        )
    ranked = nats.argsort(descending=True, stable=True)[:num_latents].tolist()
    return {latent: f"{factor} {float(nats[latent]):.4f}" for latent in ranked}
