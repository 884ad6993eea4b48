"""Where files are cached."""

import sys
from pathlib import Path

import pytest

from unbraid._internal import files
from unbraid.errors import SpecError


def test_the_cache_is_where_the_variable_says(monkeypatch, tmp_path):
    monkeypatch.setenv("UNBRAID_CACHE", str(tmp_path / "mine"))
    assert files.cache_folder() == tmp_path / "mine"
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("UNBRAID_CACHE", "~/mine")
    assert files.cache_folder() == tmp_path / "mine"


@pytest.mark.parametrize("chosen", ["~nosuchuser/c", "~nosuchuser"])
def test_a_cache_in_the_home_of_somebody_who_is_not_there_is_refused(monkeypatch, chosen):
    monkeypatch.setenv("UNBRAID_CACHE", chosen)
    with pytest.raises(SpecError, match=f"UNBRAID_CACHE is '{chosen}'.*folder"):
        files.cache_folder()


def test_without_a_home_the_cache_must_be_named(monkeypatch):
    def homeless():
        raise RuntimeError("Could not determine home directory.")

    for name in ("UNBRAID_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    with pytest.raises(SpecError, match="^UNBRAID_CACHE is not set"):
        files.cache_folder()


@pytest.mark.parametrize(
    ("platform", "xdg", "expected"),
    [
        ("linux", "/somewhere", "/somewhere/unbraid"),
        ("linux", "", "/home/ada/.cache/unbraid"),
        ("darwin", "/somewhere", "/home/ada/Library/Caches/unbraid"),
    ],
)
def test_without_it_the_cache_is_where_the_platform_keeps_caches(monkeypatch, platform, xdg, expected):
    monkeypatch.delenv("UNBRAID_CACHE")
    monkeypatch.setenv("HOME", "/home/ada")
    monkeypatch.setenv("XDG_CACHE_HOME", xdg)
    monkeypatch.setattr(sys, "platform", platform)
    assert files.cache_folder() == Path(expected)
