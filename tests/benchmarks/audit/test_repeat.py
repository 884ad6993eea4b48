"""The command on a page measures what the page shows."""

import dataclasses
import shlex

import pytest

from benchmarks.audit import SIZES, Size
from benchmarks.audit.auditing import audited_metrics
from benchmarks.audit.contents import Contents
from benchmarks.audit.findings import AuditedMetric, Measurement
from benchmarks.audit.repeat import is_of_all_metrics, repeat_command
from tests.benchmarks.audit.made_audits import made, together
from unbraid.metrics import DCIES, MED, MIG

TWO = dataclasses.replace(together(made({}), made({}, MED())), size=dataclasses.asdict(SIZES["quick"]))
FULL = dataclasses.replace(TWO, size=dataclasses.asdict(SIZES["full"]))


def test_all_metrics_of_the_page_are_named():
    assert repeat_command(TWO) == "python -m benchmarks.audit --metrics mig,med --size quick"
    assert repeat_command(FULL) == "python -m benchmarks.audit --metrics mig,med"
    assert repeat_command(FULL, packages=["mine", "theirs"]).endswith(" --packages mine,theirs")


def test_an_audit_of_every_metric_names_none():
    every = tuple(part for metric in audited_metrics(None).values() for part in AuditedMetric(metric, "all").with_parts)
    whole = dataclasses.replace(FULL, metrics=every)
    assert (repeat_command(whole), is_of_all_metrics(whole), is_of_all_metrics(FULL)) == (
        "python -m benchmarks.audit",
        True,
        False,
    )


def test_settings_with_commas_are_typed_as_they_are_read():
    audit = dataclasses.replace(FULL, metrics=(AuditedMetric(DCIES(hidden=(0, 8)), "all"), AuditedMetric(MIG(), "all")))
    *_, metrics = shlex.split(repeat_command(audit))
    assert set(audited_metrics(metrics)) == Contents.of(audit).metrics


def test_runs_are_named_by_their_folders_if_those_are_known():
    steps = [Measurement("training", f"vae-seed{seed}", seed, step=1, values={"mig": 0.5}) for seed in (0, 1)]
    trained = dataclasses.replace(FULL, measurements=(*FULL.measurements, *steps))
    assert repeat_command(trained, ["runs"]) == "python -m benchmarks.audit runs --metrics mig,med"
    assert (
        repeat_command(trained) == "python -m benchmarks.audit RUNS --metrics mig,med\n# the runs: vae-seed0, vae-seed1"
    )


@pytest.mark.parametrize("size", [Size(60, 1, 2, 2, 1), Size(num_redraws=9)])
def test_a_size_without_a_name_is_repeated_in_python(size):
    text = repeat_command(dataclasses.replace(FULL, size=dataclasses.asdict(size)))
    assert text == f"from benchmarks.audit import Size, audit\n\naudit('mig,med', size={size!r})"
