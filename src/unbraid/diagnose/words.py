"""Numbers and lists in the sentences of a diagnosis."""

from collections.abc import Iterable

from unbraid._internal.amounts import listed, short


def latents_named(numbers: Iterable[int]) -> str:
    """Returns "latent 3", or "latents 1, 4 and 5"."""
    numbers = list(numbers)
    return f"latent{'s' if len(numbers) > 1 else ''} {listed(numbers)}"


def nats(number: float) -> str:
    """Returns "1 nat", or "0.5 nats"."""
    return f"{short(number)} nat{'' if short(number) == '1' else 's'}"
