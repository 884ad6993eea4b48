"""Commands, and what becomes of their errors."""

import errno
import subprocess
import sys
import warnings

import pytest
import torch

import unbraid.cli.app as app_module
from unbraid._internal.version import __version__
from unbraid.cli.commands import subcommands
from unbraid.cli.flags import flags_of, known_fields
from unbraid.errors import SpecError, TrainingError

COMMANDS = list(subcommands())


def test_the_version_is_one_line(unbraid):
    outcome = unbraid("--version")
    assert (outcome.code, outcome.out, outcome.err) == (0, f"unbraid {__version__}\n", "")


def test_python_m_unbraid_is_unbraid():
    done = subprocess.run([sys.executable, "-m", "unbraid", "--version"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, f"unbraid {__version__}\n")


def test_the_help_lists_every_command(unbraid):
    outcome = unbraid("--help")
    assert outcome.code == 0
    assert [line.split()[0] for line in outcome.out.partition("Commands:")[2].splitlines() if line] == COMMANDS
    assert "..." not in outcome.out.partition("Commands:")[2]  # no summary is cut short


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_a_command_shows_an_example_that_can_be_copied(unbraid, command):
    outcome = unbraid(command, "--help")
    assert outcome.code == 0
    assert f"\n    unbraid {command}" in outcome.out
    assert unbraid(command, "-h").out == outcome.out


def flags_in(outcome) -> set[str]:
    """The flags that the help lists."""
    listed = outcome.out.partition("Options:")[2]
    return {line.split()[0].rstrip(",") for line in listed.splitlines() if line.startswith("  --")}


def test_the_help_of_train_lists_the_fields_of_what_is_named_or_taken_by_default(unbraid):
    by_default = flags_in(unbraid("train", "--help"))
    assert {"--seeds", "--num-steps", "--objective.beta", "--model.encoder.decoder-hidden"} <= by_default
    assert not {"--objective.same-batch", "--dataset.path", "--subset.part"} & by_default
    named = unbraid("train", "--objective=Factor_VAE:gamma=10", "--dataset", "from-folder", "--help")
    assert {"--objective.gamma", "--objective.same-batch", "--dataset.path"} <= flags_in(named)
    assert not {"--objective.beta", "--dataset.shapes"} & flags_in(named)
    assert "…" not in named.out


def test_no_name_is_broken_in_two_by_the_help(unbraid):
    out = unbraid("train", "--help").out
    for flag in ("dataset", "objective", "model.encoder", "model.likelihood", "subset"):
        assert all(name in out for name in flags_of(known_fields("train"))[flag].configs)
    assert max(len(line) for line in out.partition("Options:")[2].splitlines()) <= 80


def test_of_several_configs_the_help_says_which_has_a_field(unbraid):
    several = unbraid("train", "--objective", "vae", "--objective", "beta-vae", "--objective", "beta-tcvae", "--help")
    assert {"--objective.beta", "--objective.analytic-kl"} <= flags_in(several)
    said = " ".join(several.out.split())
    assert "6. beta-vae" in said
    assert "--objective.gamma NUMBER|SCHEDULE beta-tcvae" in said
    one = unbraid("train", "--objective", "beta-tcvae", "--help")
    assert "--objective.gamma NUMBER|SCHEDULE Weight" in " ".join(one.out.split())


def test_the_help_of_score_is_narrowed_by_the_metric_and_its_estimator(unbraid):
    by_default = flags_in(unbraid("score", "--help"))
    assert "--metric.estimator.quadrature" in by_default
    assert "--metric.estimator.num-bins" not in by_default
    named = flags_in(unbraid("score", "runs", "--metric", "mig", "--metric.estimator", "quantized", "--help"))
    assert "--metric.estimator.num-bins" in named
    assert "--metric.estimator.quadrature" not in named


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["trian"], "No such command 'trian'. Did you mean 'train'?"),
        (["train", "--objectve", "vae"], "--objective"),
        (["train", "--objective.betta", "4"], "--objective.beta"),
        (["train", "--steps"], "requires an argument"),
        (["train", "--checkpoint-every", "soon"], "--checkpoint-every"),
        (["train", "--checkpoint-every", "0"], "--checkpoint-every"),
        (["train", "stray"], "stray"),
        (["score"], "There is nothing to score"),
        (["encode", "run"], "IMAGES"),
        (["datasets", "--metric", "mig"], "--metric"),
    ],
)
def test_wrong_usage_is_the_users_to_mend(unbraid, arguments, complaint):
    outcome = unbraid(*arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert complaint in outcome.err.partition("Error: ")[2]
    assert "Traceback" not in outcome.err


@pytest.mark.parametrize("flag", ["--num-steps", "--num_steps", "--steps"])
def test_a_flag_may_have_dashes_or_underscores(unbraid, flag):
    assert unbraid("train", "--dataset", "dsprites", flag, "0").err.startswith("Error: num_steps is 0; expected 1")


def raising(error: BaseException):
    """An app that fails so."""

    def run(arguments: object) -> None:
        raise error

    return lambda: run


@pytest.mark.parametrize(
    ("error", "code", "value"),
    [
        (SpecError("Give a number."), 2, "Give a number."),
        (TrainingError("Stopped."), 1, "Stopped."),
        (PermissionError(errno.EACCES, "Permission denied", "/runs/x"), 1, "/runs/x: Permission denied."),
        (OSError(errno.ENAMETOOLONG, "File name too long", "xx"), 2, "xx: File name too long."),
        (OSError(errno.ENOSPC, "No space left on device", "/runs/x"), 1, "/runs/x: No space left on device."),
        (OSError("odd"), 1, "A file: odd."),
    ],
)
def test_an_expected_error_is_one_line(monkeypatch, unbraid, error, code, value):
    monkeypatch.setattr(app_module, "make_app", raising(error))
    outcome = unbraid()
    assert (outcome.code, outcome.out) == (code, "")
    assert outcome.err.startswith(f"Error: {value}")
    assert outcome.err.count("\n") == 1


@pytest.mark.parametrize(
    "error",
    [
        MemoryError("64 GB"),
        torch.OutOfMemoryError("64 GB"),
        RuntimeError("DefaultCPUAllocator: can't allocate memory: 64 GB"),
        ImportError("libdense.so: failed to map segment from shared object (64 GB)"),
    ],
)
def test_too_little_memory_is_a_failure_with_a_way_out(monkeypatch, unbraid, error):
    monkeypatch.setattr(app_module, "make_app", raising(error))
    for arguments, advice in (
        (["train", "--dataset", "dsprites"], "Train fewer seeds"),
        (["score", "x"], "Score a random subset"),
        (["encode"], "fewer images"),
    ):
        outcome = unbraid(*arguments)
        assert outcome.code == 1
        assert advice in outcome.err
        assert ("Train" in outcome.err) == (arguments[0] == "train")
        assert "Traceback" not in outcome.err


def test_a_bug_shows_where_and_says_that_it_is_one(monkeypatch, unbraid):
    monkeypatch.setattr(app_module, "make_app", raising(ZeroDivisionError("oops")))
    outcome = unbraid()
    assert outcome.code == 1
    assert "Traceback" in outcome.err
    assert "ZeroDivisionError: oops" in outcome.err
    assert outcome.err.endswith("the lines above.\n")


def test_a_message_is_printed_as_it_is(monkeypatch, unbraid):
    message = "runs/[bold]x[/bold] :smile: " + "long " * 60
    monkeypatch.setattr(app_module, "make_app", raising(SpecError(message)))
    assert unbraid().err == f"Error: {message}\n"


def test_a_warning_is_a_note_and_is_shown_once(monkeypatch, unbraid):
    def app(arguments: object) -> None:
        for _ in range(2):
            warnings.warn("shape never varies", UserWarning, stacklevel=1)
        sys.exit(0)

    monkeypatch.setattr(app_module, "make_app", lambda: app)
    assert unbraid().err == "Note: shape never varies\n"


@pytest.mark.slow
def test_a_reader_that_goes_away_is_not_an_error(trained):
    command = f"{sys.executable} -m unbraid runs {trained} | head -n 1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("run")


@pytest.mark.parametrize("command", ["train", "score"])
def test_how_to_go_on_depends_on_the_command(monkeypatch, unbraid, command):
    monkeypatch.setattr(app_module, "make_app", raising(OSError(errno.ENOSPC, "No space left on device", "/runs/x")))
    assert ("--resume" in unbraid(command).err) == (command == "train")
