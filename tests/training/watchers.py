"""Those who watch a training, for the tests of it."""

import signal

from unbraid.training import Progress, TrainingPlan


class Stopwatch:
    """Keeps what it sees of a training's progress, and may do something at a step."""

    def __init__(self, at=None, do=None):
        self.seen, self._at, self._do = [], at, do

    def __call__(self, event):
        if isinstance(event, Progress):
            self.seen.append(event)
            if event.step == self._at:
                self._do()


class Plans(Stopwatch):
    """Keeps the sizes of the fleets of each plan too."""

    def __init__(self):
        super().__init__()
        self.sizes = []

    def __call__(self, event):
        super().__call__(event)
        if isinstance(event, TrainingPlan):
            self.sizes.append([len(fleet) for fleet in event.fleets])


class Signalled:
    """Sends a signal once, when an event of a kind comes."""

    def __init__(self, kind, number=signal.SIGTERM):
        self._kind, self._number, self._is_sent = kind, number, False

    def __call__(self, event):
        if isinstance(event, self._kind) and not self._is_sent:
            self._is_sent = True
            signal.raise_signal(self._number)
