"""Terminals that cannot show every letter."""

import io
import sys

import numpy as np
import pytest

from unbraid.cli import main
from unbraid.cli.console import echo, print_error
from unbraid.cli.plain_letters import plain, plain_letters


@pytest.fixture
def shown(monkeypatch):
    """Sets the encoding of the terminal, and gives what was printed on it."""
    streams = []

    def encoded(encoding, errors="strict"):
        for name in ("stdout", "stderr"):
            stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors=errors)
            monkeypatch.setattr(sys, name, stream)
            streams.append(stream)
        return streams

    return encoded


def printed(stream):
    stream.flush()
    return stream.buffer.getvalue()


@pytest.mark.parametrize(
    ("character", "expected"),
    {
        "→": "->",
        "↑": "^",
        "β": "beta",
        "Σ": "Sigma",
        "ς": "sigma",
        "ä": "a",
        "…": "...",
        "−": "-",
        "²": "2",
        "汉": "?",
    }.items(),
)
def test_a_character_has_a_likeness_in_plain_letters(character, expected):
    assert plain(character) == expected


@pytest.mark.parametrize(
    ("encoding", "expected"), [("ascii", b"a beta-VAE -> Trauble\n"), ("latin-1", b"a beta-VAE -> Tr\xe4uble\n")]
)
def test_what_a_terminal_cannot_show_is_spelled_out(shown, encoding, expected):
    out, err = shown(encoding)
    with plain_letters():
        echo("a β-VAE → Träuble")
        print_error("a β-VAE → Träuble")
    assert printed(out) == expected
    assert printed(err) == b"Error: " + expected


def test_a_terminal_that_can_shows_it_as_it_is(shown):
    out, _ = shown("utf-8")
    with plain_letters():
        echo("a β-VAE → Träuble")
    assert printed(out) == "a β-VAE → Träuble\n".encode()


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_the_name_of_a_file_that_is_no_text_is_shown_by_its_bytes(shown, encoding):
    out, _ = shown(encoding)
    with plain_letters():
        echo("runs/\udcff")
    assert printed(out) == b"runs/\xff\n"


def test_afterwards_the_streams_are_as_they_were(shown):
    streams = shown("ascii", errors="backslashreplace")
    with plain_letters():
        pass
    assert [stream.errors for stream in streams] == ["backslashreplace"] * 2


def test_streams_that_are_closed_or_not_there_are_no_obstacle(shown, monkeypatch):
    out, _ = shown("ascii")
    monkeypatch.setattr(sys, "stderr", None)
    with plain_letters():
        out.close()


@pytest.fixture
def codes(tmp_path):
    rng = np.random.default_rng(0)
    tables = {"mean": rng.normal(size=(60, 2)), "std": np.full((60, 2), 0.3), "factors": rng.integers(0, 3, (60, 1))}
    np.savez(tmp_path / "codes.npz", **tables, factor_names=["β"])
    return str(tmp_path / "codes.npz")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_scores_are_shown_on_such_a_terminal(encoding, shown, codes):
    out, err = shown(encoding)
    with pytest.raises(SystemExit) as left:
        main(["score", codes, "--metrics", "mig,sap", "--device", "cpu"])
    assert left.value.code == 0, printed(err)
    assert b"1 factor (beta)" in printed(out)
    assert b" ^ " in printed(out)


def test_the_scores_are_saved_before_they_are_printed(monkeypatch, codes, tmp_path):
    def fail(carded):
        raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.setattr("unbraid.cli.score_cards.show", fail)
    with pytest.raises(SystemExit):
        main(["score", codes, "--metrics", "sap", "--save", str(tmp_path / "scores.json")])
    assert (tmp_path / "scores.json").exists()
