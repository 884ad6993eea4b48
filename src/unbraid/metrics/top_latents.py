"""The latents that say most of a factor."""

from unbraid._internal.names import suggestion
from unbraid.errors import CodesError
from unbraid.metrics.metric import Score

_TABLE = "mutual_information"


def top_latents(score: Score, factor: str, num_latents: int = 3) -> dict[int, str]:
    """Returns the latents that say most of a factor, by number and the most first, each with what it says in nats: from
    a score that tells the information between latents and factors, such as RMIG and MIG. A traversal takes it for its
    latents and for their labels.
    """
    if _TABLE not in score.tables or not score.per_factor:
        raise CodesError(
            f"{score.metric} does not tell what each latent says of each factor. Give a score of MIG, RMIG or JEMMIG."
        )
    names = list(score.per_factor)
    if factor not in names:
        raise CodesError(f"The score has no factor {factor!r}. {suggestion(factor, names)}")
    told = score.tables[_TABLE][:, names.index(factor)]
    if not 1 <= num_latents <= len(told):
        raise CodesError(f"num_latents is {num_latents}; expected 1 to {len(told)}, as many as there are.")
    ranked = told.argsort(descending=True, stable=True)[:num_latents].tolist()
    return {latent: f"{factor} {float(told[latent]):.4f}" for latent in ranked}
