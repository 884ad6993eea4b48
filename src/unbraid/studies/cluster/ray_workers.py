"""Workers on the nodes of a Ray cluster. Each fleet is one task of Ray Core. No other file imports ray.

Ray wraps the JSON texts and bytes in pickle, so a cluster has to be trusted (docs/cluster.md). The driver retries lost
fleets instead of Ray. Retries of Ray cannot halve fleets or make exceptions, and use the same node again.
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
from unbraid.studies.cluster.fleet_task import carry_out
from unbraid.studies.index import STUDIES

_NODE_ID = "ray.io/node-id"
_SECONDS_WITHOUT_HEAD = 30.0  # after 60, Ray ends the process without an error
_SECONDS_TO_CONNECT = 5.0


class _Heartbeats:
    """An actor to which tasks signal progress and their node."""

    def __init__(self) -> None:
        self._latest: dict[Hashable, tuple[str, float]] = {}

    def beat(self, ticket: Hashable, node: str) -> None:
        self._latest[ticket] = node, time.monotonic()

    def latest(self) -> dict[Hashable, tuple[str, float]]:
        """Returns the node and the seconds since the last signal of each ticket."""
        now = time.monotonic()
        return {ticket: (node, now - at) for ticket, (node, at) in self._latest.items()}


def _carry_out(ticket: Hashable, order: str, num_parcels: int, paths: Sequence[str], heartbeats: Any) -> Iterator[Any]:
    """Executes an order on a node. Yields the answer and exactly `num_parcels` parcels, which may be empty."""
    sys.path.extend(path for path in paths if path not in sys.path)  # last: for classes of the user's packages
    node = ray.get_runtime_context().get_node_id()
    results = carry_out(json.loads(order), lambda: heartbeats.beat.remote(ticket, node))
    yield json.dumps(next(results)[0])
    for _ in range(num_parcels):
        yield next(results, ({}, b""))[1]


@final
class RayWorkers:
    """A Ray cluster at an address, by default on this machine.

    Each fleet uses `num_cpus` CPUs, and a GPU if `device` is "cuda", or if it is "auto" and the cluster has GPUs. Nodes
    that do not share the `folder` return their runs as parcels.
    """

    def __init__(
        self, folder: Path, address: str | None, num_cpus: int, device: str, *, autoscaling: bool = False
    ) -> None:
        self._folder, text = folder, secrets.token_hex(16)
        self.token = (str(folder.absolute() / STUDIES / f"token-{text[:8]}"), text)
        self._refs: dict[Any, Hashable] = {}
        self._parcels: dict[Hashable, list[Any]] = {}
        self._latest: dict[Hashable, tuple[str, float]] = {}
        self._is_reachable = True
        with _kept_handlers():
            _connect(address)
        try:
            has_gpus = ray.cluster_resources().get("GPU", 0) > 0
            self.device = ("cuda" if has_gpus else "cpu") if device == "auto" else device.partition(":")[0]
            self._resources = {"CPU": float(num_cpus), "GPU": float(self.device == "cuda")}
            self._check_resources(autoscaling=autoscaling)
            context = ray.get_runtime_context()
            here, self._head, self._answered_at = context.get_node_id(), context.gcs_address, time.monotonic()
            beside = NodeAffinitySchedulingStrategy(here, soft=False)
            self._heartbeats = ray.remote(_Heartbeats).options(num_cpus=0, scheduling_strategy=beside).remote()
            files.write_text(Path(self.token[0]), text)
        except BaseException:
            self.close()
            raise

    def submit(self, ticket: Hashable, order: Json, avoid: Collection[str]) -> None:
        options: dict[str, Any] = {"num_cpus": self._resources["CPU"], "num_gpus": self._resources["GPU"]}
        nodes = _alive() if avoid and self._is_reachable else []
        others = [node for node in nodes if node["NodeID"] not in avoid and self._fits(node)]
        if others:  # otherwise any node is allowed: a selector that no node meets would wait forever
            options["label_selector"] = {_NODE_ID: f"!in({','.join(avoid)})"}
            options["fallback_strategy"] = [{"label_selector": {}}]
        num_parcels = len(order["runs"])
        task = ray.remote(_carry_out).options(num_returns=1 + num_parcels, max_retries=0, **options)
        paths = [path or os.getcwd() for path in sys.path]  # noqa: PTH109 (a text is wanted)
        answer, *parcels = task.remote(ticket, json.dumps(order), num_parcels, paths, self._heartbeats)
        self._refs[answer], self._parcels[ticket] = ticket, parcels

    def wait(self, seconds: float) -> Iterator[Ended]:
        self._check_head()
        if not self._refs:
            time.sleep(seconds)
            return
        ray.wait(list(self._refs), num_returns=1, timeout=seconds)
        ready, _ = ray.wait(list(self._refs), num_returns=len(self._refs), timeout=0)
        for ref in ready:
            ticket = self._refs.pop(ref)
            node, _ = self._latest.pop(ticket, ("", 0.0))
            parcels = _fetched(self._parcels.pop(ticket))
            yield _outcome(ref, ticket)._replace(node=node, parcels=parcels)

    def cancel(self, ticket: Hashable) -> None:
        for ref in [ref for ref, of in self._refs.items() if of == ticket]:
            del self._refs[ref]
            self._parcels.pop(ticket, None)
            with contextlib.suppress(exceptions.RayError):
                ray.cancel(ref, force=True)

    def seconds_silent(self) -> Mapping[Hashable, float]:
        if self._is_reachable:  # otherwise the request would wait in vain
            with contextlib.suppress(exceptions.RayError):
                self._latest = ray.get(self._heartbeats.latest.remote(), timeout=5)
        waiting = set(self._refs.values())
        return {ticket: ago for ticket, (_, ago) in self._latest.items() if ticket in waiting}

    def close(self) -> None:
        """Disconnects from the cluster, which stops all tasks. Unfinished runs resume from their last checkpoints."""
        with contextlib.suppress(OSError):
            Path(self.token[0]).unlink()
        with _kept_handlers():
            ray.shutdown()

    def _check_head(self) -> None:
        """Raises if the head of the cluster has not answered for too long."""
        now, self._is_reachable = time.monotonic(), _listens(self._head)
        if self._is_reachable:
            self._answered_at = now
        if now - self._answered_at > _SECONDS_WITHOUT_HEAD:
            raise TrainingError(
                f"The head of the Ray cluster at {self._head} has not answered for {now - self._answered_at:.0f} s; "
                f"expected it to run as long as the study. The finished runs are in {self._folder}. Start the cluster "
                "again, and repeat the command: unfinished runs resume from their last checkpoints."
            )

    def _fits(self, node: Mapping[str, Any]) -> bool:
        return all(node["Resources"].get(name, 0) >= count for name, count in self._resources.items() if count)

    def _check_resources(self, *, autoscaling: bool) -> None:
        """Raises if no node has the resources of a fleet, because Ray would wait forever."""
        nodes = _alive()
        if autoscaling or any(self._fits(node) for node in nodes):
            return
        asked = " and ".join(f"{count:g} {name}s" for name, count in self._resources.items() if count)
        there = "; ".join(
            f"{node['NodeManagerAddress']}: {node['Resources'].get('CPU', 0):g} CPUs, "
            f"{node['Resources'].get('GPU', 0):g} GPUs"
            for node in nodes
        )
        raise TrainingError(
            f"A fleet of this study asks for {asked}, and no node of the cluster has these ({there}). Reduce `threads` "
            "of the study, choose another --device, or give --autoscaling if such nodes can be started."
        )


def _connect(address: str | None) -> None:
    if ray.is_initialized():
        raise TrainingError("Ray is initialized in this process already. Call ray.shutdown() first.")
    os.environ.setdefault("RAY_IGNORE_UNHANDLED_ERRORS", "1")  # of the parcels of lost fleets
    try:
        # Ray lets workers import from the current folder first: a module in a downloaded folder would be executed.
        with contextlib.chdir(Path(unbraid.__file__).parents[1]):
            ray.init(
                address=address,
                log_to_driver=False,
                logging_level=logging.ERROR,
                include_dashboard=False if address is None else None,
            )
    except exceptions.AuthenticationError as error:
        raise TrainingError(
            f"Ray was given no valid token ({_first_line(error).partition('. ')[0]}); expected the token of the "
            f"cluster at {address or 'this machine'}. {_HOW_TO_GIVE_A_TOKEN}"
        ) from None
    except (ConnectionError, RuntimeError, ValueError) as error:
        if address is not None and _listens(address):  # Ray has no exception for a wrong token
            raise TrainingError(
                f"A server listens at {address}, and Ray cannot connect to it ({' '.join(str(error).split())[:500]}); "
                "expected the head of a Ray cluster with the token and the versions of Ray and Python that are used "
                f"here. {_HOW_TO_GIVE_A_TOKEN}"
            ) from None
        raise TrainingError(
            f"There is no Ray cluster to reach at {address or 'this machine'} ({_first_line(error)}). Start one with "
            "`ray start --head`, give its --address, or run the study without --on ray."
        ) from None


_HOW_TO_GIVE_A_TOKEN = (
    "Put the token of the head (~/.ray/auth_token there) into RAY_AUTH_TOKEN or ~/.ray/auth_token here, and set "
    "RAY_AUTH_MODE=token. A cluster without tokens needs RAY_AUTH_MODE=disabled on each node and here."
)


def _listens(address: str) -> bool:
    """Returns whether a server listens at HOST:PORT."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), _SECONDS_TO_CONNECT).close()
    except (OSError, ValueError, OverflowError):
        return False
    return True


def _outcome(ref: Any, ticket: Hashable) -> Ended:
    try:
        return Ended(ticket, "answered", json.loads(ray.get(ref)))
    except exceptions.OutOfMemoryError as error:
        return Ended(ticket, "out of memory", reason=_first_line(error))
    except exceptions.RayTaskError as error:
        return Ended(ticket, "raised", reason=f"{type(error.cause).__name__}: {error.cause}")
    except exceptions.RayError as error:
        return Ended(ticket, "lost", reason=_first_line(error))


def _fetched(refs: list[Any]) -> Iterator[bytes]:
    """Yields parcels from the object store one by one, because all parcels may not fit into memory."""
    while refs:
        try:
            yield ray.get(refs.pop(0))
        except exceptions.RayError as error:
            raise RunError(_first_line(error)) from None


def _alive() -> list[dict[str, Any]]:
    return [node for node in ray.nodes() if node["Alive"]]


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0][:500] or type(error).__name__


@contextlib.contextmanager
def _kept_handlers() -> Iterator[None]:
    """Restores the signal handlers, which save checkpoints, because Ray replaces them."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            for number, handler in before.items():
                if handler is not None:
                    signal.signal(number, handler)
