"""Style of figures: colors, markers and dashes of families, and text sizes for a column of a paper."""

import hashlib
import re
from dataclasses import dataclass
from typing import final

# The color-blind safe palette of Okabe and Ito, with gray instead of yellow, which is faint on white.
_COLORS = ("#000000", "#E69F00", "#0072B2", "#D55E00", "#009E73", "#56B4E9", "#CC79A7", "#8C8C8C")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
_DASHES = ("-", "--", "-.", ":")
# The order of styles. The style of any other family is a hash of its name.
_KNOWN = (
    *("vae", "betavae", "betatcvae", "factorvae", "dipvaei", "dipvaeii", "hfvae", "dipvae", "annealedvae", "infovae"),
    *("aae", "betasvae", "anchorvae", "informationdropout", "infogan", "decomposedelbo", "composite"),
)
_NUM_LOOKS = len(_COLORS) * len(_MARKERS)  # 8 and 9 have no common divisor, so all pairs differ

COLUMN_WIDTH = 3.4  # inches, of a column of a paper
TEXT_SIZE = 8.0  # points
SMALL_TEXT = 7.0
INK, FAINT, PLAIN = "#222222", "#BBBBBB", "#0072B2"
SEQUENTIAL, DIVERGING = "cividis", "PuOr"


@final
@dataclass(frozen=True)
class Look:
    """Color, marker and line style of a family."""

    color: str
    marker: str
    dashes: str


def family_look(family: str) -> Look:
    """Returns the style of a family by its name. The names "beta-VAE", "BetaVAE" and "β-VAE" have the same style."""
    return numbered_look(family_number(family))


def family_number(family: str) -> int:
    """Returns the index of the style of a family, which also determines its color on HTML pages."""
    name = re.sub("[^a-z0-9]", "", family.lower().replace("β", "beta"))
    if name in _KNOWN:
        return _KNOWN.index(name)
    digest = int.from_bytes(hashlib.sha256(family.encode()).digest()[:8], "big")
    return len(_KNOWN) + digest % (_NUM_LOOKS - len(_KNOWN))


def numbered_look(number: int) -> Look:
    """Returns the style with this index, for instance for a latent."""
    dashes = _DASHES[(number // len(_COLORS)) % len(_DASHES)]
    return Look(_COLORS[number % len(_COLORS)], _MARKERS[number % len(_MARKERS)], dashes)
