"""The moments of a life: every call that is made while it trains, encodes, scores or reports, and every change that it
makes to the disk.

A moment is named by its phase, its kind and its number. A life that is lived again has the same moments, so that one of
them can be chosen beforehand. The kinds are "call", before a function is called in a phase; "open", before a file is
opened for writing; "write", in the middle of what is written to it; and "change", before one is flushed, renamed or
removed, or a folder made or removed. Of which phase they are, the path says.
"""

import contextlib
import itertools
import json
import os
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import IO, Any

import unbraid.show.report
from unbraid._internal import files
from unbraid.training.fleet import Fleet
from unbraid.training.runs.run import Run

Moment = tuple[str, str, int]

KINDS = ("call", "open", "write", "change")
PHASES = ("training", "checkpointing", "encoding", "scoring", "reporting")
_FILES = {
    "weights.safetensors": "encoding",
    "codes.safetensors": "encoding",
    "kept.json": "encoding",
    "finished.json": "encoding",
    "scores": "scoring",
    "explorer.html": "reporting",
    "report.html": "reporting",
}
_CHANGES = {"open": "open", "os.rename": "change", "os.remove": "change", "os.rmdir": "change", "os.mkdir": "change"}
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT


class Moments:
    """Counts the moments of this process, and does something at one of them, or from it on at all of its kind. It is
    told the path of a change.
    """

    def __init__(
        self,
        folder: Path,
        at: Moment | None = None,
        do: Callable[[str | None], None] = print,
        *,
        from_then_on: bool = False,
    ) -> None:
        self._folder, self._at, self._do, self._from_then_on = folder, at, do, from_then_on
        # Several threads write checkpoints: a step of such a counter cannot be divided, and takes no lock.
        self._counters = {(phase, kind): itertools.count(1) for phase in PHASES for kind in KINDS}
        self._thread = threading.local()

    def counts(self) -> list[tuple[str, str, int]]:
        """How many there were of each phase and kind. To be asked once, at the end."""
        return [(*which, next(counter) - 1) for which, counter in self._counters.items()]

    def watch(self) -> None:
        """Begin to count. There is no way back: the process is expected to end."""
        for owner, name, phase in _phase_functions():
            setattr(owner, name, self._counted(getattr(owner, name), phase))
        files.atomic_writer = self._halving(files.atomic_writer)
        os.fsync = self._before(os.fsync)
        sys.addaudithook(self._on_change)

    def _reach(self, phase: str, kind: str, path: str | None = None) -> None:
        number = next(self._counters[phase, kind])
        if (
            self._at is not None
            and (phase, kind) == self._at[:2]
            and (number == self._at[2] or (self._from_then_on and number > self._at[2]))
        ):
            last_words(self._folder).write_text(json.dumps([phase, kind, number]))
            self._do(path)

    def _counted(self, function: Callable[..., Any], phase: str) -> Callable[..., Any]:
        def look(frame: FrameType, event: str, argument: Any) -> None:
            if event in ("call", "c_call"):
                self._reach(phase, "call")

        def counted(*arguments: Any, **options: Any) -> Any:
            before = sys.getprofile()
            sys.setprofile(look)
            try:
                return function(*arguments, **options)
            finally:
                sys.setprofile(before)

        return counted

    def _halving(self, writer: Callable[[Path], Any]) -> Callable[[Path], Any]:
        @contextlib.contextmanager
        def halving(path: Path) -> Iterator[_InHalves]:
            with writer(path) as stream:
                yield _InHalves(stream, lambda: self._reach(self._phase_of(path), "write"))

        return halving

    def _before(self, flush: Callable[[int], None]) -> Callable[[int], None]:
        def flushing(descriptor: int) -> None:
            self._reach(self._thread.phase, "change")  # of what this thread has opened or renamed last
            flush(descriptor)

        return flushing

    def _on_change(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event not in _CHANGES or (event == "open" and not arguments[2] & _WRITING):
            return
        if isinstance(arguments[0], str | bytes | os.PathLike) and self._is_inside(
            path := Path(os.fsdecode(arguments[0]))
        ):
            self._thread.phase = self._phase_of(path)
            self._reach(self._thread.phase, _CHANGES[event], str(path))

    def _is_inside(self, path: Path) -> bool:
        return any(path.is_relative_to(self._folder / parent) for parent in ("runs", "cache"))

    def _phase_of(self, path: Path) -> str:
        if "checkpoints" in path.relative_to(self._folder).parts:
            return "checkpointing"
        return next((phase for name, phase in _FILES.items() if path.name.lstrip(".").startswith(name)), "training")


class _InHalves:
    """A stream into which everything is written in two halves, with a moment between them."""

    def __init__(self, stream: IO[bytes], between: Callable[[], None]) -> None:
        self._stream, self._between = stream, between

    def write(self, content: Any) -> int:
        view = memoryview(content).cast("B")
        self._stream.write(view[: len(view) // 2])
        self._stream.flush()
        self._between()
        self._stream.write(view[len(view) // 2 :])
        return len(view)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def last_words(folder: Path) -> Path:
    """Where a life writes down the moment at which something was done to it."""
    return folder / "last-words.json"


def _phase_functions() -> list[tuple[Any, str, str]]:
    trainers = [module for name, module in sys.modules.items() if name.startswith("unbraid.training.")]
    encoding = [
        (module, name, "encoding") for module in trainers for name in ("encode", "encode_all") if hasattr(module, name)
    ]
    return [
        (Fleet, "advance", "training"),
        *encoding,
        (Run, "score", "scoring"),
        (unbraid.show.report, "write_report", "reporting"),
    ]
