"""The allocator can be told to keep what is freed, and a user's own settings win."""

import os
import platform
import subprocess
import sys

import pytest

CODE = "from unbraid.allocator import keep_freed_memory; print(keep_freed_memory())"


def told(**environment: str) -> str:
    """In a Python of its own: the setting lasts as long as the process."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}
    done = subprocess.run(
        [sys.executable, "-c", CODE], env=inherited | environment, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc has mallopt")
def test_glibc_takes_the_setting():
    assert told() == "True"


def test_a_users_own_settings_are_left_alone():
    assert told(MALLOC_TRIM_THRESHOLD_="131072") == "False"
