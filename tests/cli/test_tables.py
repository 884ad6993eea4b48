"""Tables of runs and of scores."""

import io
import json
import math

from rich.console import Console

from unbraid._internal import files
from unbraid.cli.score_cards import score_cards
from unbraid.cli.tables import (
    NamedScorecard,
    card_table,
    comparison_table,
    median,
    print_rows,
    row_title,
    run_row,
    score_table,
)
from unbraid.metrics import Score
from unbraid.metrics.scorecard import Scorecard
from unbraid.training.runs import Run


def printed(table) -> list[list[str]]:
    console = Console(file=io.StringIO(), width=120, markup=False)
    console.print(table)
    return [line.split() for line in console.file.getvalue().splitlines()]


def score(value: float, **gaps: float) -> Score:
    return Score("MIG", value, per_factor=gaps, settings={"estimator": "exact"})


def named(label: str, seed: int | None, one: Score, num_unused: int = 0, **ends: float) -> NamedScorecard:
    return NamedScorecard(label, label, Scorecard(("mig",), (one,), {}, 10, 2, num_unused=num_unused), seed, ends)


def test_a_factor_without_a_gap_has_no_column():
    rows = printed(score_table([named("vae", 0, score(0.25, shape=math.nan, scale=0.25))]))
    assert rows[0] == ["MIG", "over", "scale", "(estimator", "exact)"]
    assert rows[1] == ["objective", "seed", "MIG", "95", "%", "interval", "scale"]
    assert rows[2] == ["vae", "0", "0.250", "0.250"]


def test_the_median_over_seeds_follows():
    rows = printed(
        score_table(
            [named("vae", seed, score(value), distortion=90.0, rate=9.0) for seed, value in enumerate((0.1, 0.4, 0.2))]
        )
    )
    assert rows[-1] == ["vae", "median", "0.200", "90.0", "9.0"]


def test_a_single_seed_has_no_median():
    rows = printed(score_table([named("vae", 0, score(0.1)), named("beta-vae", 0, score(0.2))]))
    assert len(rows) == 4


def test_a_label_is_printed_as_it_is():
    assert printed(score_table([named("[red]codes.npz", None, score(0.1))]))[2][0] == "[red]codes.npz"


def vouch_for(path):
    """Say in finished.json that the file of the run is as it should be."""
    record = json.loads((path.parent / "finished.json").read_text())
    record["sha256"][path.name] = files.sha256(path)
    (path.parent / "finished.json").write_text(json.dumps(record))


def test_a_card_has_the_end_of_training(trained):
    run = Run.open(min(trained.iterdir()))
    [each] = score_cards([run], "mig", device="cpu")
    assert each.end("distortion") == run.history["distortion"][-1]
    rewritten = run.folder / "history.csv"
    rewritten.write_text("step,loss,rate\n" + "".join(f"{step},1,{step}\n" for step in range(20)))
    vouch_for(rewritten)
    [each] = score_cards([run], "mig", device="cpu")
    assert each.end("rate") == 18.5
    assert math.isnan(each.end("distortion"))


def test_an_unfinished_run_shows_how_far_it_is(trained):
    run = Run.open(min(trained.iterdir()))
    assert run_row(run, "name")[3:5] == ["finished", "2/2"]
    assert run_row(run, "name", "vae, batch size 8")[1] == "vae, batch size 8"
    (run.folder / "finished.json").unlink()
    assert run_row(run, "name")[3:5] == ["unfinished", "0/2"]
    (run.folder / "checkpoints").mkdir()
    (run.folder / "checkpoints" / "step-0000000001.json").touch()
    assert run_row(run, "name")[3:5] == ["unfinished", "1/2"]


def test_the_median_is_of_what_is_finite():
    assert median([1.0, math.nan, 3.0]) == 2.0
    assert math.isnan(median([]))


def test_an_interval_stands_beside_its_score_and_not_beside_a_median():
    rows = [named("vae", seed, Score("MIG", 0.2, (0.1, 0.3))) for seed in (0, 1)]
    shown = printed(score_table(rows))
    assert shown[2] == ["vae", "0", "0.200", "0.100", "to", "0.300"]
    assert shown[-1] == ["vae", "median", "0.200"]


def card(num_unused: int = 0, **values: float) -> Scorecard:
    scores = tuple(Score(name.upper(), value, (0.0, 1.0), settled=False) for name, value in values.items())
    return Scorecard(tuple(values), scores, {name: name != "jemmig" for name in values}, 10, 2, num_unused=num_unused)


def test_a_card_is_a_row_for_each_score():
    assert printed(card_table(card(mig=0.5)))[1] == ["MIG", "0.500", "0.000", "to", "1.000", "↑", "no"]


def test_cards_of_one_label_are_shown_by_their_median_and_its_spread_and_keep_their_direction():
    shown = printed(
        comparison_table(
            [
                NamedScorecard("vae", "a", card(mig=0.1)),
                NamedScorecard("vae", "b", card(mig=0.3)),
                NamedScorecard("codes", "c", card(mig=0.7, jemmig=0.25)),
            ]
        )
    )
    assert " ".join(shown[0]) == "metric better vae (median and range of 2) codes"
    assert [" ".join(row) for row in shown[1:]] == ["MIG ↑ 0.200 (0.100 to 0.300) 0.700", "JEMMIG ↓ – 0.250"]


def test_a_row_says_what_it_is():
    assert row_title("elbo-decomposition") == "total correlation (elbo-decomposition)"
    assert row_title("dci") == "DCI disentanglement, LASSO (dci)"
    assert row_title("dci:boosted_trees") == "DCI disentanglement, boosted trees (dci:boosted_trees)"
    assert row_title("mig") == "MIG"
    assert row_title("modularity") == "modularity"
    assert [row_title(name) for name in ("elbo", "importance-weighted-bound")] == ["ELBO", "importance-weighted bound"]
    assert (
        row_title("reconstruction-error:absolute") == "reconstruction error, absolute (reconstruction-error:absolute)"
    )
    assert row_title("one-of-my-own") == "one-of-my-own"


def test_medians_say_how_many_of_their_runs_are_collapsed():
    shown = printed(
        comparison_table(
            [
                NamedScorecard("vae", "a", card(2, mig=0.1)),
                NamedScorecard("vae", "b", card(mig=0.3)),
                NamedScorecard("codes", "c", card(1, mig=0.7, sap=0.25)),
            ]
        )
    )
    assert " ".join(shown[0]) == "metric better vae (median and range of 2, 1 collapsed) codes (collapsed)"
    rows = printed(score_table([named("vae", 0, score(0.1), 2), named("vae", 1, score(0.3))]))
    assert " ".join(rows[1]) == "objective seed MIG 95 % interval unused latents"
    assert " ".join(rows[2]) == "vae 0 0.100 2 of 2"
    assert " ".join(rows[-1]) == "vae median 0.200 1 of 2 runs collapsed"


def test_a_table_of_very_many_rows_has_the_same_cells(monkeypatch, capsys):
    heads, rows = ("setting", "mig ↑"), [("beta 1", "0.3"), ("a longer one", "")]
    print_rows(heads, rows)
    fitted = capsys.readouterr().out
    monkeypatch.setattr("unbraid.cli.tables._MOST_FITTED", 1)
    print_rows(heads, rows)
    plain = capsys.readouterr().out
    assert [line.rstrip() for line in fitted.splitlines()] == plain.splitlines()
