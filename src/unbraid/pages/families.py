"""The colour of a family of objectives on a page: the same in every report, on the page of a study and in figures."""

from unbraid.figures.style import family_number

NUM_COLOURS = 8


def family_class(family: str) -> str:
    """Returns the classes of the style sheet that give an element the colour of a family: "g3", or "g3 again" where
    another family had that colour before, and lines are dashed.
    """
    number = family_number(family)
    return f"g{number % NUM_COLOURS}" + (" again" if number >= NUM_COLOURS else "")
