"""Orthogonality of the Jacobian of a decoder: whether latents have different effects on the image."""

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
# Columns count as orthogonal if their |cos| is below this share of the |cos| of randomly rotated latents,
_FINE = 0.5
# or below `_SMALL`. Two columns with a |cos| above `_ALIKE` always count as parallel.
_SMALL, _ALIKE = 0.05, 0.9
# The share of the largest change of the image below which a latent has no effect.
_NOTHING = 1e-9


@final
@dataclass(frozen=True)
class JacobianAngles:
    """Absolute cosines of the angles between columns of the Jacobian of a decoder.

    A column is the derivative of the image with respect to one latent, multiplied by the std of the latent.

    Attributes:
        latents: The latents of the columns.
        cosines: The mean over images for each pair of latents; NaN if a latent has no effect.
        mean: The mean over images and pairs.
        turned: The mean after random rotations of the latents. If it is close to `mean`, no axes are preferred.
        lengths: The mean length of each column.
    """

    latents: tuple[int, ...]
    cosines: Float64[Tensor, "latent latent"]
    mean: float
    turned: float
    lengths: Float64[Tensor, " latent"]

    @property
    def moves(self) -> list[bool]:
        """Whether each latent has an effect on the image."""
        return (self.lengths > _NOTHING * self.lengths.max()).tolist()


def jacobian_angles(
    decode: Callable[[Tensor], Tensor],
    codes: Float[Tensor, "image column"],
    columns: Sequence[int],
    spread: Float64[Tensor, " latent"] | None = None,
    seed: int = 0,
) -> JacobianAngles:
    """Computes the angles at these codes with one Jacobian-vector product per column.

    `columns` are the indices of the compared columns of `codes`. `spread` is the std of these columns over all images.
    """
    if len(columns) < 2:
        raise CodesError(f"Expected two or more columns, got {list(columns)}. Pass the columns of two or more latents.")
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
    """Checks whether the used latents have different effects on the image."""
    angles = jacobian_angles(decode, codes, columns, spread)
    if not bool(angles.lengths.isfinite().all()):
        return Finding(NAME, "unknown", "The Jacobian of the decoder is not finite.")
    moving = [place for place, moves in enumerate(angles.moves) if moves]
    if len(moving) == len(columns):
        return _finding(angles, advice)
    rest = Finding(NAME, "unknown", "Fewer than two latents have an effect on the image, so there is no angle.")
    if len(moving) > 1:
        rest = _finding(jacobian_angles(decode, codes, [columns[place] for place in moving], spread[moving]), advice)
    idle = [latent for place, latent in enumerate(columns) if place not in moving]
    which = latents_named(idle)
    sentence = f"The code uses {which}, but the output of the decoder does not depend on {which}."
    text = f"The decoder ignores {which}: check whether decoder and codes match, then train with another seed."
    remedies = (Remedy("fix decoder", text), *rest.remedies)
    return Finding(NAME, "look", f"{sentence} {rest.sentence}", {**rest.numbers, "moves_nothing": idle}, remedies)


def _finding(angles: JacobianAngles, advice: WeightAdvice) -> Finding:
    """Returns the finding for latents that all have an effect on the image."""
    if math.isnan(angles.mean):
        return Finding(NAME, "unknown", "On no image do two latents have an effect, so there is no angle.")
    pairs = torch.combinations(torch.arange(len(angles.latents)))
    most, place = angles.cosines[pairs[:, 0], pairs[:, 1]].nan_to_num(0.0).max(dim=0)
    first, second = (angles.latents[n] for n in pairs[place].tolist())
    numbers = {"mean": angles.mean, "turned": angles.turned, "largest": float(most), "pair": [first, second]}
    sentence = (
        "The mean absolute cosine between the effects of two latents on the image is "
        f"{angles.mean:.2f} (0 is orthogonal; {angles.turned:.2f} after random rotations of the latents). The most "
        f"similar latents are {first} and {second} ({most:.2f})."
    )
    if angles.mean <= max(_SMALL, _FINE * angles.turned) and most < _ALIKE:
        return Finding(NAME, "fine", sentence, numbers)
    remedies = [Remedy("look", f"Compare the traversals of latents {first} and {second}, whose effects are similar.")]
    how = advice.more_rate if advice.is_diagonal else "latents with independent noise (GaussianLatents)"
    if how:
        remedies.append(Remedy("more rate", f"For more orthogonal effects of latents: {how}."))
    return Finding(NAME, "look", sentence, numbers, tuple(remedies))


def _cosines(products: Float64[Tensor, "frame latent latent"]) -> Float64[Tensor, "frame latent latent"]:
    """Returns the absolute cosine of each pair of columns, or NaN if a column is 0."""
    lengths = products.diagonal(dim1=1, dim2=2).clamp(min=0).sqrt()
    lengths = lengths.where(lengths > _NOTHING * lengths.max(), torch.nan)
    return (products / (lengths[:, :, None] * lengths[:, None, :])).abs().clamp(max=1.0)


def _mean(cosines: Float64[Tensor, "frame latent latent"]) -> Float64[Tensor, ""]:
    first, second = torch.combinations(torch.arange(cosines.shape[1])).T
    return cosines[:, first, second].nanmean()
