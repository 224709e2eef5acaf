"""Keeps the texts of waiting jobs up to date, within a budget."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from datetime import datetime, timedelta

from managedjobs.core.conditions import settle
from managedjobs.core.model import Job
from managedjobs.core.scheduling.actions import Why, WriteStatus
from managedjobs.core.scheduling.admission import Candidate, Hold, PoolFacts, Usage, hold
from managedjobs.core.scheduling.queue_text import PLACES_SHOWN, Place, Words, waiting_words, with_words, words_of
from managedjobs.core.scheduling.usage import Want
from managedjobs.scheduler.lines import Line
from managedjobs.scheduler.store import Store

PLACE_AFTER = timedelta(seconds=10)
"""How often a job is told of another place in line at most."""
NUMBERS_AFTER = timedelta(seconds=60)
"""How often it is told of nothing but other numbers, such as the length of the line."""
_LOOKED_AT = 200
"""Jobs beyond the shown places that are looked at in one go."""


class Texts:
    """Says which texts to write next: first ones first, then changed reasons, then the oldest."""

    def __init__(self, store: Store) -> None:
        self._store = store
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
        glance = _Glance(self._store, facts, line)
        chosen = list(itertools.islice(glance.first_texts(), budget))
        postponed = False
        if len(chosen) < budget:
            stale, postponed = self._stale(glance, now)
            stale.sort(key=lambda one: self._told_at.get(one[0].uid, one[0].created))
            chosen += stale[: budget - len(chosen)]
        for job, _ in chosen:
            self._told_at[job.uid] = now
        self._settle(line, is_busy=bool(chosen) or postponed)
        return [_write(job, words, now) for job, words in chosen]

    def _stale(self, glance: _Glance, now: datetime) -> tuple[list[tuple[Job, Words]], bool]:
        """The texts that are no longer right, and whether others are left for later."""
        stale: list[tuple[Job, Words]] = []
        postponed = False
        for candidate in itertools.chain(glance.first, self._further(glance.line)):
            job = self._store.jobs.get(candidate.uid)
            if job is None or candidate.uid in glance.line.untold:
                continue
            wanted, said = glance.words(job, candidate), words_of(job.status)
            if wanted == said:
                continue
            told_at = self._told_at.get(candidate.uid)
            if told_at is None or now - told_at >= _patience(said, wanted):
                stale.append((job, wanted))
            else:
                postponed = True
        return stale, postponed

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

    def _settle(self, line: Line, *, is_busy: bool) -> None:
        if is_busy:
            self._in_order.pop(line.pool, None)
        elif line.waiting <= PLACES_SHOWN or self._in_order.get(line.pool, 0) >= line.waiting:
            self._versions[line.pool] = line.version
        if len(self._told_at) > 2 * len(self._store.jobs) + 1000:
            self._told_at = {uid: at for uid, at in self._told_at.items() if uid in self._store.jobs}


class _Glance:
    """One look at a line: its places and what holds it."""

    def __init__(self, store: Store, facts: PoolFacts, line: Line) -> None:
        self.line = line
        self.first = line.first(PLACES_SHOWN)
        self._store = store
        self._facts = facts
        self._usage: Usage = line.usage()
        self._places = _places(self.first, line.waiting)
        self._further_back = Place(number=None, total=line.waiting)
        self._holds: dict[tuple[str, Want], Hold] = {}

    def first_texts(self) -> Iterator[tuple[Job, Words]]:
        """The jobs that have not been told anything yet."""
        for uid in self.line.untold:
            job, candidate = self._store.jobs.get(uid), self._store.candidate_of(uid)
            if job is not None and candidate is not None:
                yield job, self.words(job, candidate)

    def words(self, job: Job, candidate: Candidate) -> Words:
        """What the job should say."""
        key = (candidate.namespace, candidate.want)
        held = self._holds.get(key)
        if held is None:
            held = self._holds[key] = hold(self._facts, self._usage, *key)
        return waiting_words(job, candidate.want, self._places.get(candidate.uid, self._further_back), held)


def _places(first: list[Candidate], total: int) -> dict[str, Place]:
    """The places of the first in line, and how many of higher priority are ahead of each."""
    places: dict[str, Place] = {}
    higher, priority = 0, None
    for ahead, candidate in enumerate(first):
        own = -candidate.order[0]
        if own != priority:
            higher, priority = ahead, own
        places[candidate.uid] = Place(number=ahead + 1, total=total, higher=higher)
    return places


def _patience(said: Words, wanted: Words) -> timedelta:
    if said.reason != wanted.reason:
        return timedelta(0)
    return PLACE_AFTER if said.position != wanted.position else NUMBERS_AFTER


def _write(job: Job, words: Words, now: datetime) -> WriteStatus:
    status = settle(job.status, with_words(job.status, words), generation=job.generation, now=now)
    return WriteStatus(job=job, status=status, why=Why.TEXT)
