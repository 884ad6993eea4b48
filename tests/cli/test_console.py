"""What is logged, as a person at a screen gets to see it."""

import logging

from unbraid.cli.console import info_logging, warnings_as_notes

log = logging.getLogger("unbraid.datasets.somewhere")


def test_a_warning_in_the_log_is_a_note(capsys):
    with warnings_as_notes():
        log.warning("%s combinations are shown by no image.", 3)
        log.info("Converting.")
    assert tuple(capsys.readouterr()) == ("", "Note: 3 combinations are shown by no image.\n")


def test_what_is_less_than_a_warning_is_shown_where_asked_for_and_once(capsys):
    with warnings_as_notes(), info_logging("unbraid.datasets"):
        log.info("Fetching dots.bin.")
        logging.getLogger("unbraid.training").info("Not asked for.")
    assert tuple(capsys.readouterr()) == ("Fetching dots.bin.\n", "")


def test_a_warning_is_shown_once_where_two_watch(capsys):
    with warnings_as_notes(), info_logging("unbraid.datasets"):
        log.warning("Once.")
    assert capsys.readouterr().err == "Note: Once.\n"


def test_afterwards_the_log_is_as_it_was():
    logger = logging.getLogger("unbraid.datasets")
    before = (logger.level, list(logger.handlers))
    with info_logging("unbraid.datasets"):
        assert logger.level == logging.INFO
    assert (logger.level, list(logger.handlers)) == before
