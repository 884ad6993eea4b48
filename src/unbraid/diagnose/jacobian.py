"""Orthogonality of a decoder's Jacobian: whether latents change the image in different ways."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float, Float64
from torch import Tensor

from unbraid._internal import row_draws
from unbraid.diagnose.diagnosis import OF_CODES, Finding, Remedy, latents_named
from unbraid.errors import CodesError
from unbraid.objectives.weight_advice import WeightAdvice

NAME = "decoder's Jacobian"
_NUM_TURNS = 20
# Columns count as orthogonal if their |cos| is below this share of that of randomly rotated latents,
_FINE = 0.5
# or below the first of these. Two latents with a |cos| above the second count as parallel in any case.
_SMALL, _ALIKE = 0.05, 0.9
# A latent has no effect if it moves the image by less than this share of the largest movement.
_NOTHING = 1e-9


@final
@dataclass(frozen=True)
class JacobianAngles:
    """|cos| of the angles between columns of the decoder's Jacobian. A column is the derivative along one latent.

    Attributes:
        latents: The latents of the columns.
        cosines: The mean over images for each pair of latents; NaN if a latent has no effect.
        mean: The mean over pairs.
        turned: The mean after random rotations of the latents, in units of their spread. It is close to `mean` for a
            code without preferred axes.
        lengths: The mean length of each column.
    """

    latents: tuple[int, ...]
    cosines: Float64[Tensor, "latent latent"]
    mean: float
    turned: float
    lengths: Float64[Tensor, " latent"]

    @property
    def moves(self) -> list[bool]:
        """Whether each latent has an effect on the image, relative to the largest effect."""
        return (self.lengths > _NOTHING * self.lengths.max()).tolist()


def jacobian_angles(
    decode: Callable[[Tensor], Tensor],
    codes: Float[Tensor, "image column"],
    columns: Sequence[int],
    spread: Float64[Tensor, " latent"] | None = None,
    seed: int = 0,
) -> JacobianAngles:
    """Computes the angles at these codes, by one Jacobian-vector product per column.

    `spread` is the standard deviation of each column over all images.
    """
    if len(columns) < 2:
        raise CodesError(f"The columns {list(columns)} were given; expected two or more, to measure angles.")
    moved = []
    for column in columns:
        direction = torch.zeros_like(codes)
        direction[:, column] = 1.0
        change: Tensor = torch.func.jvp(decode, (codes,), (direction,))[1]
        moved.append(change.detach().flatten(1).double().cpu())
    jacobian = torch.stack(moved, dim=2)  # image by pixel by latent
    products = torch.einsum("npi,npj->nij", jacobian, jacobian)
    unit = torch.ones(len(columns), dtype=torch.float64) if spread is None else spread.double().cpu()
    products = unit[:, None] * products * unit
    cosines = _cosines(products)
    turns = torch.linalg.qr(row_draws.randn((_NUM_TURNS, len(columns), len(columns)), seed, "turns of latents"))[0]
    turned = torch.stack([_mean(_cosines(turn @ products @ turn.T)) for turn in turns]).nanmean()
    lengths = products.diagonal(dim1=1, dim2=2).sqrt().mean(dim=0)
    return JacobianAngles(tuple(columns), cosines.nanmean(dim=0), float(_mean(cosines)), float(turned), lengths)


def check_jacobian(
    decode: Callable[[Tensor], Tensor],
    codes: Float[Tensor, "image column"],
    columns: Sequence[int],
    spread: Float64[Tensor, " latent"],
    advice: WeightAdvice = OF_CODES,
) -> Finding:
    """Checks whether the used latents change the image in different ways."""
    angles = jacobian_angles(decode, codes, columns, spread)
    if not bool(angles.lengths.isfinite().all()):
        return Finding(NAME, "unknown", "The decoder's changes along its latents are not finite numbers.")
    moving = [place for place, moves in enumerate(angles.moves) if moves]
    if len(moving) == len(columns):
        return _finding(angles, advice)
    rest = Finding(NAME, "unknown", "Fewer than two latents move the image, so there is no angle to measure.")
    if len(moving) > 1:
        rest = _finding(jacobian_angles(decode, codes, [columns[place] for place in moving], spread[moving]), advice)
    idle = [latent for place, latent in enumerate(columns) if place not in moving]
    which, it = latents_named(idle), "it" if len(idle) == 1 else "them"
    sentence = f"The decoder ignores {which}, though the code uses {it}: moving {it} changes nothing."
    text = f"The decoder ignores {which}: check whether it belongs to these codes, then train with another seed."
    remedies = (Remedy("fix decoder", text), *rest.remedies)
    return Finding(NAME, "look", f"{sentence} {rest.sentence}", {**rest.numbers, "moves_nothing": idle}, remedies)


def _finding(angles: JacobianAngles, advice: WeightAdvice) -> Finding:
    """Returns the finding if all latents have an effect on the image."""
    if math.isnan(angles.mean):
        return Finding(NAME, "unknown", "No image is moved by two latents, so there is no angle to measure.")
    pairs = torch.combinations(torch.arange(len(angles.latents)))
    most, place = angles.cosines[pairs[:, 0], pairs[:, 1]].nan_to_num(0.0).max(dim=0)
    first, second = (angles.latents[n] for n in pairs[place].tolist())
    numbers = {"mean": angles.mean, "turned": angles.turned, "largest": float(most), "pair": [first, second]}
    sentence = (
        "On average over pairs of latents, the changes of the image along two latents have a |cos| of "
        f"{angles.mean:.2f} (0 is orthogonal; the same latents, rotated at random, would have {angles.turned:.2f}). "
        f"The most similar are {first} and {second} ({most:.2f})."
    )
    if angles.mean <= max(_SMALL, _FINE * angles.turned) and most < _ALIKE:
        return Finding(NAME, "fine", sentence, numbers)
    remedies = [Remedy("look", f"Look at traversals of latents {first} and {second}, which have similar effects.")]
    how = advice.more_rate if advice.is_diagonal else "latents with independent noise (GaussianLatents)"
    if how:
        remedies.append(Remedy("more rate", f"To push towards orthogonal changes of the image: {how}."))
    return Finding(NAME, "look", sentence, numbers, tuple(remedies))


def _cosines(products: Float64[Tensor, "frame latent latent"]) -> Float64[Tensor, "frame latent latent"]:
    """Returns |cos| of each pair of columns, or NaN if a column is 0."""
    lengths = products.diagonal(dim1=1, dim2=2).clamp(min=0).sqrt()
    lengths = lengths.where(lengths > _NOTHING * lengths.max(), torch.nan)
    return (products / (lengths[:, :, None] * lengths[:, None, :])).abs().clamp(max=1.0)


def _mean(cosines: Float64[Tensor, "frame latent latent"]) -> Float64[Tensor, ""]:
    first, second = torch.combinations(torch.arange(cosines.shape[1])).T
    return cosines[:, first, second].nanmean()
