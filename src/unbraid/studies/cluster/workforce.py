"""Which workers carry out the fleets of a study: processes of this machine, or a Ray cluster."""

import contextlib
import logging
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, final

import torch

from unbraid.device import resolve_device
from unbraid.errors import SpecError
from unbraid.studies.cluster.driver import Workers
from unbraid.studies.cluster.local_workers import LocalWorkers
from unbraid.studies.cluster.token import Token, token_in

log = logging.getLogger(__name__)

Where = Literal["local", "ray"]


@final
@dataclass(frozen=True)
class Workforce:
    """Workers, the device that each has, how many threads, and the token by which they see the folder or not."""

    workers: Workers
    device: str
    threads: int
    token: Token | None


def num_workers(asked: int | None, device: str) -> int:
    """Returns how many fleets are trained at a time on this machine: as many as asked for, or one per GPU."""
    if asked is not None:
        return asked
    place = resolve_device(device)
    is_one = place.type != "cuda" or ":" in device
    return 1 if is_one else torch.cuda.device_count()


@contextlib.contextmanager
def processes_here(count: int, device: str, threads: int) -> Iterator[Workforce]:
    """Gives processes of this machine, each with a GPU of its own, or with so many threads of a CPU."""
    kind = resolve_device(device).type
    own = {"OMP_NUM_THREADS": str(threads)}
    if kind == "cuda":
        visible = os.environ.get("CUDA_VISIBLE_DEVICES", "")
        gpus = visible.split(",") if visible else [str(place) for place in range(torch.cuda.device_count())]
        environments = [{**own, "CUDA_VISIBLE_DEVICES": gpus[place % len(gpus)]} for place in range(count)]
    else:
        environments = [own] * count
    workers = LocalWorkers(environments)
    try:
        yield Workforce(workers, kind, threads, None)
    finally:
        workers.close()


@contextlib.contextmanager
def nodes_of_ray(
    address: str | None, device: str, threads: int, folder: Path, *, autoscaling: bool
) -> Iterator[Workforce]:
    """Gives the nodes of a Ray cluster. Those that do not see the folder send their runs home."""
    try:
        from unbraid.studies.cluster.ray_workers import RayWorkers
    except ImportError as error:
        raise SpecError(
            f"Ray is not installed ({error}). Install it with `pip install 'unbraid[ray]'` here and on every node, or "
            "run the study on this machine, without --on ray."
        ) from None
    workers = RayWorkers(address, threads, device, autoscaling=autoscaling)
    try:
        with token_in(folder) as token:
            if missing := workers.nodes_that_miss(token):
                log.warning(
                    "%d nodes do not see %s (the first is %s): their runs come home through Ray's object store, and a "
                    "fleet that is lost there begins anew.",
                    len(missing),
                    folder.absolute(),
                    missing[0],
                )
            yield Workforce(workers, workers.device, threads, token)
    finally:
        workers.close()
