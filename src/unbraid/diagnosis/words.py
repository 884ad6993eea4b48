"""Numbers and lists in the sentences of a diagnosis."""

from collections.abc import Iterable


def listed(things: Iterable[object], conjunction: str = "and") -> str:
    """Returns "a", "a and b", or "a, b and c"."""
    words = list(map(str, things))
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {conjunction} {words[-1]}"


def latents_named(numbers: Iterable[int]) -> str:
    """Returns "latent 3", or "latents 1, 4 and 5"."""
    numbers = list(numbers)
    return f"latent{'s' if len(numbers) > 1 else ''} {listed(numbers)}"


def short(number: float) -> str:
    """Returns a number with three digits that count; from 1,000 on, without decimals."""
    return f"{number:,.0f}" if abs(number) >= 999.5 else f"{number:.3g}"


def nats(number: float) -> str:
    """Returns "1 nat", or "0.5 nats"."""
    return f"{short(number)} nat{'' if short(number) == '1' else 's'}"
