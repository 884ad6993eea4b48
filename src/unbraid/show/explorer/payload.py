"""The content of the page as JSON: models, latents, images to start from, and codes with their decoded images."""

import math
from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from unbraid._internal import draws
from unbraid.codes import Labels
from unbraid.models.trained.traverse import typical_image
from unbraid.show.explorer.decoder_graph import UnknownLayerError, decoder_graph
from unbraid.show.explorer.explored import ExploredModel
from unbraid.show.explorer.frames import decoded_frames
from unbraid.show.explorer.matching import Partner, partners
from unbraid.show.explorer.packing import Packer, Precision, as_bytes, chosen_precision
from unbraid.show.explorer.serialized import serialized
from unbraid.training.runs.spec_text import in_words

NUM_STARTS = 36
"""How many images one can start from."""
NUM_PROOFS = 16
"""How many codes are decoded here, for the page to compare itself with."""

ImageShape = tuple[int, int, int]


def payload(
    models: Sequence[ExploredModel],
    originals: Tensor | None,
    rows: Int64[Tensor, " row"],
    shape: ImageShape,
    precision: Precision,
) -> dict[str, Any]:
    """Returns the data of the scripts.

    `rows` are the images to start from, of which `originals` are the pixels, where they are known.
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
        "factors": [in_words(name) for name in names],
        "starts": starts,
        "models": [_model(model, first, rows, precision) for model in models],
        "packed": packer.packed(),
    }


def starting_rows(model: ExploredModel, num_images: int) -> Int64[Tensor, " row"]:
    """Returns the images to start from: the typical one, and others from all over the data, the same every time."""
    typical = typical_image(model.codes)
    drawn = draws.permutation(torch.tensor([0]), "explorer", 0, num_images)[0, :NUM_STARTS]
    return torch.cat([torch.tensor([typical]), drawn[drawn != typical]])[:NUM_STARTS]


def _model(model: ExploredModel, first: ExploredModel, rows: Int64[Tensor, " row"], asked: Precision) -> dict[str, Any]:
    packer = Packer()
    readings = model.readings()
    latents = _latents(model)
    for place, reading in enumerate(readings):
        follows = [in_words(name) for name, _ in reading.follows]
        latents[reading.latent] |= {
            "nats": None if math.isnan(reading.nats) else round(reading.nats, 4),
            "follows": follows,
            "unused": reading.is_unused,
            "place": place,
        }
    columns = model.columns(rows)
    found = {
        "name": model.name,
        "latents": latents,
        "columns": model.num_columns,
        "codes": packer.add("codes", columns, "float32"),
        "widths": _widths(model, rows, packer),
        "partners": None if model is first else [_as_json(each) for each in partners(first.codes, model.codes)],
        "score": None if model.mig is None or math.isnan(model.mig.value) else round(model.mig.value, 3),
        "graph": None,
        "frames": None,
        "reason": None,
    }
    try:
        if model.net is None:
            raise UnknownLayerError(f"it is a {type(model.decoder).__name__} and no module of torch")
        graph = decoder_graph(model.net, model.num_columns + model.num_noise)
    except UnknownLayerError as error:
        order = [reading.latent for reading in readings]
        found |= {"reason": str(error), "frames": decoded_frames(model, order, rows, packer)}
    else:
        precision = chosen_precision(asked, graph.num_weights)
        found |= {
            "graph": serialized(graph, precision, packer),
            "precision": precision,
            "weights": graph.num_weights,
            "proof": _proof(model, columns, packer),
        }
    return found | {"packed": packer.packed()}


def _latents(model: ExploredModel) -> list[dict[str, Any]]:
    """Returns where each latent lies in a code, and where its codes lie."""
    means, shares = model.codes.mean.double(), model.shares()
    low, high = (
        means.quantile(torch.tensor([0.005, 0.995]).double(), dim=0) if len(means) < 50_000 else _extremes(means)
    )
    std = model.codes.marginal_std
    latents: list[dict[str, Any]] = []
    for number, place in enumerate(model.where):
        found: dict[str, Any] = {
            "first": place.first,
            "width": place.width,
            "categories": place.num_categories,
            "shares": [] if shares is None else [None if math.isnan(s) else round(s, 4) for s in shares[number]],
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


def _extremes(means: Float[Tensor, "image latent"]) -> tuple[Tensor, Tensor]:
    return means.amin(dim=0), means.amax(dim=0)


def _widths(model: ExploredModel, rows: Int64[Tensor, " row"], packer: Packer) -> str | None:
    """Adds the width of the posterior of each image and continuous latent, where it is known."""
    std = model.codes.marginal_std
    return None if std is None else packer.add("widths", std[rows], "float32")


def _proof(model: ExploredModel, columns: Float[Tensor, "row column"], packer: Packer) -> dict[str, Any]:
    """Adds codes and what torch makes of them: those of images, and as many drawn from where codes lie."""
    known = columns[: NUM_PROOFS // 2]
    noise = draws.normal(torch.arange(NUM_PROOFS - len(known)), "explorer proof", 0, (columns.shape[1],)).to(columns)
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


def _as_json(partner: Partner | None) -> dict[str, Any] | None:
    if partner is None:
        return None
    return {
        "latent": partner.latent,
        "correlation": round(partner.correlation, 3),
        "scale": round(partner.scale, 5),
        "categories": list(partner.categories),
    }


def _described(factors: Sequence[Labels], row: int) -> str:
    """Returns the factors of an image as text for screen readers: "scale 2, position x 5"."""
    said = []
    for labels in factors:
        values = labels.values
        if values.ndim != 1 or (labels.known is not None and not bool(labels.known[row])):
            continue
        if bool((values == values[0]).all()):
            continue
        said.append(f"{in_words(labels.name)} {values[row].item():.4g}")
    return ", ".join(said)
