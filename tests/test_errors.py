"""Errors: how they are told."""

import pickle

from unbraid.errors import CodesError, UnbraidError, UntrustedError


def test_a_message_is_told_as_it_is():
    assert str(CodesError("std is negative. Give another.")) == "std is negative. Give another."
    assert str(UnbraidError()) == ""


def test_a_message_that_quotes_a_whole_file_is_cut_in_the_middle():
    message = str(CodesError(f"The factor {'x' * 300_000} is constant. Drop it."))
    assert len(message) < 5_000
    assert message.startswith("The factor xxx")
    assert message.endswith("xxx is constant. Drop it.")
    assert "(296,033 characters" in message


def test_an_error_of_an_untrusted_class_survives_pickling():
    # As it does on its way from a worker of a process pool.
    error = pickle.loads(pickle.dumps(UntrustedError("Not imported.", "mine")))
    assert (str(error), error.package) == ("Not imported.", "mine")
