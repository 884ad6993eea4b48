"""Names of classes on the command line, and suggestions for misspelled names."""

import difflib
import functools
import re
from collections.abc import Iterable

_MAX_COMPARED = 1_000  # characters: the time to compare grows with them


def kebab_case(cls: type, base: type | None = None) -> str:
    """Returns the command-line name of a class: `BetaTCVAE` is `beta-tcvae`.

    The name of the base class is removed from the end: `BernoulliLikelihood` is `bernoulli`.

    Acronyms stay whole (`FactorVAEScore` is `factor-vae-score`), and a single capital at either end belongs to its
    neighbor (`DSprites` is `dsprites`, `CelebA` is `celeba`). Before VAE an acronym of three letters ends (`DIPVAE` is
    `dip-vae`), and one of two does not (`HFVAE` is `hfvae`).
    """
    name = cls.__name__
    if base is not None and name != base.__name__:
        name = name.removesuffix(base.__name__)
    return re.sub(
        r"(?<=[a-z0-9])(?=[A-Z][A-Za-z])|(?<=[A-Z]{2})(?=[A-Z][a-z])|(?<=[A-Z]{3})(?=VAE$)", "-", name
    ).lower()


def suggestion(given: str, valid: Iterable[str]) -> str:
    """Returns the nearest valid name, and all of them.

    The nearest contains the given name, is a misspelling of it, is contained in it, or is similar to it, in this order.
    """
    valid, given = sorted(valid), given[:_MAX_COMPARED]
    wider = [name for name in valid if len(given) > 2 and given in name]
    narrower = [name for name in valid if re.search(rf"(?<![^\W_]){re.escape(name)}(?![^\W_])", given)]
    near = functools.partial(difflib.get_close_matches, given, n=1)
    nearest = (
        near(wider, cutoff=0.0) or near(valid, cutoff=0.8) or near(narrower, cutoff=0.0) or near(valid, cutoff=0.5)
    )
    return (f"Did you mean {nearest[0]!r}? " if nearest else "") + f"Valid: {', '.join(valid) or 'none'}."
