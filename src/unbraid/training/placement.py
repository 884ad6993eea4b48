"""Images in memory, or streamed from the disk."""

import torch

from unbraid._internal.memory import free_memory
from unbraid.datasets.dataset import FactorImages
from unbraid.training.runs.spec import RunSpec

# The rest is for weights, activations and the codes of all images.
_SHARE_FOR_IMAGES = 0.5


def load_or_stream(spec: RunSpec, device: torch.device | str, *, stream: bool | None = None) -> FactorImages:
    """Returns the images of the spec, in the memory of the device or read from the disk as they are needed.

    By default they are streamed if they would take more than half of the memory that is free. Training takes the same
    batches either way. Only a call that asks for streaming is spared a first reading of it all, which takes its
    checksum.
    """
    device = torch.device(device)
    images = spec.training_data.open(verify=not stream)
    spec.check_images(images)
    if stream is None:
        stream = images.pixels.nbytes > _SHARE_FOR_IMAGES * free_memory(device)
    return images.streamed_to(device) if stream else images.to(device)
