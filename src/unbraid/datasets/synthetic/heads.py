"""Synthetic heads: a parametric shape with random traits, each within a range.

A head is about 2 units high, from the chin at y = -1 to the crown at y = 1. The face is towards the viewer along z, and
x increases to the right of the image. The skull is egg-shaped with hair. The features of the face are offsets along z.
The ears and the neck are separate surfaces. Each head is mirror-symmetric.
"""

import math
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any, Final, final

import numpy as np
import torch
from jaxtyping import Float64

from unbraid._internal import draws
from unbraid.datasets.synthetic.shading import Surface

Values = Float64[np.ndarray, " point"]


def _between(low: float, high: float) -> Any:
    """Declares a dataclass field of a trait with its range."""
    return field(metadata={"ends": (low, high)})


@final
@dataclass(frozen=True)
class Head:
    """Traits of one person, in units of length unless a comment gives another unit.

    The ranges were chosen visually, for natural and distinct heads.
    """

    width: float = _between(0.60, 0.80)
    depth: float = _between(0.80, 0.96)
    jaw: float = _between(1.75, 3.0)  # exponent of the outline below the cheeks: small is pointed, large is square
    chin: float = _between(0.0, 0.13)
    brow_ridge: float = _between(0.0, 0.09)
    brow_gap: float = _between(0.11, 0.17)
    brow_thickness: float = _between(0.025, 0.055)
    eye_height: float = _between(0.06, 0.16)
    eye_spacing: float = _between(0.24, 0.31)
    eye_size: float = _between(0.10, 0.145)
    nose_length: float = _between(0.28, 0.48)
    nose_width: float = _between(0.07, 0.14)
    nose_height: float = _between(0.16, 0.29)
    cheeks: float = _between(-0.05, 0.10)
    mouth_gap: float = _between(0.18, 0.26)
    mouth_width: float = _between(0.17, 0.30)
    lips: float = _between(0.035, 0.08)
    hairline: float = _between(0.45, 0.75)
    hair_thickness: float = _between(0.03, 0.18)
    hair_length: float = _between(0.0, 1.0)  # 0: above the ears, 1: down to the jaw
    ears: float = _between(0.7, 1.25)  # relative
    neck: float = _between(0.30, 0.45)
    skin: float = _between(0.58, 0.95)  # albedo
    hair_shade: float = _between(0.20, 0.95)  # albedo
    beard: float = _between(-1.0, 0.8)  # darkening or lightening of the skin; no beard below 0

    @property
    def brow_height(self) -> float:
        return self.eye_height + self.brow_gap

    @property
    def nose_tip(self) -> float:
        return self.eye_height - self.nose_length

    @property
    def mouth_height(self) -> float:
        return self.nose_tip - self.mouth_gap


RANGES: Final[dict[str, tuple[float, float]]] = {trait.name: trait.metadata["ends"] for trait in fields(Head)}
"""Range of each trait."""


def numbered(identity: int) -> Head:
    """Returns the traits of the person with this number, independent of the total number of people."""
    uniform = draws.uniform(torch.tensor([identity]), "heads/traits", 0, (len(RANGES),))[0].tolist()
    return Head(*(low + (high - low) * u for (low, high), u in zip(RANGES.values(), uniform, strict=True)))


def surfaces(head: Head) -> tuple[Surface, ...]:
    """Returns the surfaces of a head: face with hair, both ears, neck."""
    ear_albedo = partial(_ear_albedo, head)
    return (
        Surface(partial(_face, head), partial(_paint, head)),
        Surface(partial(_ear, head), ear_albedo),
        Surface(partial(_ear, head, side=-1), ear_albedo),
        Surface(partial(_neck, head), lambda polar, _: np.full_like(polar, 0.95 * head.skin)),
    )


def _face(head: Head, polar: Values, longitude: Values) -> Float64[np.ndarray, "3 point"]:
    x, y, z = _skull(head, polar, longitude)
    z = z + _is_front(longitude) * _features(head, x, y)
    thickness = head.hair_thickness * _hair(head, y, longitude)
    distance = np.sqrt(x**2 + y**2 + z**2)
    return np.stack([x, y, z]) * (1 + thickness / distance)


def _skull(head: Head, polar: Values, longitude: Values) -> tuple[Values, Values, Values]:
    """Returns the points of the skull: an egg shape, elliptic above, narrower at the chin, with the jaw in front."""
    y = np.cos(polar)
    exponent = np.where(y < 0, head.jaw, 2.25)
    radius = np.maximum(1 - np.abs(y) ** exponent, 0) ** (1 / exponent)
    x = head.width * radius * np.sin(longitude) * (1 - 0.22 * _step(-y, -0.2, 1.0))
    z = radius * np.cos(longitude)
    z = np.where(z > 0, 0.8 * z, head.depth * z * (1 - 0.45 * _step(-y, 0.0, 0.8)))
    jaw = 0.22 * _step(-y, 0.3, 0.95) * np.exp(-((x / 0.35) ** 2))
    return x, y, z + _is_front(longitude) * jaw


def _features(head: Head, x: Values, y: Values) -> Values:
    """Returns the offset of the facial features along z."""
    eyes, brows, tip, mouth, lips = head.eye_height, head.brow_height, head.nose_tip, head.mouth_height, head.lips
    across_mouth = np.exp(-((x / head.mouth_width) ** 4))
    return (
        -0.10 * _bumps(x, y, head.eye_spacing, eyes, 0.15, 0.09)
        + 0.06 * _bumps(x, y, head.eye_spacing, eyes, 0.10, 0.06)
        + head.brow_ridge * _bumps(x, y, 0.22, brows, 0.20, 0.07)
        + head.cheeks * _bumps(x, y, 0.40, -0.15, 0.17, 0.16)
        + _nose(head, x, y)
        + 0.07 * _bumps(x, y, head.nose_width, tip + 0.03, 0.05, 0.05)
        + 0.05 * _bumps(x, y, 0.0, mouth, 0.28, 0.18)
        + 0.9 * lips * across_mouth * np.exp(-(((y - mouth - 0.7 * lips) / (0.7 * lips)) ** 2))
        + 1.0 * lips * across_mouth * np.exp(-(((y - mouth + 0.8 * lips) / (0.8 * lips)) ** 2))
        - 0.05 * _bumps(x, y, 0.0, (mouth - 1) / 2 + 0.08, 0.20, 0.06)
        + (0.05 + head.chin) * _bumps(x, y, 0.0, -0.86, 0.20, 0.13)
    )


def _nose(head: Head, x: Values, y: Values) -> Values:
    """Returns the height of the nose: a ridge from the eyes to the tip, higher and wider towards the tip."""
    root = head.eye_height + 0.08
    down = np.clip((root - y) / (root - head.nose_tip), 0, 1)
    width = 0.05 + (head.nose_width - 0.05) * down
    height = 0.05 * _step(down, 0.0, 0.2) + (head.nose_height - 0.05) * down**1.3
    return height * _step(y, head.nose_tip - 0.07, head.nose_tip + 0.02) * np.exp(-((x / width) ** 2))


def _hair(head: Head, y: Values, longitude: Values) -> Values:
    """Returns the relative thickness of the hair. The hairline is high in front, and lower at the sides and behind."""
    side = 0.35 - 0.9 * head.hair_length
    turned = np.abs(longitude)
    ends = (
        head.hairline
        + (side - head.hairline) * _step(turned, 0.6, 1.4)
        - 0.35 * (1 - head.hair_length) * _step(turned, 1.5, 2.2)
    )
    return _step(y - ends, -0.03, 0.12)


def _ear(head: Head, polar: Values, longitude: Values, side: int = 1) -> Float64[np.ndarray, "3 point"]:
    """Returns the points of an ear: a flat ellipsoid on the right of the head, or on the left if `side` is -1."""
    thickness = 0.05 * np.sin(polar) * np.sin(side * longitude)
    length = 0.13 * head.ears * np.sin(polar) * np.cos(longitude)
    cos, sin = math.cos(0.5), math.sin(0.5)
    x = 1.02 * head.width + cos * thickness - sin * length
    return np.stack([side * x, 0.2 * head.ears * np.cos(polar), -0.08 + sin * thickness + cos * length])


def _neck(head: Head, polar: Values, longitude: Values) -> Float64[np.ndarray, "3 point"]:
    """Returns the points of the neck: a column that leans back, widens below and extends beyond the image."""
    down = 1.6 * polar / math.pi
    flare = _step(down, 0.8, 1.5)
    x = (head.neck + 0.35 * flare) * np.sin(longitude)
    z = (head.neck + 0.02 + 0.1 * flare) * np.cos(longitude) - 0.18 - 0.12 * down
    return np.stack([x, -0.45 - down, z])


def _paint(head: Head, polar: Values, longitude: Values) -> Values:
    x, y, _ = _skull(head, polar, longitude)
    front = _is_front(longitude)
    eye = np.abs(x) - head.eye_spacing
    up = y - head.eye_height
    mouth = y - head.mouth_height
    brow = y - head.brow_height + 0.6 * eye**2
    size, lips = head.eye_size, 1.7 * head.lips
    albedo = np.full_like(x, head.skin)
    # Later colors cover earlier colors.
    for coat, shade in (
        (max(head.beard, 0.0) * _beard(head, y, longitude), 0.8 * head.hair_shade),
        (front * _inside((x / head.mouth_width) ** 2 + (mouth / lips) ** 2, 0.2), 0.55 * head.skin),
        (front * _inside((x / head.mouth_width) ** 2 + (mouth / 0.02) ** 2, 0.4), 0.25 * head.skin),
        (front * _inside((eye / size) ** 2 + (up / (0.5 * size)) ** 2, 0.15), 1.0),
        (front * _inside((eye**2 + up**2) / (0.55 * size) ** 2, 0.25), 0.05),
        (
            0.9 * front * _inside((eye / 0.17) ** 4 + (brow / head.brow_thickness) ** 2, 0.4),
            0.6 * min(head.hair_shade, 0.6 * head.skin),
        ),
        (_hair(head, y, longitude), head.hair_shade),
    ):
        albedo = albedo + coat * (shade - albedo)
    return albedo


def _beard(head: Head, y: Values, longitude: Values) -> Values:
    """Returns a soft mask of the beard: 1 below a line from under the nose to the ears."""
    turned = np.abs(longitude)
    line = head.nose_tip - 0.07 + (0.05 - head.nose_tip) * _step(turned, 0.45, 1.2)
    return _step(line - y, 0.0, 0.08) * (1 - _step(turned, 1.3, 1.6))


def _ear_albedo(head: Head, polar: Values, longitude: Values) -> Values:
    """Returns the albedo of an ear, darker inside the rim."""
    return head.skin * (0.75 + 0.25 * _step(np.cos(polar) ** 2 + (np.sin(polar) * np.cos(longitude)) ** 2, 0.3, 0.6))


def _is_front(longitude: Values) -> Values:
    """Returns a soft mask of the front of the head: 1 in front, 0 at the sides and behind."""
    return _step(np.cos(longitude), 0.0, 0.5)


def _step(value: Values, start: float, end: float) -> Values:
    """Computes a smooth step from 0 at `start` to 1 at `end`."""
    t = np.clip((value - start) / (end - start), 0, 1)
    return t * t * (3 - 2 * t)


def _inside(square: Values, softness: float) -> Values:
    """Returns a soft mask: 1 if the squared distance `square` is below 1, else 0."""
    return 1 - _step(square, 1 - softness, 1 + softness)


def _bumps(x: Values, y: Values, aside: float, height: float, width: float, length: float) -> Values:
    """Returns two mirror-symmetric bumps of height 1 at distance `aside` from the middle, or one bump if it is 0."""
    return np.exp(-(((np.abs(x) - aside) / width) ** 2) - ((y - height) / length) ** 2)
