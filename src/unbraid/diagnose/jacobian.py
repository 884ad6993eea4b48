"""Orthogonality of a decoder's Jacobian: whether latents change the image in different ways."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float, Float64
from torch import Tensor

from unbraid._internal import row_draws
from unbraid.diagnose.diagnosis import Finding
from unbraid.diagnose.levers import OF_CODES
from unbraid.diagnose.remedies import Remedy
from unbraid.diagnose.words import latents_named
from unbraid.errors import CodesError
from unbraid.objectives.levers import Levers

NAME = "decoder's Jacobian"
_NUM_TURNS = 20
# Below this share of what a random turn of the latents would have, the columns are called orthogonal.
_FINE = 0.5
# So they are where |cos| is this small, and two latents whose changes have this |cos| are alike whatever the others do.
_SMALL, _ALIKE = 0.05, 0.9
# A latent that moves the image by less than this share of what another does moves nothing.
_NOTHING = 1e-9


@final
@dataclass(frozen=True)
class JacobianAngles:
    """|cos| of the angles between columns of the decoder's Jacobian.

    A column is the change of the image along one latent.

    `cosines` is the mean over images for each two latents (NaN where a latent moves nothing), `mean` that over pairs.
    `turned` is what `mean` would be after a random turn of the same latents, each in units of its spread: a code that
    prefers no axes has about as much.
    """

    latents: tuple[int, ...]
    cosines: Float64[Tensor, "latent latent"]
    mean: float
    turned: float
    lengths: Float64[Tensor, " latent"]

    @property
    def moves(self) -> list[bool]:
        """Returns whether each latent moves any image, next to the one that moves them most."""
        return (self.lengths > _NOTHING * self.lengths.max()).tolist()


def jacobian_angles(
    decode: Callable[[Tensor], Tensor],
    codes: Float[Tensor, "image column"],
    columns: Sequence[int],
    spread: Float64[Tensor, " latent"] | None = None,
    seed: int = 0,
) -> JacobianAngles:
    """Returns the angles at these codes, for these columns of them, by one forward-mode product (jvp) a column.

    `spread` is how far each of the columns moves over all images.
    """
    if len(columns) < 2:
        raise CodesError(f"Angles are between two columns or more; given: {list(columns)}.")
    moved = [_derivative(decode, codes, column) for column in columns]
    jacobian = torch.stack(moved, dim=2)  # image by pixel by latent
    products = torch.einsum("npi,npj->nij", jacobian, jacobian)
    unit = torch.ones(len(columns), dtype=torch.float64) if spread is None else spread.double().cpu()
    products = unit[:, None] * products * unit
    cosines = _cosines(products)
    turns = torch.linalg.qr(row_draws.normal((_NUM_TURNS, len(columns), len(columns)), seed, "turns of latents"))[0]
    turned = torch.stack([_mean(_cosines(turn @ products @ turn.T)) for turn in turns]).nanmean()
    lengths = products.diagonal(dim1=1, dim2=2).sqrt().mean(dim=0)
    return JacobianAngles(tuple(columns), cosines.nanmean(dim=0), float(_mean(cosines)), float(turned), lengths)


def check_jacobian(
    decode: Callable[[Tensor], Tensor],
    codes: Float[Tensor, "image column"],
    columns: Sequence[int],
    spread: Float64[Tensor, " latent"],
    levers: Levers = OF_CODES,
) -> Finding:
    """Returns whether the latents that are used change the image in different ways."""
    if len(columns) < 2:
        return Finding(NAME, "unknown", "Fewer than two continuous latents are in use.")
    angles = jacobian_angles(decode, codes, columns, spread)
    if not bool(angles.lengths.isfinite().all()):
        return Finding(NAME, "unknown", "The decoder's changes along its latents are not finite numbers.")
    idle = [latent for latent, moves in zip(columns, angles.moves, strict=True) if not moves]
    if not idle:
        return _finding(angles, levers)
    moving = [place for place, latent in enumerate(columns) if latent not in idle]
    if len(moving) > 1:
        rest = _finding(jacobian_angles(decode, codes, [columns[place] for place in moving], spread[moving]), levers)
    else:
        rest = Finding(NAME, "unknown", "Fewer than two latents move the image, so there is no angle to measure.")
    which = latents_named(idle)
    says = f"The decoder ignores {which}, though the code uses {_it(idle)}: moving {_it(idle)} changes nothing."
    numbers = {**rest.numbers, "moves_nothing": idle}
    text = f"The decoder ignores {which}: see whether it belongs to these codes, then train with another seed."
    remedies = (Remedy("fix decoder", text), *rest.remedies)
    return Finding(NAME, "look", f"{says} {rest.sentence}", numbers, remedies)


def _it(latents: Sequence[int]) -> str:
    return "it" if len(latents) == 1 else "them"


def _finding(angles: JacobianAngles, levers: Levers) -> Finding:
    """Returns what the angles of latents that all move the image say."""
    if math.isnan(angles.mean):
        return Finding(NAME, "unknown", "No image is moved by two latents, so there is no angle to measure.")
    pairs = torch.combinations(torch.arange(len(angles.latents)))
    between = angles.cosines[pairs[:, 0], pairs[:, 1]].nan_to_num(0.0)
    most, place = between.max(dim=0)
    first, second = (angles.latents[n] for n in pairs[place].tolist())
    numbers = {"mean": angles.mean, "turned": angles.turned, "largest": float(most), "pair": [first, second]}
    says = (
        "On average over pairs of latents, the changes that two latents make to the image have a |cos| of "
        f"{angles.mean:.2f} (0 is orthogonal; the same latents, turned at random, would have {angles.turned:.2f}). The "
        f"most alike are {first} and {second} ({most:.2f})."
    )
    if angles.mean <= max(_SMALL, _FINE * angles.turned) and most < _ALIKE:
        return Finding(NAME, "fine", says, numbers)
    remedies = [Remedy("look", f"Look at traversals of latents {first} and {second}, which change the image alike.")]
    if not levers.is_diagonal:
        text = "Use latents whose noise is independent (GaussianLatents): this pushes towards orthogonal changes."
        remedies.append(Remedy("more rate", text))
    elif levers.more_rate:
        text = f"To push towards orthogonal changes of the image: {levers.more_rate}."
        remedies.append(Remedy("more rate", text))
    return Finding(NAME, "look", says, numbers, tuple(remedies))


def _derivative(
    decode: Callable[[Tensor], Tensor], codes: Float[Tensor, "image column"], column: int
) -> Float64[Tensor, "image pixel"]:
    direction = torch.zeros_like(codes)
    direction[:, column] = 1.0
    moved: Tensor = torch.func.jvp(decode, (codes,), (direction,))[1]
    return moved.detach().flatten(1).double().cpu()


def _cosines(products: Float64[Tensor, "frame latent latent"]) -> Float64[Tensor, "frame latent latent"]:
    """Returns |cos| of each two columns, NaN where one of them is 0."""
    lengths = products.diagonal(dim1=1, dim2=2).clamp(min=0).sqrt()
    lengths = lengths.where(lengths > _NOTHING * lengths.max(), torch.nan)
    return (products / (lengths[:, :, None] * lengths[:, None, :])).abs().clamp(max=1.0)


def _mean(cosines: Float64[Tensor, "frame latent latent"]) -> Float64[Tensor, ""]:
    first, second = torch.combinations(torch.arange(cosines.shape[1])).T
    return cosines[:, first, second].nanmean()
