"""Waiting: a growing, jittered delay between tries, and the one pause."""

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass, field


async def pause(seconds: float) -> None:
    """Let `seconds` pass. Only for the delay between two tries; what waits for a condition waits for an event."""
    over = asyncio.Event()
    alarm = asyncio.get_running_loop().call_later(max(0.0, seconds), over.set)
    try:
        await over.wait()
    finally:
        alarm.cancel()


async def wait_until(event: asyncio.Event, timeout_seconds: float) -> bool:
    """Wait for `event` for at most `timeout_seconds`; true when it happened."""
    try:
        async with asyncio.timeout(timeout_seconds):
            await event.wait()
    except TimeoutError:
        return False
    return True


@dataclass(slots=True)
class Backoff:
    """Delays that double from `initial_seconds` up to `max_seconds`, each drawn from the upper half of its range.

    The jitter keeps clients that failed together from coming back together.
    """

    initial_seconds: float = 0.1
    max_seconds: float = 30.0
    draw: Callable[[], float] = random.random
    _failures: int = field(default=0, init=False)

    def next_seconds(self) -> float:
        """Count one more failure and say how long to wait after it."""
        # 2**30 is past any sensible ratio of the two bounds; without the cap a float overflows after 1,000 failures.
        ceiling = min(self.max_seconds, self.initial_seconds * 2.0 ** min(self._failures, 30))
        self._failures += 1
        return ceiling * (0.5 + self.draw() / 2)

    def reset(self) -> None:
        """Forget the failures: something worked."""
        self._failures = 0

    @property
    def failures(self) -> int:
        """Failures in a row."""
        return self._failures
