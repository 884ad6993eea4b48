"""What is asked of a Ray cluster before anything is handed to it. No process of Ray is started here."""

import signal
from pathlib import Path

import pytest

from unbraid.errors import TrainingError

ray = pytest.importorskip("ray")
ray_workers = pytest.importorskip("unbraid.studies.cluster.ray_workers")


def node(cpus, gpus=0):
    return {"Alive": True, "NodeID": "a", "NodeManagerAddress": "192.0.2.1", "Resources": {"CPU": cpus, "GPU": gpus}}


@pytest.fixture
def left(monkeypatch):
    """A cluster that answers without being there; returns how often it was left."""
    times = []
    monkeypatch.setattr(ray, "init", lambda **_: None)
    monkeypatch.setattr(ray, "shutdown", lambda: times.append(1))
    monkeypatch.setattr(ray, "nodes", lambda: [node(2)])
    monkeypatch.setattr(ray, "cluster_resources", lambda: {"CPU": 2.0})
    return times


@pytest.mark.parametrize(("threads", "device", "asked"), [(64, "cpu", "64 CPUs"), (1, "cuda", "1 CPUs and 1 GPUs")])
def test_what_no_node_has_is_refused_at_once_and_the_nodes_are_listed(tmp_path, left, threads, device, asked):
    with pytest.raises(TrainingError, match=f"{asked}, .*192.0.2.1: 2 CPUs, 0 GPUs"):
        ray_workers.RayWorkers(tmp_path, "192.0.2.1:6379", threads, device)
    assert left == [1]


def test_a_token_that_is_refused_is_told_where_it_belongs(tmp_path, left, monkeypatch):
    def refuse(**_):
        raise ray.exceptions.AuthenticationError("no token")

    monkeypatch.setattr(ray, "init", refuse)
    with pytest.raises(TrainingError, match="RAY_AUTH_TOKEN"):
        ray_workers.RayWorkers(tmp_path, "192.0.2.1:6379", 1, "cpu")


def test_the_handlers_that_ray_replaces_are_put_back(tmp_path, left, monkeypatch):
    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(ray, "init", lambda **_: signal.signal(signal.SIGTERM, signal.SIG_IGN))
    with pytest.raises(TrainingError, match="64 CPUs, .* CPUs, .* GPUs"):
        ray_workers.RayWorkers(tmp_path, "192.0.2.1:6379", 64, "cpu")
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.parametrize(
    ("error", "how"),
    [
        (ray.exceptions.OutOfMemoryError("memory"), "out of memory"),
        (ray.exceptions.WorkerCrashedError(), "lost"),
        (ray.exceptions.NodeDiedError("gone"), "lost"),
    ],
)
def test_how_a_task_ended_is_told_apart(monkeypatch, error, how):
    def fail(_):
        raise error

    monkeypatch.setattr(ray, "get", fail)
    assert ray_workers._outcome(None, 1).how == how


def test_ray_is_started_where_nothing_of_the_current_folder_is_imported(tmp_path, left, monkeypatch):
    folders = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(ray, "init", lambda **_: folders.append(Path.cwd()))
    with pytest.raises(TrainingError, match="64 CPUs, .* CPUs, .* GPUs"):
        ray_workers.RayWorkers(tmp_path, "192.0.2.1:6379", 64, "cpu")
    assert tmp_path not in folders
    assert Path.cwd() == tmp_path


def test_ray_that_the_user_initialized_is_neither_used_nor_shut_down(tmp_path, left, monkeypatch):
    monkeypatch.setattr(ray, "is_initialized", lambda: True)
    with pytest.raises(TrainingError, match=r"ray\.shutdown"):
        ray_workers.RayWorkers(tmp_path, None, 1, "cpu")
    assert left == []
