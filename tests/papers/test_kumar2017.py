"""Kumar et al.: what is asked of attributes, the order of the page, and the pictures of correlations."""

from pathlib import Path
from typing import Any

import pytest
import torch

from unbraid.metrics.metric import Score
from unbraid.papers.kumar2017 import PAPER, correlation_pictures
from unbraid.papers.kumar2017.correlation_pictures import bars_of, bars_of_all, matrices
from unbraid.studies.claims import MediansInOrder, MoreFactorsHigher, OneMetricFits

ITEMS = {item.name: item for item in PAPER.items}


@pytest.mark.parametrize(("name", "least"), [("table2", 9), ("table2-faces", 19), ("table2-digits", 8)])
def test_most_attributes_are_counted_and_the_majority_is_shown(name: str, least: int) -> None:
    item = ITEMS[name]
    (counted,) = [claim for claim in item.at("quick").claims if isinstance(claim, MoreFactorsHigher)]
    assert counted.least == least
    assert any(column.endswith(":majority") for column in item.columns)


def test_figure_1_asks_for_ranks_and_table_1_for_one_norm() -> None:
    assert any(isinstance(claim, MediansInOrder) for claim in ITEMS["figure1"].at("quick").claims)
    (norm,) = [claim for claim in ITEMS["table1"].at("quick").claims if isinstance(claim, OneMetricFits)]
    assert norm.printed == (0.0017, 0.0032, 0.0113, 0.0018)


def test_what_is_said_of_the_running_covariance_is_a_control() -> None:
    controls = [claim.sentence for claim in ITEMS["table1-controls"].at("quick").claims if claim.is_control]
    assert len(controls) == 2
    assert all(sentence.startswith("A running covariance") for sentence in controls)


def test_items_stand_in_the_order_of_the_paper() -> None:
    names = list(ITEMS)
    assert names.index("table4") < names.index("figure2") < names.index("table5") < names.index("table6")


def test_chairs_have_three_factors() -> None:
    (taken,) = [choice.taken for choice in ITEMS["text-chairs"].choices if choice.what == "Z-diff"]
    assert "three factors" in taken


def _made_score(metric: str, num_latents: int, names: tuple[str, ...]) -> Score:
    table = torch.linspace(-1, 1, num_latents * len(names)).reshape(num_latents, len(names)).double()
    table[0, 0] = torch.nan
    return Score(
        metric=metric,
        value=0.5,
        interval=(0.4, 0.6),
        parts={},
        per_factor=dict.fromkeys(names, 0.5),
        tables={
            "deterministic": torch.eye(num_latents).double(),
            "latent_factor": table,
            "top_latent": torch.tensor([-1, *[num_latents - 1] * (len(names) - 1)]),
        },
    )


def test_matrices_and_bars_are_drawn_from_tables_of_scores(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    names = tuple(f"trait {place}" for place in range(25))

    def kept(work: Any, folder: Path, labels: list[str], metric: str, **settings: Any) -> dict[str, Score]:
        return {label: _made_score(metric, 32, names) for label in labels}

    monkeypatch.setattr(correlation_pictures, "_kept", kept)
    labels = ("VAE", "DIP-VAE")
    found = {
        **matrices(labels, names)(None, tmp_path),
        **bars_of_all(labels, names)(None, tmp_path),
        **bars_of(names[:2], labels, names)(None, tmp_path),
    }
    assert set(found) == {"all-latents", "live-latents", "bars-vae", "bars-dip-vae", "bars"}
    assert all(content.startswith(b"\x89PNG") for content in found.values())
