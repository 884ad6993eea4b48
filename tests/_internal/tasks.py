"""Tasks for the processes of a pool."""

import os
import signal
import time
from pathlib import Path


def double(order, beat):
    beat()
    return {"pid": os.getpid(), "doubled": 2 * order["number"]}


def report(request, beat):
    for number in range(request["count"]):
        beat({"number": number})
    return {}


def fail(order, beat):
    print("what is printed is no answer")
    raise ValueError(f"not {order['number']}")


def die_once(order, beat):
    marker = Path(order["marker"])
    if not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return {}


def sleep(order, beat):
    """Ends a second after SIGTERM, and writes a file; if it is stubborn, it does not end."""
    stopped = []
    signal.signal(signal.SIGTERM, lambda *_: stopped.append(1))
    Path(order["started"]).write_text(str(os.getpid()))
    while not stopped or order.get("stubborn"):
        time.sleep(0.02)
    time.sleep(0.5)
    Path(order["started"]).with_suffix(".saved").touch()
    return {}


def import_module(order, beat):
    import einops

    return {"file": einops.__file__}
