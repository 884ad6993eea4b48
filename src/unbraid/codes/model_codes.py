"""Codes of a dataset from any PyTorch module with an encoder."""

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader

from unbraid.codes.codes import Codes
from unbraid.errors import CodesError


@torch.no_grad()
def codes_of_model(module: Any, dataset: Any, batch_size: int) -> Codes:
    """Returns the codes of a dataset, as described at `Codes.from_model`."""
    parameters = module.parameters() if isinstance(module, nn.Module) else ()
    like = next(iter(parameters), torch.zeros(()))
    was_training = getattr(module, "training", False)
    if was_training:
        module.eval()
    try:
        encoded, factors = _encoded(module, dataset, batch_size, like)
    finally:
        if was_training:
            module.train()
    return Codes.from_arrays(*encoded, factors=factors)


def _encoded(module: Any, dataset: Any, batch_size: int, like: Tensor) -> tuple[list[Tensor], Any]:
    """Returns the means, and the stds if there are any, with the factors."""
    parts: list[tuple[Tensor, ...]] = []
    collected: list[Any] = []
    images = dataset.open() if hasattr(dataset, "open") else dataset
    for x, *factors in _batches(images, batch_size):
        parts.append(_parts(module.encode(x.to(like))))
        collected += factors[:1]
    if not parts:
        raise CodesError("The dataset is empty. Give at least two images.")
    known = images.factors if _has_labels(images) else _joined(collected)
    return [torch.cat(columns) for columns in zip(*parts, strict=True)], known


def _has_labels(images: Any) -> bool:
    """Returns whether these are the images of a dataset of this package, with their labels."""
    return hasattr(images, "batch") and isinstance(getattr(images, "factors", None), tuple)


def _batches(images: Any, batch_size: int) -> Iterator[Sequence[Any]]:
    """Yields batches, alone or with their factors."""
    if _has_labels(images):
        starts = range(0, len(images), batch_size)
        yield from ((images.batch(slice(start, min(start + batch_size, len(images)))),) for start in starts)
    else:
        loader = images
        if not isinstance(images, DataLoader):  # which would draw from the global generator
            loader = DataLoader(images, batch_size=batch_size, generator=torch.Generator())
        yield from (item if isinstance(item, tuple | list) else (item,) for item in loader)


def _joined(batches: list[Any]) -> Any:
    """Returns the factors of all batches: a table, or columns by name."""
    if batches and isinstance(batches[0], dict):
        return {name: _joined([batch[name] for batch in batches]) for name in batches[0]}
    return torch.cat([torch.as_tensor(batch) for batch in batches]) if batches else None


def _parts(encoded: Any) -> tuple[Tensor, ...]:
    """Returns the mean, and the std if there is one, from a result of `encode`."""
    if isinstance(encoded, Tensor):
        return (encoded,)
    if isinstance(encoded, tuple | list) and len(encoded) == 2:
        mean, logvar = encoded
        return mean, (0.5 * logvar).exp()
    if getattr(encoded, "probabilities", None) or getattr(encoded, "covariance", None) is not None:
        raise CodesError(
            "The posteriors have discrete or correlated latents, which no mean and std describe. Encode with "
            "unbraid.models.encode(model, dataset.load())."
        )
    if hasattr(encoded, "mean") and getattr(encoded, "gaussian_std", None) is not None:
        return encoded.mean, encoded.gaussian_std
    raise CodesError(
        f"encode(x) returned a {type(encoded).__name__}; expected (mean, logvar), a tensor of codes, or a Gaussian "
        "Posterior."
    )
