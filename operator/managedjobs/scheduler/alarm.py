"""Moments to look at something again."""

from __future__ import annotations

import heapq
from datetime import datetime


class Alarms:
    """The earliest moment set for each name; setting a later one changes nothing."""

    def __init__(self) -> None:
        self._at: dict[str, datetime] = {}
        self._heap: list[tuple[datetime, str]] = []

    def set(self, name: str, moment: datetime) -> None:
        """Ring for `name` at that moment, if it would not ring earlier."""
        known = self._at.get(name)
        if known is None or moment < known:
            self._at[name] = moment
            heapq.heappush(self._heap, (moment, name))

    def due(self, now: datetime) -> list[str]:
        """The names whose moment has come; each rings once."""
        names = []
        while self._heap and self._heap[0][0] <= now:
            moment, name = heapq.heappop(self._heap)
            if self._at.get(name) == moment:
                del self._at[name]
                names.append(name)
        return names

    def next(self) -> datetime | None:
        """The earliest moment, if any."""
        while self._heap and self._at.get(self._heap[0][1]) != self._heap[0][0]:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None
