"""What the demo prints: steps with their time, and the jobs' changes as they happen."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from tests.support.jobwatch import ManagedJob, phase_of

_COLOURS = {
    "Pending": "2", "Launching": "36", "Running": "34", "Recovering": "33", "Cancelling": "33",
    "Succeeded": "32", "Failed": "31", "Cancelled": "35",
}  # fmt: skip


def paint(text: str, code: str) -> str:
    """The text in a colour where a terminal can show it."""
    return f"\033[{code}m{text}\033[0m" if sys.stdout.isatty() else text


def say(text: str = "") -> None:
    """One line, at once."""
    print(text, flush=True)


@contextmanager
def step(title: str) -> Iterator[None]:
    """A titled step; its time is printed when it is done."""
    say("\n" + paint(f"▸ {title}", "1"))
    started = time.monotonic()
    yield
    say(paint(f"  done in {time.monotonic() - started:.0f} s", "2"))


class ChangePrinter:
    """Prints a line for each change of a job's phase, reason or attempt."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[object, ...]] = {}
        self._started = time.monotonic()
        self.silent = False

    def __call__(self, job: ManagedJob) -> None:
        status = job.get("status", {})
        name = job["metadata"]["name"]
        mark = (phase_of(job), status.get("reason"), status.get("attemptCount"))
        if self._last.get(name) == mark or self.silent:
            return
        self._last[name] = mark
        phase = paint(f"{phase_of(job):11}", _COLOURS.get(phase_of(job), "0"))
        seconds = time.monotonic() - self._started
        say(f"  {seconds:5.1f} s  {name:9} {phase} {status.get('description', '')}")
