"""The one place that reads the clock; everything else takes a `Clock` or a time as an argument."""

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Where the time comes from; tests bring their own."""

    def now(self) -> datetime:
        """The wall-clock time, aware, in UTC: for what is written down, never for measuring."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go back, from an unknown zero: for measuring."""
        ...


class SystemClock:
    """The machine's own clock."""

    def now(self) -> datetime:
        """The wall-clock time, aware, in UTC."""
        return datetime.now(UTC)  # noqa: TID251 - this is the one reader of the clock

    def monotonic(self) -> float:
        """Seconds since an unknown zero; never goes back."""
        return time.monotonic()
