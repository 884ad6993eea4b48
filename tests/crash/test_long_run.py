"""A step leaves nothing behind in memory, and what is written about them stays small however many they are."""

import json
import sys

import pytest

NUM_STEPS = 100_000
# By the second the heap has found its size: steps that are logged and those that are not take different blocks.
LOOKS = [400, 1_200, 2_000]
# Python keeps two tuples of seven floats of each row of the history, and there is one every 200 steps. Whatever else a
# step kept would be a block or more.
BLOCKS_PER_STEP = 0.5
# Over 8,000 steps 2 MB: less than two pages of memory every 30 steps.
BYTES_PER_STEP = 250


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_memory_is_flat_and_log_and_history_are_bounded(nursery, tmp_path):
    ended = nursery.live(tmp_path, long_run={"num_steps": NUM_STEPS, "looks": LOOKS})
    assert ended.code == 0, ended.said
    found = json.loads((tmp_path / "memory.json").read_text())
    assert [look["step"] for look in found] == LOOKS
    _, early, late = found
    num_steps = late["step"] - early["step"]
    assert (late["blocks"] - early["blocks"]) / num_steps < BLOCKS_PER_STEP, found
    assert (late["bytes"] - early["bytes"]) / num_steps < BYTES_PER_STEP, found
    histories, logs = list(tmp_path.glob("runs/*/history.csv")), list(tmp_path.glob("runs/*/log.txt"))
    # The names, the first step, and one in 200: 502 lines by the end. What came after the last checkpoint is not
    # written yet.
    assert [len(history.read_text().splitlines()) for history in histories] == [2 + 1_600 // 200] * 2
    assert [len(log.read_text().splitlines()) for log in logs] == [1, 1]
