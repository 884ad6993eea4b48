"""Models of the explorer, and the content of its page as JSON: latents, start images and codes."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import torch
from jaxtyping import Float, Int64
from scipy.optimize import linear_sum_assignment
from torch import Tensor, nn

from unbraid._internal import draws
from unbraid._internal.arrays import as_floats
from unbraid.codes import Codes, Labels
from unbraid.codes.matching import match_latents
from unbraid.errors import CodesError
from unbraid.metrics.estimators import Quantized
from unbraid.metrics.evaluate import evaluate
from unbraid.metrics.latent_readings import Reading, factor_shares, read_latents
from unbraid.metrics.metric import Score
from unbraid.metrics.mig import MIG
from unbraid.metrics.scoring import Scoring
from unbraid.metrics.unused_latents import badge, unused_latents
from unbraid.models.autoencoder import AutoencoderModule
from unbraid.models.categories import likeliest
from unbraid.models.distributions.likelihoods import Likelihood
from unbraid.models.trained.latent_moves import Decoder, Place, decoding, places
from unbraid.models.trained.traverse import typical_image
from unbraid.show.explorer.decoder_graph import UnknownLayerError, decoder_graph
from unbraid.show.explorer.packing import INT8_FROM, Packer, Precision, as_bytes
from unbraid.training.runs.run import Run
from unbraid.training.runs.spec_text import name_text

NUM_STARTS = 36  # start images
_NUM_PROOFS = 16  # codes decoded in Python, with which the page compares its own results
# Frames of a decoder that the page cannot run: start images, latents, range and number of positions.
_FRAME_STARTS, _FRAME_LATENTS, _FRAME_RANGE, _FRAME_POSITIONS = 8, 16, (-3.0, 3.0), 13

ImageShape = tuple[int, int, int]


@final
@dataclass(frozen=True, eq=False)
class ExploredModel:
    """A decoder with codes of its training images.

    `net` is the decoder as a module from codes, followed by `num_noise` zeros, to the displayed image. It is None if
    the decoder is not a torch module. `where` has the columns of each latent in a code.
    """

    name: str
    decoder: Decoder
    net: nn.Module | None
    num_noise: int
    where: tuple[Place, ...]
    codes: Codes
    mig: Score | None

    @classmethod
    def from_run(cls, run: Run, name: str) -> "ExploredModel":
        codes = run.codes()
        kept = [score for score in run.scores(Scoring()) if score.metric == "MIG"]
        mig = kept[0] if kept else _mig(lambda metric: run.score([metric], progress=False).scores[0], codes)
        return cls._from_model(name, run.model(), codes, mig)

    @classmethod
    def from_decoder(cls, decoder: Any, given: Any) -> "ExploredModel":
        """Returns the model of any decoder (a torch module, a function, or a model of unbraid) with its codes."""
        codes = given if isinstance(given, Codes) else Codes.from_arrays(as_floats("codes", given))
        mig = _mig(lambda metric: evaluate(codes, metrics=[metric], progress=False).scores[0], codes)
        if isinstance(decoder, AutoencoderModule):
            return cls._from_model("decoder", decoder, codes, mig)
        if not callable(decoder):
            raise CodesError(f"Expected `decoder` to be a module or function of codes, got {type(decoder).__name__}.")
        net = decoder if isinstance(decoder, nn.Module) else None
        return cls("decoder", decoder, net, 0, places(decoder, codes, 0), codes, mig)

    @classmethod
    def _from_model(cls, name: str, model: AutoencoderModule, codes: Codes, mig: Score | None) -> "ExploredModel":
        net = nn.Sequential(model.decoder, _AsShown(model.likelihood))
        where = places(model, codes, 0)
        if len(where) != codes.num_latents:
            raise CodesError(
                f"Expected codes with {len(where)} latents, got {codes.num_latents}. Use codes of this model."
            )
        return cls(name, model, net, model.noise_inputs, where, codes, mig)

    @property
    def score(self) -> float | None:
        """The MIG of the codes, or None if it is undefined."""
        return None if self.mig is None or math.isnan(self.mig.value) else self.mig.value

    @property
    def num_columns(self) -> int:
        return self.where[-1].first + self.where[-1].width

    def columns(self, rows: Int64[Tensor, " row"]) -> Float[Tensor, "row column"]:
        """Returns the codes of these images as inputs of the decoder."""
        return likeliest(self.codes, rows, [place.width for place in self.where])

    def decode(self, columns: Float[Tensor, "code column"]) -> Float[Tensor, "code ..."]:
        """Decodes codes with torch, and clips the images to [0, 1]."""
        with decoding(self.decoder, self.num_columns) as decode:
            return decode(columns).float().clamp(0, 1)

    def readings(self) -> list[Reading]:
        """Returns a reading of every latent, most informative first.

        For codes without std, whose information is undefined, latents are sorted by the std of their means.
        """
        try:
            return read_latents(self.codes, self.mig)
        except CodesError:
            spread, unused = self.codes.mean.double().std(dim=0, correction=0).tolist(), unused_latents(self.codes)
            order = sorted(range(len(spread)), key=lambda latent: -spread[latent])
            return [Reading(latent, math.nan, is_unused=bool(unused[latent])) for latent in order]

    def shares(self) -> list[list[float]] | None:
        """Returns the share of the entropy of each factor that each latent explains; NaN for constant factors."""
        return None if self.mig is None else factor_shares(self.mig).tolist()


@final
class _AsShown(nn.Module):
    """Module that converts the output of a decoder to the displayed image: the mean of the likelihood."""

    def __init__(self, likelihood: Likelihood) -> None:
        super().__init__()
        self._likelihood = likelihood

    def forward(self, output: Tensor) -> Tensor:
        return self._likelihood.mean(output)


def _mig(measure: Callable[[MIG], Score], codes: Codes) -> Score | None:
    """Computes the MIG: exact, or quantized for codes without densities. Returns None if neither is defined."""
    if not codes.factors:
        return None
    for metric in (MIG(), MIG(Quantized())):
        try:
            return measure(metric)
        except CodesError:
            continue
    return None


def payload(
    models: Sequence[ExploredModel],
    originals: Tensor | None,
    rows: Int64[Tensor, " row"],
    shape: ImageShape,
    precision: Precision,
) -> dict[str, Any]:
    """Returns the content of the page for its scripts.

    `rows` has the indices of the start images. `originals` has the pixels of the start images, or is None.
    """
    packer = Packer()
    first = models[0]
    starts = {
        "count": len(rows),
        "labels": [_described(first.codes.factors, row) for row in rows.tolist()],
        "originals": None if originals is None else packer.add("originals", as_bytes(originals), "uint8"),
    }
    names = [] if first.mig is None else list(first.mig.per_factor)
    return {
        "shape": shape,
        "factors": [name_text(name) for name in names],
        "starts": starts,
        "models": [_model(model, first, rows, precision) for model in models],
        "packed": packer.packed(),
    }


def starting_rows(model: ExploredModel, num_images: int) -> Int64[Tensor, " row"]:
    """Returns the indices of the start images: a typical image first, then random images with a fixed seed."""
    typical = typical_image(model.codes)
    drawn = draws.permutation(torch.tensor([0]), "explorer", 0, num_images)[0, :NUM_STARTS]
    return torch.cat([torch.tensor([typical]), drawn[drawn != typical]])[:NUM_STARTS]


def _model(
    model: ExploredModel, first: ExploredModel, rows: Int64[Tensor, " row"], requested: Precision
) -> dict[str, Any]:
    packer = Packer()
    readings = model.readings()
    latents = _latents(model)
    for place, reading in enumerate(readings):
        latents[reading.latent] |= {
            "nats": _rounded(reading.nats, 4),
            "follows": [name_text(name) for name, _ in reading.follows],
            "unused": reading.is_unused,
            "place": place,
        }
    columns, std = model.columns(rows), model.codes.marginal_std
    found = {
        "name": model.name,
        "latents": latents,
        "columns": model.num_columns,
        "codes": packer.add("codes", columns, "float32"),
        # The std of the posterior of each image and continuous latent.
        "widths": None if std is None else packer.add("widths", std[rows], "float32"),
        "partners": None if model is first else partners(first.codes, model.codes),
        "score": None if model.score is None else round(model.score, 3),
        "badge": badge(sum(reading.is_unused for reading in readings), len(readings)),
        "graph": None,
        "frames": None,
        "reason": None,
    }
    try:
        if model.net is None:
            raise UnknownLayerError(f"a {type(model.decoder).__name__} is not a torch module")
        graph = decoder_graph(model.net, model.num_columns + model.num_noise)
    except UnknownLayerError as error:
        order = [reading.latent for reading in readings]
        found |= {"reason": str(error), "frames": _decoded_frames(model, order, rows, packer)}
    else:
        precision = requested if requested != "auto" else "int8" if graph.num_weights > INT8_FROM else "half"
        found |= {
            "graph": graph.packed(precision, packer),
            "precision": precision,
            "weights": graph.num_weights,
            "proof": _proof(model, columns, packer),
        }
    return found | {"packed": packer.packed()}


def _latents(model: ExploredModel) -> list[dict[str, Any]]:
    """Returns the columns, the explained factors and the range of each latent as JSON."""
    means, shares = model.codes.mean.double(), model.shares()
    low, high = np.quantile(means.cpu().numpy(), [0.005, 0.995], axis=0)
    std = model.codes.marginal_std
    latents: list[dict[str, Any]] = []
    for number, place in enumerate(model.where):
        found: dict[str, Any] = {
            "first": place.first,
            "width": place.width,
            "categories": place.num_categories,
            "shares": [] if shares is None else [_rounded(share, 4) for share in shares[number]],
        }
        if place.num_categories:
            table = model.codes.probabilities[number - means.shape[1]]
            found["frequencies"] = [round(p, 4) for p in table.double().mean(dim=0).tolist()]
        else:
            variance = means[:, number].var(correction=0) + (
                0 if std is None else std[:, number].double().square().mean()
            )
            found |= {
                "mean": round(float(means[:, number].mean()), 5),
                "spread": round(float(variance.sqrt()), 5),
                "low": min(-3, math.floor(float(low[number]))),
                "high": max(3, math.ceil(float(high[number]))),
            }
        latents.append(found)
    return latents


def _rounded(value: float, decimals: int) -> float | None:
    return None if math.isnan(value) else round(value, decimals)


def _proof(model: ExploredModel, columns: Float[Tensor, "row column"], packer: Packer) -> dict[str, Any]:
    """Adds test codes and their images decoded by torch: codes of images, and random codes of a similar range."""
    known = columns[: _NUM_PROOFS // 2]
    noise = draws.normal(torch.arange(_NUM_PROOFS - len(known)), "explorer proof", 0, (columns.shape[1],)).to(columns)
    drawn = known[torch.arange(len(noise)) % len(known)].clone()
    for number, place in enumerate(model.where):
        if not place.num_categories:
            drawn[:, place.first] = 1.5 * noise[:, place.first] * model.codes.mean[:, number].abs().mean().clamp(min=1)
    codes = torch.cat([known, drawn]).float()
    images = model.decode(codes).flatten(1)
    return {
        "count": len(codes),
        "codes": packer.add("proof.codes", codes, "float32"),
        "images": packer.add("proof.images", images, "unit16"),
    }


def _decoded_frames(model: ExploredModel, order: list[int], rows: Tensor, packer: Packer) -> dict[str, Any]:
    """Returns decoded images for a page that cannot run the decoder.

    There is one image for each combination of a start image, an informative latent, and a position of the latent.
    """
    starts = model.columns(rows[:_FRAME_STARTS])
    latents = order[:_FRAME_LATENTS]
    positions = [model.where[latent].positions(_FRAME_RANGE, _FRAME_POSITIONS) for latent in latents]
    frames = [
        model.decode(model.where[latent].moved(start, there))
        for start in starts
        for latent, there in zip(latents, positions, strict=True)
    ]
    return {
        "starts": len(starts),
        "latents": latents,
        "positions": [list(there) for there in positions],
        "images": packer.add("frames", as_bytes(torch.cat([model.decode(starts), *frames]).flatten(1)), "uint8"),
    }


def partners(ours: Codes, theirs: Codes) -> list[dict[str, Any] | None]:
    """Matches each latent of `ours` to a latent of `theirs`. Returns JSON, with None for latents without a match.

    Continuous latents are matched one to one with the largest sum of absolute correlations. `scale` converts a step of
    our latent to a step of the matched latent.

    Discrete latents are matched in order, if both have the same number of categories. `categories` maps our categories
    to the matched categories, so that most images are in matched categories; `correlation` is the share of these.
    """
    found: list[dict[str, Any] | None] = [None] * ours.num_latents
    for pair in match_latents(ours, theirs).pairs:
        one, other = (codes.mean[:, j].double().std() for codes, j in ((ours, pair.first), (theirs, pair.second)))
        found[pair.first] = {
            "latent": pair.second,
            "correlation": round(pair.correlation, 3),
            "scale": round(math.copysign(float(other / one), pair.correlation), 5),
            "categories": [],
        }
    first, second = ours.mean.shape[1], theirs.mean.shape[1]
    for number, (one, other) in enumerate(zip(ours.probabilities, theirs.probabilities, strict=False)):
        if one.shape[1] == other.shape[1]:
            one, other = one.double().cpu(), other.double().cpu()
            weights = torch.ones(len(one)) if ours.weights is None else ours.weights.cpu()
            weights = weights.double() / weights.sum()
            _, chosen = linear_sum_assignment((one.T @ (other * weights[:, None])).numpy(), maximize=True)
            agrees = torch.from_numpy(chosen)[one.argmax(dim=1)] == other.argmax(dim=1)
            found[first + number] = {
                "latent": second + number,
                "correlation": round(float(weights @ agrees.double()), 3),
                "scale": 1.0,
                "categories": chosen.tolist(),
            }
    return found


def _described(factors: Sequence[Labels], row: int) -> str:
    """Returns the factors of an image as text for screen readers, such as "scale 2, position x 5"."""
    shown = [
        labels
        for labels in factors
        if not labels.is_soft and bool(labels.is_known[row]) and bool((labels.values != labels.values[0]).any())
    ]
    return ", ".join(f"{name_text(labels.name)} {labels.values[row].item():.4g}" for labels in shown)
