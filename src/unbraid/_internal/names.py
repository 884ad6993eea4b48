"""Names of classes on the command line, and suggestions for misspelled names."""

import difflib
import functools
import re
from collections.abc import Iterable

_MAX_COMPARED = 1_000  # characters of a given name; limits the time of the comparison


def kebab_case(cls: type, base: type | None = None) -> str:
    """Returns the command-line name of a class: `BetaTCVAE` is `beta-tcvae`.

    The name of the base class is removed from the end: `BernoulliLikelihood` is `bernoulli`.

    Acronyms stay whole (`FactorVAEScore` is `factor-vae-score`), and a single capital at either end is joined to the
    next word (`DSprites` is `dsprites`, `CelebA` is `celeba`). An acronym of three letters is split from a following
    VAE (`DIPVAE` is `dip-vae`), and an acronym of two letters is not (`HFVAE` is `hfvae`).
    """
    name = cls.__name__
    if base is not None and name != base.__name__:
        name = name.removesuffix(base.__name__)
    return re.sub(
        r"(?<=[a-z0-9])(?=[A-Z][A-Za-z])|(?<=[A-Z]{2})(?=[A-Z][a-z])|(?<=[A-Z]{3})(?=VAE$)", "-", name
    ).lower()


def suggestion(given: str, valid: Iterable[str]) -> str:
    """Returns a message with the nearest valid name and the list of all valid names.

    In order of preference, the nearest name contains the given name, is one misspelling away, is contained in the given
    name, or is similar to the given name.
    """
    valid, given = sorted(valid), given[:_MAX_COMPARED]
    wider = [name for name in valid if len(given) > 2 and given in name]
    narrower = [name for name in valid if re.search(rf"(?<![^\W_]){re.escape(name)}(?![^\W_])", given)]
    near = functools.partial(difflib.get_close_matches, given, n=1)
    nearest = (
        near(wider, cutoff=0.0) or near(valid, cutoff=0.8) or near(narrower, cutoff=0.0) or near(valid, cutoff=0.5)
    )
    return (f"Did you mean {nearest[0]!r}? " if nearest else "") + f"Valid: {', '.join(valid) or 'none'}."
