"""The jobs of one pool that hold or want slots, kept up to date change by change."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from heapq import merge

from sortedcontainers import SortedList

from managedjobs.core.phases import ScheduleState
from managedjobs.core.scheduling.admission import Candidate, Usage
from managedjobs.core.scheduling.pool_status import Census
from managedjobs.core.scheduling.usage import Standing, Want

_VERSIONS = itertools.count(1)


class Line:
    """One pool's line and its slots in use; `version` is another after each change, and no other line's."""

    def __init__(self, pool: str) -> None:
        self.pool = pool
        self.version = next(_VERSIONS)
        self.new: SortedList[Candidate] = SortedList()
        self.live: SortedList[Candidate] = SortedList()
        self.unschedulable: dict[str, datetime] = {}
        """Controller pods that the scheduler finds no node for, and when they were created."""
        self.untold: dict[str, None] = {}
        """Jobs that want a claim and have not been told anything yet, oldest first."""
        self._launch: Counter[str] = Counter()
        self._run: Counter[str] = Counter()
        self._states: Counter[ScheduleState] = Counter()
        self._launching = 0
        self._running = 0

    def add(self, standing: Standing, candidate: Candidate | None) -> None:
        """Count a job in."""
        self._count(standing, 1)
        if candidate is not None:
            self._queue(candidate).add(candidate)

    def remove(self, standing: Standing, candidate: Candidate | None) -> None:
        """Count a job out; the same values that it was counted in with."""
        self._count(standing, -1)
        if candidate is not None:
            self._queue(candidate).remove(candidate)

    @property
    def waiting(self) -> int:
        """How many jobs want a slot."""
        return len(self.new) + len(self.live)

    @property
    def is_empty(self) -> bool:
        """Whether no job has anything to do with the pool."""
        return not self.waiting and not self._running and not self._launching and not self.unschedulable

    def in_order(self) -> Iterator[Candidate]:
        """All that want a slot, first in line first."""
        return merge(self.new, self.live)

    def first(self, count: int) -> list[Candidate]:
        """The first `count` in line."""
        return list(itertools.islice(self.in_order(), count))

    def usage(self) -> Usage:
        """The slots in use. The namespaces' counts are the line's own: read them before the next change."""
        return Usage(
            launch=self._launching,
            run=self._running,
            parked=self._states[ScheduleState.PARKED],
            launch_by_namespace=self._launch,
            run_by_namespace=self._run,
        )

    def census(self) -> Census:
        """How many jobs are in which state."""
        return Census(
            alive=self._states[ScheduleState.ALIVE],
            waiting=self.waiting,
            backoff=self._states[ScheduleState.ALIVE_BACKOFF],
        )

    def _queue(self, candidate: Candidate) -> SortedList[Candidate]:
        return self.new if candidate.want is Want.CLAIM else self.live

    def _count(self, standing: Standing, step: int) -> None:
        self.version = next(_VERSIONS)
        if standing.launch:
            self._launching += step
            self._launch[standing.namespace] += step
        if standing.run:
            self._running += step
            self._run[standing.namespace] += step
        if standing.state is not None:
            self._states[standing.state] += step
