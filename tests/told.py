"""What is told of the progress of work, and what is logged, for the tests of it."""

import contextlib
import logging
import re

from unbraid._internal.progress import listening


def told_to(seen):
    """Inside the block, what is told of is added to `seen`: about what, how much is done, of how much, and the unit."""
    return listening(lambda event: seen.append((event.about, event.done, event.total, event.unit)))


@contextlib.contextmanager
def warned(match=None):
    """Gives a list of the warnings that are logged inside the block; one of them must match, if that is said."""
    said, logger = [], logging.getLogger("unbraid")

    class Kept(logging.Handler):
        def emit(self, record):
            said.append(record.getMessage())

    handler = Kept(logging.WARNING)
    logger.addHandler(handler)
    try:
        yield said
    finally:
        logger.removeHandler(handler)
    assert match is None or any(re.search(match, message) for message in said), said
