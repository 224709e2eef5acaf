"""A clock for tests."""

from datetime import UTC, datetime, timedelta


class HandClock:
    """A clock that is set by hand."""

    seconds = 1000.0

    def now(self) -> datetime:
        """A wall-clock time that goes with `seconds`."""
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self.seconds)

    def monotonic(self) -> float:
        """What it was set to."""
        return self.seconds
