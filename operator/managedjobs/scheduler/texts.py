"""Keeps the texts of waiting jobs up to date, within a budget."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from datetime import datetime, timedelta

from managedjobs.core.admission import Candidate, PoolFacts, Usage, hold
from managedjobs.core.conditions import settle
from managedjobs.core.model import Job, JobStatus
from managedjobs.core.operator_actions import Why, WriteStatus
from managedjobs.core.queue_text import PLACES_SHOWN, Place, waiting_status
from managedjobs.scheduler.lines import Line
from managedjobs.scheduler.store import Store

REFRESH_AFTER = timedelta(seconds=10)
"""How often a text that only changed its numbers is written anew at most."""
_LOOKED_AT = 200
"""Jobs beyond the shown places that are looked at in one go."""


class Texts:
    """Says which texts to write next: first ones first, then changed reasons, then the oldest."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._postponed = False
        self._told_at: dict[str, datetime] = {}
        self._cursors: dict[str, int] = {}
        self._in_order: dict[str, int] = {}
        """Jobs of each pool that were looked at in a row, further back, and needed nothing."""
        self._versions: dict[str, int] = {}
        """The version of each pool's line whose texts are all in order."""

    def pool_changed(self, pool: str) -> None:
        """What the pool's jobs wait for may be another thing."""
        self._versions.pop(pool, None)
        self._in_order.pop(pool, None)

    def is_settled(self, line: Line) -> bool:
        """Whether every text of the line is in order."""
        return not line.waiting or self._versions.get(line.pool) == line.version

    def due(self, facts: PoolFacts, line: Line, budget: int, now: datetime) -> list[WriteStatus]:
        """At most `budget` writes for the jobs that wait in this line."""
        usage = line.usage()
        places = _places(line)
        self._postponed = False
        writes = list(itertools.islice(self._first_texts(facts, usage, line, places, now), budget))
        taken = {write.job.uid for write in writes}
        stale = [write for write in self._stale(facts, usage, line, places, now) if write.job.uid not in taken]
        stale.sort(key=lambda write: self._told_at.get(write.job.uid, write.job.created))
        writes += stale[: budget - len(writes)]
        for write in writes:
            self._told_at[write.job.uid] = now
        self._settle(line, bool(writes))
        return writes

    def _settle(self, line: Line, wrote: bool) -> None:
        if wrote or self._postponed:
            self._in_order.pop(line.pool, None)
        elif line.waiting <= PLACES_SHOWN or self._in_order.get(line.pool, 0) >= line.waiting:
            self._versions[line.pool] = line.version
        if len(self._told_at) > 2 * len(self._store.jobs) + 1000:
            self._told_at = {uid: at for uid, at in self._told_at.items() if uid in self._store.jobs}

    def _first_texts(
        self, facts: PoolFacts, usage: Usage, line: Line, places: dict[str, Place], now: datetime
    ) -> Iterator[WriteStatus]:
        for uid in list(self._store.untold):
            job = self._store.jobs.get(uid)
            candidate = self._store.candidate_of(uid)
            if job is None or candidate is None or job.spec.pool != line.pool:
                continue
            write = _write(job, _wanted(job, candidate, facts, usage, line, places), now)
            if write is not None:
                yield write

    def _stale(
        self, facts: PoolFacts, usage: Usage, line: Line, places: dict[str, Place], now: datetime
    ) -> Iterator[WriteStatus]:
        for candidate in itertools.chain(line.first(PLACES_SHOWN), self._further(line)):
            job = self._store.jobs.get(candidate.uid)
            if job is None or candidate.uid in self._store.untold:
                continue
            wanted = _wanted(job, candidate, facts, usage, line, places)
            told_at = self._told_at.get(candidate.uid)
            is_fresh = told_at is not None and now - told_at < REFRESH_AFTER
            if is_fresh and wanted.reason == job.status.reason:
                self._postponed = self._postponed or wanted != job.status
                continue
            write = _write(job, wanted, now)
            if write is not None:
                yield write

    def _further(self, line: Line) -> Iterator[Candidate]:
        """A part of those further back, another one each time: their texts change only with the reason."""
        if line.waiting <= PLACES_SHOWN:
            return
        start = self._cursors.get(line.pool, PLACES_SHOWN)
        if start >= line.waiting:
            start = PLACES_SHOWN
        end = min(start + _LOOKED_AT, line.waiting)
        self._cursors[line.pool] = end
        self._in_order[line.pool] = self._in_order.get(line.pool, 0) + end - start
        if not line.live:
            yield from line.new.islice(start, end)
        else:
            yield from itertools.islice(line.in_order(), start, end)


def _places(line: Line) -> dict[str, Place]:
    """The places of the first in line, and how many of higher priority are ahead of each."""
    total = line.waiting
    places: dict[str, Place] = {}
    higher, priority = 0, None
    for ahead, candidate in enumerate(line.first(PLACES_SHOWN)):
        own = -candidate.order[0]
        if own != priority:
            higher, priority = ahead, own
        places[candidate.uid] = Place(number=ahead + 1, total=total, higher=higher)
    return places


def _wanted(
    job: Job, candidate: Candidate, facts: PoolFacts, usage: Usage, line: Line, places: dict[str, Place]
) -> JobStatus:
    held = hold(facts, usage, candidate.namespace, candidate.want)
    place = places.get(candidate.uid) or Place(number=None, total=line.waiting)
    return waiting_status(job, candidate.want, place, held)


def _write(job: Job, wanted: JobStatus, now: datetime) -> WriteStatus | None:
    if wanted == job.status:
        return None
    settled = settle(job.status, wanted, generation=job.generation, now=now)
    return WriteStatus(job=job, status=settled, why=Why.TEXT)
