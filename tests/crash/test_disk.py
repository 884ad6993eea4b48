"""Disks that are full, files that may not grow, folders that may not be written: what and where is said, and nothing is
lost.
"""

import errno
import json
import os
import random
import re
import signal
import tempfile
from pathlib import Path

import pytest

from tests.crash.job import results
from tests.crash.moments import PHASES
from tests.crash.small_disk import NOT_ALLOWED
from tests.slow import slow_but

pytestmark = pytest.mark.slow

SEED = 7


def assert_nothing_is_left_half_written(folder):
    # images.part is whole as far as it goes, and the next command goes on with it.
    assert [str(path) for path in folder.rglob("*.part") if path.name != "images.part"] == []


@pytest.mark.parametrize("phase", slow_but(["checkpointing"], PHASES))
def test_a_disk_that_is_full_in_the_middle_of_a_file_is_told_with_the_file(phase, nursery, undisturbed, tmp_path):
    number = random.Random(f"{SEED} {phase}").randint(1, undisturbed.counts[phase, "write"])
    ended = nursery.live(tmp_path, failing={"at": [phase, "write", number], "error": "ENOSPC"})
    complaint = ended.said.rpartition("Error: ")[2]
    assert ended.code in (1, 2)
    assert str(tmp_path) in complaint
    assert os.strerror(errno.ENOSPC) in complaint
    assert "Free disk space" in complaint or "Set UNBRAID_CACHE" in complaint
    assert "Traceback" not in ended.said
    assert_nothing_is_left_half_written(tmp_path)
    undisturbed.assert_finished_by(nursery, tmp_path)


@pytest.mark.parametrize(
    ("num_bytes", "code", "file"), slow_but([(50_000, 1, "runs/")], [(5_000, 2, "cache/"), (50_000, 1, "runs/")])
)
def test_files_that_may_not_grow_are_told_by_name(num_bytes, code, file, nursery, undisturbed, tmp_path):
    # 5,000 bytes are too few for the images, which may lie elsewhere; 50,000 for a checkpoint.
    ended = nursery.live(tmp_path, files_limited={"num_bytes": num_bytes})
    assert ended.code == code
    assert f"{tmp_path}/{file}" in ended.said.rpartition("Error: ")[2]
    assert os.strerror(errno.EFBIG) in ended.said
    assert_nothing_is_left_half_written(tmp_path)
    undisturbed.assert_finished_by(nursery, tmp_path)


def test_a_real_disk_that_is_too_small_and_then_is_not(nursery, undisturbed, tmp_path):
    needed = sum(map(len, undisturbed.results.values()))
    ended = nursery.live(tmp_path, small_disk={"num_bytes": needed // 2})
    if ended.code == NOT_ALLOWED:
        pytest.skip("mounting a disk is not allowed here")
    assert ended.code == 0, ended.said
    assert json.loads((tmp_path / "codes.json").read_text()) == [1, 0], ended.said
    assert re.search(rf"Error: {tmp_path}/disk/runs/.*: {os.strerror(errno.ENOSPC)}\. Free disk space\.", ended.said)
    assert results(tmp_path) == undisturbed.results


@pytest.mark.parametrize("phase", slow_but(["encoding"], [phase for phase in PHASES if phase != "scoring"]))
def test_a_disk_that_becomes_read_only_is_told_with_the_file(phase, nursery, undisturbed, tmp_path):
    number = random.Random(f"{SEED} {phase}").randint(1, undisturbed.counts[phase, "open"])
    ended = nursery.live(tmp_path, failing={"at": [phase, "open", number], "error": "EROFS"})
    complaint = ended.said.rpartition("Error: ")[2]
    assert ended.code in (1, 2)
    assert str(tmp_path) in complaint
    assert os.strerror(errno.EROFS) in complaint
    assert "Traceback" not in ended.said
    assert_nothing_is_left_half_written(tmp_path)
    undisturbed.assert_finished_by(nursery, tmp_path)


@pytest.mark.slow
def test_scores_that_a_read_only_disk_cannot_keep_are_printed_all_the_same(nursery, undisturbed, tmp_path):
    ended = nursery.live(tmp_path, failing={"at": ["scoring", "open", 1], "error": "EROFS"})
    assert ended.code == 0, ended.said
    assert "MIG" in ended.said
    assert re.search(rf"cannot be stored \({tmp_path}/runs/.*: {os.strerror(errno.EROFS)}\)", ended.said)
    assert_nothing_is_left_half_written(tmp_path)
    undisturbed.assert_finished_by(nursery, tmp_path)


@pytest.fixture
def public_folder():
    """A folder that everybody may look into: pytest's own may only be entered by whom they belong to."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.mark.parametrize("phase", slow_but(["training"], ["training", "reporting"]))
def test_folders_that_may_not_be_written_are_told_by_name(phase, nursery, undisturbed, public_folder):
    ended = nursery.live(public_folder, killed={"at": [phase, "call", undisturbed.counts[phase, "call"] // 2]})
    assert ended.code == -signal.SIGKILL, ended.said
    folders = [path for path in public_folder.rglob("*") if path.is_dir()]
    for folder in folders:
        folder.chmod(0o555)
    before = results(public_folder)
    ended = nursery.live(public_folder, not_allowed={})
    for folder in folders:
        folder.chmod(0o755)
    assert ended.code == 1
    assert re.search(
        rf"Error: {public_folder}/runs.*: {os.strerror(errno.EACCES)}\. Check the path, the permissions", ended.said
    )
    assert results(public_folder) == before
    undisturbed.assert_finished_by(nursery, public_folder)
