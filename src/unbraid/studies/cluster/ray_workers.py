"""Workers on the nodes of a Ray cluster. Each fleet is one task of Ray Core. No other file imports ray.

Ray pickles the JSON texts and bytes, so the cluster must be trusted (docs/cluster.md). Lost fleets are resubmitted by
the driver and not by Ray, because retries of Ray use the same node and the same number of models.
"""

import contextlib
import json
import logging
import os
import secrets
import signal
import socket
import sys
import threading
import time
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, final

import ray
from ray import exceptions
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

import unbraid
from unbraid._internal import files
from unbraid._internal.worker_pool import Ended, Json
from unbraid.errors import RunError, TrainingError
from unbraid.studies.cluster.fleet_task import run_request
from unbraid.studies.index import STUDIES

_NODE_ID = "ray.io/node-id"
_SECONDS_WITHOUT_HEAD = 30.0  # after 60, Ray ends the process without an error
_SECONDS_TO_CONNECT = 5.0


class _Heartbeats:
    """Ray actor that stores the node and the time of the last heartbeat of each task."""

    def __init__(self) -> None:
        self._latest: dict[Hashable, tuple[str, float]] = {}

    def beat(self, task_id: Hashable, node: str) -> None:
        self._latest[task_id] = node, time.monotonic()

    def latest(self) -> dict[Hashable, tuple[str, float]]:
        """Returns the node and the seconds since the last heartbeat of each task."""
        now = time.monotonic()
        return {task_id: (node, now - at) for task_id, (node, at) in self._latest.items()}


def _run_request(
    task_id: Hashable, request: str, num_bundles: int, paths: Sequence[str], heartbeats: Any
) -> Iterator[Any]:
    """Trains a fleet on a node. Yields the result as JSON and exactly `num_bundles` bundles, which may be empty."""
    sys.path.extend(path for path in paths if path not in sys.path)  # for classes in the user's packages
    node = ray.get_runtime_context().get_node_id()
    results = run_request(json.loads(request), lambda: heartbeats.beat.remote(task_id, node))
    yield json.dumps(next(results)[0])
    for _ in range(num_bundles):
        yield next(results, ({}, b""))[1]


@final
class RayWorkers:
    """Workers of the Ray cluster at an address, or of a new cluster on this machine if `address` is None.

    Each fleet uses `num_cpus` CPUs. It also uses a GPU if `device` is "cuda", or if `device` is "auto" and the cluster
    has GPUs. Nodes that do not share the `folder` return their runs as bundles.
    """

    def __init__(
        self, folder: Path, address: str | None, num_cpus: int, device: str, *, autoscaling: bool = False
    ) -> None:
        self._folder, text = folder, secrets.token_hex(16)
        self.token = (str(folder.absolute() / STUDIES / f"token-{text[:8]}"), text)
        self._refs: dict[Any, Hashable] = {}
        self._bundles: dict[Hashable, list[Any]] = {}
        self._latest: dict[Hashable, tuple[str, float]] = {}
        self._is_reachable = True
        with _restored_handlers():
            _connect(address)
        try:
            has_gpus = ray.cluster_resources().get("GPU", 0) > 0
            self.device = ("cuda" if has_gpus else "cpu") if device == "auto" else device.partition(":")[0]
            self._resources = {"CPU": float(num_cpus), "GPU": float(self.device == "cuda")}
            self._check_resources(autoscaling=autoscaling)
            context = ray.get_runtime_context()
            here, self._head, self._reached_at = context.get_node_id(), context.gcs_address, time.monotonic()
            beside = NodeAffinitySchedulingStrategy(here, soft=False)
            self._heartbeats = ray.remote(_Heartbeats).options(num_cpus=0, scheduling_strategy=beside).remote()
            files.write_text(Path(self.token[0]), text)
        except BaseException:
            self.close()
            raise

    def submit(self, task_id: Hashable, request: Json, avoid: Collection[str]) -> None:
        options: dict[str, Any] = {"num_cpus": self._resources["CPU"], "num_gpus": self._resources["GPU"]}
        nodes = _alive_nodes() if avoid and self._is_reachable else []
        others = [node for node in nodes if node["NodeID"] not in avoid and self._fits(node)]
        if others:  # otherwise any node is allowed, because a task without a possible node would wait forever
            options["label_selector"] = {_NODE_ID: f"!in({','.join(avoid)})"}
            options["fallback_strategy"] = [{"label_selector": {}}]
        num_bundles = len(request["runs"])
        task = ray.remote(_run_request).options(num_returns=1 + num_bundles, max_retries=0, **options)
        paths = [path or os.getcwd() for path in sys.path]  # noqa: PTH109 (sys.path holds strings)
        answer, *bundles = task.remote(task_id, json.dumps(request), num_bundles, paths, self._heartbeats)
        self._refs[answer], self._bundles[task_id] = task_id, bundles

    def wait(self, seconds: float) -> Iterator[Ended]:
        self._check_head()
        if not self._refs:
            time.sleep(seconds)
            return
        ray.wait(list(self._refs), num_returns=1, timeout=seconds)
        ready, _ = ray.wait(list(self._refs), num_returns=len(self._refs), timeout=0)
        for ref in ready:
            task_id = self._refs.pop(ref)
            node, _ = self._latest.pop(task_id, ("", 0.0))
            bundles = _fetched(self._bundles.pop(task_id))
            yield _outcome(ref, task_id)._replace(node=node, bundles=bundles)

    def cancel(self, task_id: Hashable) -> None:
        for ref in [ref for ref, of in self._refs.items() if of == task_id]:
            del self._refs[ref]
            self._bundles.pop(task_id, None)
            with contextlib.suppress(exceptions.RayError):
                ray.cancel(ref, force=True)

    def seconds_silent(self) -> Mapping[Hashable, float]:
        if self._is_reachable:  # otherwise the request would never be answered
            with contextlib.suppress(exceptions.RayError):
                self._latest = ray.get(self._heartbeats.latest.remote(), timeout=5)
        waiting = set(self._refs.values())
        return {task_id: ago for task_id, (_, ago) in self._latest.items() if task_id in waiting}

    def close(self) -> None:
        """Disconnects from the cluster and stops all tasks. Unfinished runs can resume from their last checkpoints."""
        with contextlib.suppress(OSError):
            Path(self.token[0]).unlink()
        with _restored_handlers():
            ray.shutdown()

    def _check_head(self) -> None:
        """Raises TrainingError if the head node of the cluster has not accepted a connection for too long."""
        now, self._is_reachable = time.monotonic(), _listens(self._head)
        if self._is_reachable:
            self._reached_at = now
        if now - self._reached_at > _SECONDS_WITHOUT_HEAD:
            raise TrainingError(
                f"The head of the Ray cluster at {self._head} has accepted no connection for "
                f"{now - self._reached_at:.0f} s; expected one every few seconds. Finished runs are in {self._folder}. "
                "Restart the cluster and repeat the command. Unfinished runs resume from their last checkpoints."
            )

    def _fits(self, node: Mapping[str, Any]) -> bool:
        return all(node["Resources"].get(name, 0) >= count for name, count in self._resources.items() if count)

    def _check_resources(self, *, autoscaling: bool) -> None:
        """Raises TrainingError if no node has the resources of a fleet, because Ray would wait forever."""
        nodes = _alive_nodes()
        if autoscaling or any(self._fits(node) for node in nodes):
            return
        asked = " and ".join(f"{count:g} {name}s" for name, count in self._resources.items() if count)
        there = "; ".join(
            f"{node['NodeManagerAddress']}: {node['Resources'].get('CPU', 0):g} CPUs, "
            f"{node['Resources'].get('GPU', 0):g} GPUs"
            for node in nodes
        )
        raise TrainingError(
            f"A fleet of this study requires {asked}, but the nodes of the cluster have {there}. Reduce `threads` of "
            "the study, choose another --device, or pass --autoscaling if the cluster can start such nodes."
        )


def _connect(address: str | None) -> None:
    if ray.is_initialized():
        raise TrainingError("Ray is already initialized in this process. Call ray.shutdown() first.")
    os.environ.setdefault("RAY_IGNORE_UNHANDLED_ERRORS", "1")  # errors of the bundles of lost fleets
    try:
        # Workers of Ray import from the current folder first, so a module in a downloaded folder would be executed.
        with contextlib.chdir(Path(unbraid.__file__).parents[1]):
            ray.init(
                address=address,
                log_to_driver=False,
                logging_level=logging.ERROR,
                include_dashboard=False if address is None else None,
            )
    except (exceptions.AuthenticationError, ConnectionError, RuntimeError, ValueError) as error:
        place, reason = address or "this machine", " ".join(str(error).split())[:200]
        if isinstance(error, exceptions.AuthenticationError) or _listens(place):  # Ray has no error for a wrong token
            raise TrainingError(
                f"The Ray cluster at {place} refuses this connection ({reason}); expected its token, and the same "
                "versions of Ray and Python. Copy the token from ~/.ray/auth_token of the head to RAY_AUTH_TOKEN or "
                "~/.ray/auth_token here, and set RAY_AUTH_MODE=token. For a cluster without tokens, set "
                "RAY_AUTH_MODE=disabled here and on each node."
            ) from None
        raise TrainingError(
            f"Cannot connect to a Ray cluster at {place} ({reason}). Start a cluster with `ray start --head` and pass "
            "its --address, or run the study without --on ray."
        ) from None


def _listens(address: str) -> bool:
    """Returns whether a server listens at HOST:PORT."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), _SECONDS_TO_CONNECT).close()
    except (OSError, ValueError, OverflowError):
        return False
    return True


def _outcome(ref: Any, task_id: Hashable) -> Ended:
    try:
        return Ended(task_id, "answered", json.loads(ray.get(ref)))
    except exceptions.OutOfMemoryError as error:
        return Ended(task_id, "out of memory", reason=_first_line(error))
    except exceptions.RayTaskError as error:
        return Ended(task_id, "raised", reason=f"{type(error.cause).__name__}: {error.cause}")
    except exceptions.RayError as error:
        return Ended(task_id, "lost", reason=_first_line(error))


def _fetched(refs: list[Any]) -> Iterator[bytes]:
    """Yields bundles from the object store one at a time, because all of them may not fit into memory."""
    while refs:
        try:
            yield ray.get(refs.pop(0))
        except exceptions.RayError as error:
            raise RunError(_first_line(error)) from None


def _alive_nodes() -> list[dict[str, Any]]:
    return [node for node in ray.nodes() if node["Alive"]]


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0][:500] or type(error).__name__


@contextlib.contextmanager
def _restored_handlers() -> Iterator[None]:
    """Restores the signal handlers after the block, because Ray replaces the handlers that save checkpoints."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            for number, handler in before.items():
                if handler is not None:
                    signal.signal(number, handler)
