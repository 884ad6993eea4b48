"""Usable cores: those of the affinity, within the quota of a container."""

import os

import pytest

from unbraid._internal import cores


@pytest.fixture
def groups(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(64)), raising=False)
    monkeypatch.setattr(cores, "_CGROUPS", tmp_path / "cgroup")
    monkeypatch.setattr(cores, "_MEMBERSHIP", tmp_path / "membership")

    return (tmp_path / "membership").write_text


def put(tmp_path, name, content):
    path = tmp_path / "cgroup" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)


def test_without_a_quota_the_affinity_counts(groups, tmp_path):
    assert cores.usable_cores() == 64
    groups("0::/\n")
    put(tmp_path, "cpu.max", "max 100000")
    assert cores.usable_cores() == 64


@pytest.mark.parametrize(
    ("membership", "files", "expected"),
    [
        ("0::/\n", {"cpu.max": "200000 100000"}, 2),
        ("0::/a/b\n", {"a/cpu.max": "150000 50000", "a/b/cpu.max": "max 100000"}, 3),
        ("0::/elsewhere\n", {"cpu.max": "10000 100000"}, 1),
        ("4:cpu,cpuacct:/job\n", {"cpu/job/cpu.cfs_quota_us": "400000", "cpu/job/cpu.cfs_period_us": "100000"}, 4),
        ("4:cpu,cpuacct:/\n", {"cpu,cpuacct/cpu.cfs_quota_us": "-1", "cpu,cpuacct/cpu.cfs_period_us": "100000"}, 64),
        ("4:cpu:/docker/1\n", {"cpu/cpu.cfs_quota_us": "200000", "cpu/cpu.cfs_period_us": "100000"}, 2),
        ("4:memory:/\n", {"cpu/cpu.cfs_quota_us": "", "cpu.max": "half"}, 64),
    ],
)
def test_a_quota_of_either_version_counts(groups, tmp_path, membership, files, expected):
    groups(membership)
    for name, content in files.items():
        put(tmp_path, name, content)
    assert cores.usable_cores() == expected
