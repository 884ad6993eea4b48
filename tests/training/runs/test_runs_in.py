"""The runs of a folder, chosen by what they are."""

import logging
from dataclasses import replace

import pytest

from tests.training.runs.finished_runs import SPEC, fail, finish
from tests.training.squares import PACKAGES
from unbraid import VAE, BetaVAE, Run, Scoring, grid, runs_in
from unbraid._internal import files
from unbraid.config.schedule import Linear
from unbraid.datasets.subsets import RandomSplit
from unbraid.errors import RunError, SpecError
from unbraid.metrics.unused_latents import informativeness
from unbraid.training.runs.run_writer import RunWriter
from unbraid.training.runs.runs_in import Runs, traverse_together


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A VAE that is finished, three beta-VAEs that are begun, and one that failed."""
    folder = tmp_path_factory.mktemp("runs")
    vae = replace(SPEC, objective=VAE())
    run = finish(Run.place(folder, vae, 0), seed=7)
    run.score(["mig"])
    for beta in (16.0, 4.0, Linear(0.0, 4.0)):
        RunWriter(Run.place(folder / "deep" / "er", replace(SPEC, objective=BetaVAE(beta)), 1)).begin()
    failed = Run.place(folder, vae, 2)
    RunWriter(failed).begin()
    fail(failed, 3)
    return folder


def found(folder, *conditions, **fields):
    return [(run.spec.objective, run.seed) for run in runs_in(folder, *conditions, packages=PACKAGES, **fields)]


def test_all_are_found_kin_together_numbers_before_schedules(folder):
    assert found(folder) == [
        (VAE(), 0),
        (VAE(), 2),
        (BetaVAE(4.0), 1),
        (BetaVAE(16.0), 1),
        (BetaVAE(Linear(0.0, 4.0)), 1),
    ]


@pytest.mark.parametrize(
    ("conditions", "fields", "expected"),
    [
        ({}, {"objective": BetaVAE(4.0)}, [4.0]),
        ({}, {"objective": "beta-vae", "seed": 1}, [4.0, 16.0, Linear(0.0, 4.0)]),
        ({"objective.beta": 4}, {}, [4.0]),
        ({"objective.beta": Linear(0.0, 4.0)}, {}, [Linear(0.0, 4.0)]),
        ({"objective.beta": Linear}, {}, [Linear(0.0, 4.0)]),
        ({"objective.beta": lambda beta: beta in (4, 16)}, {"objective": BetaVAE}, [4.0, 16.0]),
        ({"model.encoder.hidden": [12], "objective.beta": 16}, {"status": "unfinished"}, [16.0]),
        ({}, {"objective": BetaVAE, "num_steps": 7}, []),
        ({"objective.beta": [4, 16]}, {"objective": ["beta-vae"]}, [4.0, 16.0]),
        ({"model.encoder.hidden": [[12], (8,)], "objective.beta": 16}, {"seed": range(2)}, [16.0]),
        ({}, {"objective": ["beta-tcvae", "beta-vae"], "seed": [0, 2]}, []),
    ],
)
def test_they_are_chosen_by_fields_of_their_spec(folder, conditions, fields, expected):
    assert [objective.beta for objective, _ in found(folder, conditions, **fields)] == expected


def test_a_slice_of_runs_is_runs(folder):
    runs = runs_in(folder, packages=PACKAGES)
    assert isinstance(runs[:2], Runs)
    assert list(runs[:2]) == [runs[0], runs[1]]
    assert len(runs[:2].table()) == 2


def test_and_by_seed_and_status(folder):
    assert found(folder, status="failed") == [(VAE(), 2)]
    assert found(folder, seed=0) == [(VAE(), 0)]
    assert runs_in(folder, packages=PACKAGES).where(seed=0).where(status="failed") == ()


def test_a_field_that_no_run_has_is_refused_with_those_there_are(folder):
    with pytest.raises(SpecError, match="field 'objective.betta'."):
        runs_in(folder, {"objective.betta": 4}, packages=PACKAGES)


def test_the_table_tells_what_differs_how_far_they_are_and_the_scores(folder):
    table = runs_in(folder, packages=PACKAGES).table()
    assert table.columns[:2] == ("run", "objective")
    assert {"objective.beta", "seed", "status", "steps", "MIG"} <= {*table.columns}
    assert "num_steps" not in table.columns
    assert runs_in(folder, seed=0, packages=PACKAGES).table().columns[:3] == ("run", "objective", "seed")
    assert runs_in(folder, {"objective.beta": 4.0}, packages=PACKAGES).table()["objective.beta"] == [4.0]
    assert table["objective"] == ["vae", "vae", "beta-vae", "beta-vae", "beta-vae"]
    assert table["objective.beta"] == [None, None, 4.0, 16.0, "linear:0:4"]
    assert table["status"] == ["finished", "failed", "unfinished", "unfinished", "unfinished"]
    assert table["steps"] == [50, 2, 0, 0, 0]
    run = Run.open(folder / table[0]["run"], packages=PACKAGES)
    assert table[0]["MIG"] == run.scores()[0].value
    run.score("mig", Scoring(fraction=0.5), progress=False)
    assert runs_in(folder, packages=PACKAGES).table()["MIG"] == table["MIG"]


def test_it_is_what_they_print_and_a_frame(folder):
    runs = runs_in(folder, packages=PACKAGES)
    assert str(runs) == repr(runs) == str(runs.table())
    assert runs._repr_html_().startswith("<table>")
    pytest.importorskip("pandas")
    assert list(runs.to_pandas()["seed"]) == [0, 2, 1, 1, 1]


def test_a_name_of_no_config_is_refused(folder):
    with pytest.raises(SpecError, match="BetaVAE"):
        runs_in(folder, packages=PACKAGES, objective="BetaVAE")
    for given in ("beta-vaee", ["vae", "beta-vaee"]):
        with pytest.raises(SpecError, match="'beta-vaee'.*'beta-vae'"):
            runs_in(folder, packages=PACKAGES, objective=given)
    assert found(folder, objective=["vae", "beta-vae"], seed=[0, 2]) == [(VAE(), 0), (VAE(), 2)]


def test_runs_are_added_to_runs(folder):
    runs = runs_in(folder, packages=PACKAGES)
    both = runs[:1] + runs[1:]
    assert isinstance(both, Runs)
    assert both == runs


def test_an_empty_folder_holds_none_and_one_that_is_not_there_is_refused(tmp_path):
    assert runs_in(tmp_path) == ()
    assert str(runs_in(tmp_path, objective=VAE)) == "no runs"
    with pytest.raises(RunError, match="folder .*nowhere"):
        runs_in(tmp_path / "nowhere")


def test_a_run_that_cannot_be_read_is_passed_over_with_a_warning(tmp_path, caplog):
    for spec in grid(SPEC, {"objective.beta": [1, 4]}):
        RunWriter(Run.place(tmp_path, spec, 0)).begin()
    broken = min(tmp_path.iterdir())
    (broken / "spec.json").write_text("{")
    with caplog.at_level(logging.WARNING, "unbraid"):
        assert len(runs_in(tmp_path, packages=PACKAGES)) == 1
    assert f"{broken} is skipped" in caplog.text


@pytest.fixture
def two(tmp_path):
    return [finish(Run.place(tmp_path, SPEC, seed), seed) for seed in (0, 1)]


def test_runs_are_shown_by_name_and_their_latents_by_information(two):
    made = traverse_together({"one": two[0], "two": two[1]}, latents=[1, 0], num_frames=2, min_std=0)
    assert list(made.traversals) == ["one", "two"]
    assert [strip.latent for strip in made.traversals["one"].strips] == [1, 0]
    made = traverse_together([two[0]], num_frames=2, min_std=0)
    assert list(made.traversals) == [two[0].name]
    nats = informativeness(two[0].codes())
    shown = [float(nats[strip.latent]) for strip in made.traversals[two[0].name].strips]
    assert shown == sorted(shown, reverse=True) or max(nats) < 0.01


def test_runs_of_one_name_in_two_folders_are_both_shown(two, tmp_path):
    other = finish(Run.place(tmp_path / "other", SPEC, 0), 5)
    made = traverse_together([two[0], other, two[1]], latents=[0], num_frames=2, min_std=0)
    assert list(made.traversals) == [str(two[0].folder), str(other.folder), two[1].name]


def test_num_latents_limits_the_rows(two):
    assert len(traverse_together(two[:1], num_latents=1, num_frames=2, min_std=0).traversals[two[0].name].strips) == 1
    for given in (0, -1, 1.5, True):
        with pytest.raises(SpecError, match=f"num_latents is {given}"):
            traverse_together(two[:1], num_latents=given)
    with pytest.raises(SpecError, match="num_latents"):
        traverse_together(two[:1], latents=[0], num_latents=1)


def test_runs_of_other_images_are_refused(two, tmp_path):
    other = Run.place(tmp_path, replace(SPEC, subset=RandomSplit(0.5)), 0)
    with pytest.raises(RunError, match="trained"):
        traverse_together([two[0], other])
    with pytest.raises(RunError, match="Got no runs"):
        traverse_together([])


@pytest.fixture
def scored(tmp_path):
    """Two seeds of two betas, of which one run is not finished; the weights are those of the beginning."""
    for beta in (4.0, 16.0):
        for seed in (0, 1):
            run = Run.place(tmp_path, replace(SPEC, objective=BetaVAE(beta)), seed)
            RunWriter(run).begin() if (beta, seed) == (16.0, 1) else finish(run, seed=seed + 3)
    return runs_in(tmp_path, packages=PACKAGES)


def test_the_table_of_scores_computes_what_is_missing(scored):
    kept = scored[0].score("mig", progress=False)["mig"].value
    table = scored.score_table("mig", "sap", by="objective.beta")
    assert table.columns[:6] == ("setting", "family", "seed", "run", "mig", "sap")
    assert table["setting"] == [4.0, 4.0, 16.0, 16.0]
    assert table["mig"][0] == kept
    assert table["mig"][1] == scored[1].named_scores()["mig"].value
    assert table["mig"][3] is table["sap"][3] is None
    assert scored.score_table("mig")["setting"][0] == "beta-vae, beta 4"


def test_settings_are_compared_by_the_median_and_the_range_of_their_runs(scored):
    table = scored.compare("mig", by="objective.beta")
    values = [run.named_scores()["mig"].value for run in scored[:2]]
    assert table["objective.beta"] == [4.0, 16.0]
    assert table["runs"] == [2, 2]
    assert (table[0]["mig"], table[0]["mig min"], table[0]["mig max"]) == (sum(values) / 2, min(values), max(values))
    assert table[1]["mig"] == table[1]["mig max"] == scored[2].named_scores()["mig"].value
    with pytest.raises(SpecError, match="'objective.betta'"):
        scored.compare("mig", by="objective.betta")
    with pytest.raises(SpecError, match="'mgi'"):
        scored.compare("mgi")


def test_a_collapsed_model_has_its_badge_in_every_table(scored):
    [run] = [run for run in scored if run.seed == 0 and run.spec.objective.beta == 4.0]
    path = run.folder / "scores.json"
    run.score("mig", progress=False)
    files.write_sealed(path, files.read_sealed(path) | {"num_used": 2})
    assert run.badge == ""
    files.write_sealed(path, files.read_sealed(path) | {"num_used": 1})
    num_latents = run.spec.model.latents.num_latents
    assert run.badge.startswith(f"{num_latents - 1} of {num_latents} latents unused")
    for table in (scored.table(), scored.score_table("mig")):
        [cell] = [row["unused latents"] for row in table if row["run"] == run.name]
        assert cell == f"{num_latents - 1} of {num_latents}"
    collapsed = [sum(bool(each.badge) for each in scored[part]) for part in (slice(2), slice(2, 4))]
    assert scored.compare("mig", by="objective.beta")["collapsed"] == collapsed


def test_runs_are_exported_as_their_table(scored):
    assert scored.to_csv() == scored.table().to_csv()
    assert scored.to_latex() == scored.table().to_latex()
    many = scored * 40
    assert len(repr(Runs(many)).encode()) < 2000
