"""The color of a family of objectives on a page: the same in every report, on the page of a study and in figures."""

from unbraid.figures.style import family_number

NUM_COLORS = 8


def family_class(family: str) -> str:
    """Returns the CSS classes for the color of a family.

    They are "g3", or "g3 again" where another family had that color before, and lines are dashed.
    """
    number = family_number(family)
    return f"g{number % NUM_COLORS}" + (" again" if number >= NUM_COLORS else "")
