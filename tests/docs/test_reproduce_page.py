"""docs/reproduce.md: the item on the page runs."""

import re

from tests.discovery import ROOT
from unbraid.papers.running import run_item
from unbraid.studies import StudyOptions

PAGE = (ROOT / "docs" / "reproduce.md").read_text()


def test_the_item_on_the_page_is_trained_scored_and_judged(tmp_path) -> None:
    [block] = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names: dict = {}
    exec(block, names)
    ran = run_item(names["FIGURE1"], "smoke", tmp_path, StudyOptions(device="cpu", num_scorers=0, progress=False))
    assert (ran.progress.num_trained, ran.judgement.num_runs, ran.evidence) == (10, 10, None)
