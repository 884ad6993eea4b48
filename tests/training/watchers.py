"""Those who watch a training, for the tests of it."""

import re
import signal


class Stopwatch:
    """Keeps what it sees of a training's progress, and may do something at a step."""

    def __init__(self, at=None, do=None):
        self.seen, self._at, self._do = [], at, do

    def __call__(self, event):
        if event.about == "training":
            self.seen.append(event)
            if event.done == self._at:
                self._do()


class Plans(Stopwatch):
    """Keeps the sizes of the fleets of each plan too."""

    def __init__(self):
        super().__init__()
        self.sizes = []

    def __call__(self, event):
        super().__call__(event)
        if event.about == "planning":
            sizes = re.search(r"\((.*?)\)", event.text) if " fleets" in event.text else None
            self.sizes.append([int(size) for size in sizes[1].split(" + ")] if sizes else [len(event.runs)])


class Signaled:
    """Sends a signal once, when an event about something comes."""

    def __init__(self, about, number=signal.SIGTERM):
        self._about, self._number, self._is_sent = about, number, False

    def __call__(self, event):
        if event.about == self._about and not self._is_sent:
            self._is_sent = True
            signal.raise_signal(self._number)
