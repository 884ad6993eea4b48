"""What is about to be trained, in words."""

import torch

from unbraid.training.plan import plan_text
from unbraid.training.sizing import Memory

CPU = torch.device("cpu")


def test_a_plan_names_the_fleets_the_memory_and_what_comes_later():
    memory = Memory(per_member=310_000_000, beside=0, free=139_000_000_000)
    assert plan_text([3, 1], 100, CPU, memory, 2) == (
        "4 models in 2 fleets, one after the other (3 + 1), 100 steps each, on cpu. "
        "A model takes at most 310 MB, and 139 GB are free. Then 2 other models."
    )
    assert plan_text([1], 5, CPU, None, 0) == "1 model, 5 steps each, on cpu."
