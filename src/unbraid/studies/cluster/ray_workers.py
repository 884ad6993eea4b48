"""Workers that are nodes of a Ray cluster: one task of Ray Core is one fleet. No other file imports ray.

What goes through Ray are JSON texts and bytes. Ray wraps them in pickle, which is why a cluster has to be trusted
(docs/cluster.md). Retries are the driver's: Ray's own count no exceptions, know no halves, and choose the same node.
"""

import contextlib
import logging
import os
import signal
import threading
import time
from collections.abc import Collection, Iterator, Mapping
from typing import Any, final

import ray
from ray import exceptions
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from unbraid.errors import TrainingError
from unbraid.studies.cluster.driver import Ended, LostError
from unbraid.studies.cluster.token import Token
from unbraid.studies.cluster.work import carry_out

_NODE_ID = "ray.io/node-id"
_SECONDS_FOR_A_NODE = 60.0


class _Pulse:
    """An actor that hears from tasks that they live, and where."""

    def __init__(self) -> None:
        self._heard: dict[int, tuple[str, float]] = {}

    def beat(self, ticket: int, node: str) -> None:
        self._heard[ticket] = node, time.monotonic()

    def heard(self) -> dict[int, tuple[str, float]]:
        """Returns for each ticket its node, and how many seconds ago it was heard."""
        now = time.monotonic()
        return {ticket: (node, now - at) for ticket, (node, at) in self._heard.items()}

    def forget(self, ticket: int) -> None:
        self._heard.pop(ticket, None)


def _carry_out(ticket: int, order: str, num_parcels: int, pulse: Any) -> Iterator[str | bytes]:
    """Does a piece of work on a node: yields the answer, and as many parcels as were promised, empty if need be."""
    node = ray.get_runtime_context().get_node_id()
    made = carry_out(order, lambda: pulse.beat.remote(ticket, node))
    yield next(made)
    for _ in range(num_parcels):
        yield next(made, b"")


def _sees(token: dict[str, Any]) -> bool:
    return Token(**token).is_seen


@final
class RayWorkers:
    """A cluster of Ray, at an address or, without one, on this machine alone. A fleet has a GPU, if `device` is "cuda"
    or the cluster has any, and so many CPUs.
    """

    def __init__(self, address: str | None, num_cpus: int, device: str, *, autoscaling: bool = False) -> None:
        with _kept_handlers():
            _connect(address)
        try:
            has_gpus = ray.cluster_resources().get("GPU", 0) > 0
            self.device = ("cuda" if has_gpus else "cpu") if device == "auto" else device.partition(":")[0]
            self._resources = {"CPU": float(num_cpus), "GPU": float(self.device == "cuda")}
            self._check_resources(autoscaling=autoscaling)
            here = ray.get_runtime_context().get_node_id()
            beside = NodeAffinitySchedulingStrategy(here, soft=False)
            self._pulse = ray.remote(_Pulse).options(num_cpus=0, scheduling_strategy=beside).remote()
        except BaseException:
            ray.shutdown()
            raise
        self._refs: dict[Any, int] = {}
        self._parcels: dict[int, list[Any]] = {}
        self._heard: dict[int, tuple[str, float]] = {}

    def nodes_that_miss(self, token: Token) -> list[str]:
        """Returns the addresses of the nodes that do not see the folder of the study."""
        asked = {}
        for node in _alive():
            there = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
            task = ray.remote(_sees).options(num_cpus=0, max_retries=0, scheduling_strategy=there)
            asked[task.remote(token.to_json())] = node["NodeManagerAddress"]
        done, silent = ray.wait(list(asked), num_returns=len(asked), timeout=_SECONDS_FOR_A_NODE)
        missing = [asked[ref] for ref in silent]
        for ref in done:
            try:
                seen = ray.get(ref)
            except exceptions.RayError:
                seen = False
            if not seen:
                missing.append(asked[ref])
        return missing

    def submit(self, ticket: int, order: str, num_parcels: int, avoid: Collection[str]) -> None:
        options: dict[str, Any] = {"num_cpus": self._resources["CPU"], "num_gpus": self._resources["GPU"]}
        others = [node for node in _alive() if node["NodeID"] not in avoid and self._fits(node)] if avoid else []
        if others:  # else it may go anywhere: a selector that no node meets would wait for ever
            options["label_selector"] = {_NODE_ID: f"!in({','.join(avoid)})"}
            options["fallback_strategy"] = [{"label_selector": {}}]
        task = ray.remote(_carry_out).options(num_returns=1 + num_parcels, max_retries=0, **options)
        answer, *parcels = task.remote(ticket, order, num_parcels, self._pulse)
        self._refs[answer], self._parcels[ticket] = ticket, parcels

    def wait(self, seconds: float) -> Iterator[Ended]:
        if not self._refs:
            time.sleep(seconds)
            return
        ray.wait(list(self._refs), num_returns=1, timeout=seconds)
        ready, _ = ray.wait(list(self._refs), num_returns=len(self._refs), timeout=0)
        for ref in ready:
            ticket = self._refs.pop(ref)
            node, _ = self._heard.pop(ticket, ("", 0.0))
            self._pulse.forget.remote(ticket)
            how, text = _outcome(ref)
            yield Ended(ticket, how, text, _fetched(self._parcels.pop(ticket)), node)  # type: ignore[arg-type]

    def cancel(self, ticket: int) -> None:
        for ref in [ref for ref, of in self._refs.items() if of == ticket]:
            del self._refs[ref]
            self._parcels.pop(ticket, None)
            with contextlib.suppress(exceptions.RayError):
                ray.cancel(ref, force=True)

    def signs(self) -> Mapping[int, float]:
        with contextlib.suppress(exceptions.RayError):
            self._heard = ray.get(self._pulse.heard.remote(), timeout=5)
        waiting = set(self._refs.values())
        return {ticket: ago for ticket, (_, ago) in self._heard.items() if ticket in waiting}

    def close(self) -> None:
        """Leaves the cluster; its tasks end with it. What they were at goes on from its last checkpoint."""
        with _kept_handlers():
            ray.shutdown()

    def _fits(self, node: Mapping[str, Any]) -> bool:
        return all(node["Resources"].get(name, 0) >= count for name, count in self._resources.items() if count)

    def _check_resources(self, *, autoscaling: bool) -> None:
        """Raises if no node has what a fleet asks for: Ray would wait for such a node for ever."""
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
            f"A fleet of this study asks for {asked}, and no node of the cluster has as many ({there}). Set `threads` "
            "of the study to fewer, choose another --device, or give --autoscaling if such nodes are yet to come."
        )


def _connect(address: str | None) -> None:
    os.environ.setdefault("RAY_IGNORE_UNHANDLED_ERRORS", "1")  # of parcels that a lost fleet has promised
    try:
        ray.init(
            address=address,
            log_to_driver=False,
            logging_level=logging.ERROR,
            include_dashboard=False if address is None else None,
        )
    except exceptions.AuthenticationError as error:
        raise TrainingError(
            f"The Ray cluster at {address} has token authentication on, and refused ours ({_first_line(error)}). Put "
            "the token of its head (~/.ray/auth_token there) into RAY_AUTH_TOKEN or ~/.ray/auth_token here."
        ) from None
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise TrainingError(
            f"There is no Ray cluster to reach at {address or 'this machine'} ({_first_line(error)}). Start one with "
            "`ray start --head`, give its --address, or run the study without --on ray."
        ) from None


def _outcome(ref: Any) -> tuple[str, str]:
    try:
        return "answered", ray.get(ref)
    except exceptions.OutOfMemoryError as error:
        return "out of memory", _first_line(error)
    except exceptions.RayTaskError as error:
        return "raised", f"{type(error.cause).__name__}: {error.cause}"
    except exceptions.RayError as error:
        return "lost", _first_line(error)


def _fetched(refs: list[Any]) -> Iterator[bytes]:
    """Yields parcels one by one, each out of the object store: a fleet of them need not fit into memory."""
    while refs:
        try:
            yield ray.get(refs.pop(0))
        except exceptions.RayError as error:
            raise LostError(_first_line(error)) from None


def _alive() -> list[dict[str, Any]]:
    return [node for node in ray.nodes() if node["Alive"]]


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0][:500] or type(error).__name__


@contextlib.contextmanager
def _kept_handlers() -> Iterator[None]:
    """Puts the handlers of signals back, which Ray replaces by its own: ours save checkpoints."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            for number, handler in before.items():
                if handler is not None:
                    signal.signal(number, handler)
