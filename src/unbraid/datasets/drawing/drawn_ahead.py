"""Blocks of images that threads draw a little ahead of the one that writes them."""

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
from jaxtyping import UInt8
from torch import Tensor

# More would wait for the interpreter, which holds one at a time between the sums.
_NUM_THREADS = 2

Drawings = Callable[[ThreadPoolExecutor], Iterator[Future[Tensor]]]


def drawn_ahead(drawings: Drawings, skipped: int) -> Iterator[UInt8[np.ndarray, "block 1 height width"]]:
    """Yields what the drawings give, in order, less the first `skipped` images of the first."""
    with ThreadPoolExecutor(_NUM_THREADS) as threads:
        drawn: deque[Future[Tensor]] = deque()
        for drawing in drawings(threads):
            drawn.append(drawing)
            # A few are drawn ahead, so that no thread waits for the one that writes; not more, to bound memory.
            if len(drawn) > 2 * _NUM_THREADS:
                yield drawn.popleft().result().numpy()[skipped:]
                skipped = 0
        for drawing in drawn:
            yield drawing.result().numpy()[skipped:]
            skipped = 0
